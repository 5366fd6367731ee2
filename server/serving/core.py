"""The services of a process and their database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from ..app import App
from ..features.accounts import store
from ..features.accounts.rules import hash_secret, make_secret
from ..features.webhooks.egress.client import Client
from ..maintenance.tasks import run_maintenance
from ..observability.observability import Observability
from ..observability.sources import of_database, of_maintenance, of_operations
from ..observability.traced_database import TracedDatabase
from ..rpc.health.readiness import HEARTBEAT_TIMEOUT
from ..security.encryption import Encryption
from ..storage.database import Database
from ..storage.databases import database_at
from ..storage.transaction import Transaction
from ..values.clock import system_clock
from ..values.database_url import DatabaseLocation, PostgresUrl
from .newest_ids import starting_past_newest
from .options import CoreOptions
from .role import Role
from .secret_key import find_key
from .webhook_delivery import deliver

if TYPE_CHECKING:
    from ..observability.tracing import Tracing

log = logging.getLogger(__name__)

FIRST_ACCOUNT = "owner@roster.local"


@asynccontextmanager
async def running_core(
    options: CoreOptions, observability: Observability, role: Role
) -> AsyncIterator[Core]:
    """Creates services that are not ready, and closes them after the block.

    The caller opens them when the ports listen. If the process listens late, they are already open
    when the block starts. Raises StorageError.
    """
    async with AsyncExitStack() as stack:
        core = Core(options, observability, stack)
        await core.app.set_serving(serving=False)
        if role.listens_late:
            await core.open()
        yield core


class Core:
    """The services of a process, which reject calls until they are opened, and their database.

    Everything closes with the stack.
    """

    def __init__(
        self, options: CoreOptions, observability: Observability, stack: AsyncExitStack
    ) -> None:
        self._options, self._observability, self._stack = options, observability, stack
        self._is_open = False
        self._encryption = Encryption()
        self._client = Client(options.egress_policy)
        self.database = database_at(options.database, options.connections)
        self.app = App(
            _traced(self.database, options.database, observability.tracing),
            system_clock,
            self._encryption,
            egress_policy=options.egress_policy,
            client=self._client,
            rate_limit=options.rate_limit,
            signup_rate_limit=options.signup_rate_limit,
            public_url=options.public_url,
            proxies=options.proxies,
            observability=observability,
            nodes=self.database.nodes,
        )

    async def open(self) -> None:
        """Opens and migrates the database and accepts calls, unless that is done already.

        Raises StorageError.
        """
        if self._is_open:
            return
        options, database, stack = self._options, self.database, self._stack
        await self._open_database()
        await stack.enter_async_context(starting_past_newest(database))
        self._observability.exposition.add(of_database(database))
        self._encryption.set_key(await find_key(options.secret_key, options.database, database))
        await stack.enter_async_context(self._client)
        failures = await stack.enter_async_context(run_maintenance(database, options.backups))
        exposition = self._observability.exposition
        exposition.add(of_maintenance(failures))
        await deliver(database, self._client, self._encryption, exposition, stack)
        exposition.add(of_operations(self.app.operations))
        await stack.enter_async_context(self.app.operations.running())
        self.app.accept_calls()
        self._is_open = True

    async def _open_database(self) -> None:
        """Opens the database. Logs a warning if that takes long, as a migration can."""
        warning = "not ready: the database is still being opened or migrated"
        late = asyncio.get_running_loop().call_later(HEARTBEAT_TIMEOUT, log.warning, warning)
        try:
            await self.database.open()
        finally:
            late.cancel()
        self._stack.push_async_callback(self.database.close)


def _traced(database: Database, location: DatabaseLocation, tracing: Tracing | None) -> Database:
    """Returns the database, with spans for transactions if tracing is enabled."""
    if tracing is None:
        return database
    system = "postgresql" if isinstance(location, PostgresUrl) else "sqlite"
    return TracedDatabase(database, system, tracing)


async def create_first_account(options: CoreOptions, database: Database) -> str:
    """Creates the first account of an empty database; returns its key, or "" if not empty."""
    return await database.write(lambda tx: bootstrap(options.bootstrap_key, tx))


def bootstrap(key: str, tx: Transaction) -> str:
    if store.list_accounts(tx):
        return ""
    secret = key or make_secret()
    account = store.create_account(FIRST_ACCOUNT, tx, verified=True)
    store.create_key(account.id, "first key", "admin", hash_secret(secret), tx)
    return secret
