"""The services of a process and their database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from ..app import App
from ..config import Settings
from ..features.accounts import store
from ..features.accounts.rules import ADMIN, hash_secret, make_secret
from ..features.audit.store import record_command
from ..features.operations.runner import OperationRunner
from ..features.sessions.rules import LINK_TIME, make_token, sign_in_url
from ..features.sessions.store import create_link
from ..features.webhooks.egress.client import Client
from ..maintenance.tasks import run_maintenance
from ..observability.exposition import Exposition
from ..observability.observability import Observability
from ..observability.sources import of_backups, of_database, of_maintenance, of_operations
from ..observability.traced_database import TracedDatabase
from ..rpc import caller
from ..rpc.health.readiness import HEARTBEAT_TIMEOUT
from ..security.encryption import Encryption
from ..storage.database import Database
from ..storage.databases import database_at
from ..storage.executor.database import ExecutorDatabase
from ..storage.transaction import Transaction
from ..values.database_url import DatabaseLocation, PostgresUrl
from .newest_ids import starting_past_newest
from .options import ProcessOptions, backup_schedule, egress_policy
from .secret_key import check_key, find_keys, reload_keys
from .webhook_delivery import deliver

if TYPE_CHECKING:
    from ..observability.tracing import Tracing

log = logging.getLogger(__name__)

FIRST_ACCOUNT = "owner@roster.local"


@asynccontextmanager
async def running_core(
    options: ProcessOptions, observability: Observability
) -> AsyncIterator[Core]:
    """Creates services that are not ready, and closes them after the block.

    The caller opens them when the ports listen. If the process listens late, they are already open
    when the block starts. Raises StorageError.
    """
    async with AsyncExitStack() as stack:
        core = Core(options.settings, observability, stack)
        await core.app.set_serving(serving=False)
        if options.role.listens_late:
            await core.open()
        yield core


class Core:
    """The services of a process, which reject calls until they are opened, and their database.

    Everything closes with the stack.
    """

    def __init__(
        self, settings: Settings, observability: Observability, stack: AsyncExitStack
    ) -> None:
        self._settings, self._observability, self._stack = settings, observability, stack
        self._is_open = False
        self._encryption = Encryption()
        self._client = Client(egress_policy(settings))
        self.database = database_at(settings.database_url, settings.database_pool)
        self.app = App(
            settings,
            _traced(self.database, settings.database_url, observability.tracing),
            self._encryption,
            self._client,
            observability=observability,
            details=self.database.details,
        )

    async def open(self) -> None:
        """Opens and migrates the database and accepts calls, unless that is done already.

        Raises StorageError.
        """
        if self._is_open:
            return
        settings, database, stack = self._settings, self.database, self._stack
        await self._open_database()
        await stack.enter_async_context(starting_past_newest(database))
        self._encryption.set_keys(
            *await find_keys(settings.secret_key, settings.database_url, database)
        )
        await start_background_work(
            settings,
            database,
            self._client,
            self._encryption,
            self.app.operations,
            self._observability.exposition,
            stack,
            self.app.store_uses,
            self.app.files.collect_all,
        )
        self.app.accept_calls()
        self._is_open = True

    async def create_first_account(self) -> str:
        """Creates the first account of an empty database; returns its key, or "" if not empty."""
        return await self.database.write(partial(bootstrap, self._settings.bootstrap_api_key))

    async def create_sign_in_link(self) -> str:
        """Returns a URL that signs in to the only account once; "" if there is not exactly one."""
        caller.enter_account(None)
        account_ids = await self.database.read(partial(store.ids_of_any_account, "", 2))
        if len(account_ids) != 1:
            return ""
        (account_id,) = account_ids
        caller.enter_account(account_id)
        token = make_token(account_id)
        await self.database.write(partial(add_sign_in_link, account_id, hash_secret(token)))
        return sign_in_url(self.app.links.required_url(), token)

    async def _open_database(self) -> None:
        """Opens the database. Logs a warning if that takes long, as a migration can."""
        settings = self._settings
        warning = "not ready: the database is still being opened or migrated"
        late = asyncio.get_running_loop().call_later(HEARTBEAT_TIMEOUT, log.warning, warning)
        try:
            await self.database.open(partial(check_key, settings.secret_key, settings.database_url))
        finally:
            late.cancel()
        self._stack.push_async_callback(self.database.close)


def _traced(database: Database, location: DatabaseLocation, tracing: Tracing | None) -> Database:
    """Returns the database, with spans for transactions if tracing is enabled."""
    if tracing is None:
        return database
    system = "postgresql" if isinstance(location, PostgresUrl) else "sqlite"
    return TracedDatabase(database, system, tracing)


async def start_background_work(
    settings: Settings,
    database: ExecutorDatabase,
    client: Client,
    encryption: Encryption,
    operations: OperationRunner,
    exposition: Exposition,
    stack: AsyncExitStack,
    store_uses: Callable[[], Awaitable[int]] | None = None,
    collect_files: Callable[[], Awaitable[int]] | None = None,
) -> None:
    """Starts maintenance, deliveries and operations of an open database, until the stack closes."""
    backups = backup_schedule(settings)
    exposition.add(of_database(database))
    await stack.enter_async_context(client)
    if store_uses is not None:
        stack.push_async_callback(store_uses)
    location = settings.database_url
    reload = partial(reload_keys, settings.secret_key, location, database, encryption)
    failures = await stack.enter_async_context(
        run_maintenance(
            database, reload, backups, database.report_migration, store_uses, collect_files
        )
    )
    exposition.add(of_maintenance(failures))
    if backups is not None:
        exposition.add(of_backups(backups))
    await deliver(database, client, encryption, exposition, settings.log_sampling, stack)
    exposition.add(of_operations(operations))
    await stack.enter_async_context(operations.running())


def add_sign_in_link(account_id: str, secret_hash: str, tx: Transaction) -> None:
    row = create_link(account_id, "roster serve", ADMIN, secret_hash, LINK_TIME, tx)
    record_command(account_id, "sign_in_link.created", tx, after=row.as_json())


def bootstrap(key: str, tx: Transaction) -> str:
    if store.list_accounts(tx):
        return ""
    secret = key or make_secret()
    store.create_account_with_key(FIRST_ACCOUNT, hash_secret(secret), tx, verified=True)
    return secret
