"""Delivers webhooks in this process, and provides metrics about it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AsyncExitStack

from ..features.webhooks.delivery.dispatcher import Dispatcher
from ..features.webhooks.delivery.sender import Sender
from ..features.webhooks.delivery.store_queue import Backlog, backlog_of_any_account, total
from ..features.webhooks.egress.client import Client
from ..features.webhooks.endpoints.signing import Secrets
from ..maintenance.periodic import PeriodicTask, running
from ..observability import metrics
from ..observability.exposition import Exposition
from ..observability.metrics import Sample
from ..security.encryption import Encryption
from ..storage.database import Database
from ..values.clock import system_clock

# Seconds between queries of the backlog, which scan all due deliveries.
BACKLOG_INTERVAL = 15.0


async def deliver(
    database: Database,
    client: Client,
    encryption: Encryption,
    exposition: Exposition,
    log_sampling: int,
    stack: AsyncExitStack,
) -> None:
    """Delivers webhooks until the stack is closed."""
    sender = Sender(client, Secrets(encryption), system_clock, log_sampling=log_sampling)
    dispatcher = Dispatcher(database, sender)
    backlog = Backlog()

    async def read_backlog() -> int:
        nonlocal backlog
        backlog = total((await database.read_nodes(backlog_of_any_account)).results)
        return 0

    def samples() -> Iterable[Sample]:
        yield Sample(metrics.WEBHOOK_BACKLOG, backlog.deliveries)
        yield Sample(metrics.WEBHOOK_OLDEST, backlog.oldest / 1000)
        for outcome, count in dispatcher.attempts.items():
            yield Sample(metrics.WEBHOOK_ATTEMPTS, count, (outcome,))

    exposition.add(samples)
    await stack.enter_async_context(
        running([PeriodicTask("webhook backlog", BACKLOG_INTERVAL, read_backlog)])
    )
    await stack.enter_async_context(dispatcher.running())
