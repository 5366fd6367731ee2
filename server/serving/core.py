"""The services of a process, on their database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from ..accounts import store
from ..accounts.rules import hash_secret, make_secret
from ..app import App, newest_id
from ..clock import system_clock
from ..config import Place, PostgresUrl
from ..encryption import Encryption
from ..health.readiness import HEARTBEAT_TIMEOUT
from ..maintenance.tasks import run_maintenance
from ..observability.observability import Observability
from ..observability.sources import of_database
from ..observability.traced_database import TracedDatabase
from ..observability.tracing import Tracing
from ..storage.database import Database
from ..storage.databases import to_serve
from ..storage.transaction import Transaction
from ..webhooks.egress.client import Client
from .options import CoreOptions
from .role import Role
from .secret_key import find_key
from .webhook_delivery import deliver

log = logging.getLogger(__name__)

FIRST_ACCOUNT = "owner@roster.local"


@asynccontextmanager
async def core(options: CoreOptions, watch: Observability, role: Role) -> AsyncIterator[Core]:
    """Makes services that say that they are not ready, and ends them after the block.

    They are to be opened once the ports listen; where these are to listen late, they are open
    when the block begins. Raises StorageError.
    """
    async with AsyncExitStack() as stack:
        made = Core(options, watch, stack)
        await made.app.set_serving(serving=False)
        if role.listens_late:
            await made.open()
        yield made


class Core:
    """The services of a process, which refuse calls until they are opened, and their database.

    What opens with them closes with the stack.
    """

    def __init__(self, options: CoreOptions, watch: Observability, stack: AsyncExitStack) -> None:
        self._options, self._watch, self._stack = options, watch, stack
        self._is_open = False
        self._encryption = Encryption()
        self._client = Client(options.egress_policy)
        self.database = to_serve(options.database, options.connections)
        self.app = App(
            _traced(self.database, options.database, watch.tracing),
            system_clock,
            self._encryption,
            egress_policy=options.egress_policy,
            client=self._client,
            rate_limit=options.rate_limit,
            proxies=options.proxies,
            watch=watch,
        )

    async def open(self) -> None:
        """Opens and migrates the database, and has the services take calls, unless they do.

        Raises StorageError.
        """
        if self._is_open:
            return
        options, database, stack = self._options, self.database, self._stack
        await self._open_database()
        database.ids.start_past(await database.read(newest_id))
        self._watch.exposition.add(of_database(database))
        self._encryption.set_key(await find_key(options.secret_key, options.database, database))
        await stack.enter_async_context(self._client)
        await stack.enter_async_context(run_maintenance(database, options.backups))
        await deliver(database, self._client, self._encryption, self._watch.exposition, stack)
        self.app.begin()
        self._is_open = True

    async def _open_database(self) -> None:
        """Opens it, and says so where that takes long: a migration may."""
        why = "not ready: the database is still being opened or migrated"
        late = asyncio.get_running_loop().call_later(HEARTBEAT_TIMEOUT, log.warning, why)
        try:
            await self.database.open()
        finally:
            late.cancel()
        self._stack.push_async_callback(self.database.close)


def _traced(database: Database, place: Place, tracing: Tracing | None) -> Database:
    """Returns the database, with spans for the transactions that calls make if there are any."""
    if tracing is None:
        return database
    system = "postgresql" if isinstance(place, PostgresUrl) else "sqlite"
    return TracedDatabase(database, system, tracing)


async def first_key(options: CoreOptions, database: Database) -> str:
    """Returns the key of the first account where there was none; it is told this once."""
    return await database.write(lambda tx: bootstrap(options.bootstrap_key, tx))


def bootstrap(key: str, tx: Transaction) -> str:
    """Creates the first account of an empty database and returns its key; empty if it has one."""
    if store.list_accounts(tx):
        return ""
    secret = key or make_secret()
    account = store.create_account(FIRST_ACCOUNT, tx, verified=True)
    store.create_key(account.id, "first key", "admin", hash_secret(secret), tx)
    return secret
