"""The delivery of webhooks in a process, and what it tells of itself."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AsyncExitStack

from ...clock import system_clock
from ...storage.database import Database
from ...upkeep.jobs import Job, running
from ...vault import Vault
from ...watching import metrics
from ...watching.exposition import Exposition
from ...watching.metrics import Sample
from ...webhooks.client import Client
from ...webhooks.dispatcher import Dispatcher
from ...webhooks.sending import Sender
from ...webhooks.signing import Secrets
from ...webhooks.store_backlog import EMPTY, backlog_of_any_account

# Seconds between two looks at how much waits: it goes through all that does.
LOOK_INTERVAL = 15.0


async def deliver(
    database: Database, client: Client, vault: Vault, exposition: Exposition, stack: AsyncExitStack
) -> None:
    """Delivers until the stack is closed."""
    dispatcher = Dispatcher(database, Sender(client, Secrets(vault), system_clock))
    backlog = EMPTY

    async def look() -> int:
        nonlocal backlog
        backlog = await database.read(backlog_of_any_account)
        return 0

    def tell() -> Iterable[Sample]:
        yield Sample(metrics.WEBHOOK_BACKLOG, backlog.deliveries)
        yield Sample(metrics.WEBHOOK_OLDEST, backlog.oldest / 1000)
        for outcome, count in dispatcher.attempts.items():
            yield Sample(metrics.WEBHOOK_ATTEMPTS, count, (outcome,))

    exposition.add(tell)
    await stack.enter_async_context(running([Job("look at the backlog", LOOK_INTERVAL, look)]))
    await stack.enter_async_context(dispatcher.running())
