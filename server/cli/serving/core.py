"""The services of a process, on their database."""

from __future__ import annotations

from contextlib import AsyncExitStack

from ...accounts import store
from ...accounts.rules import hash_secret, make_secret
from ...app import App, newest_id
from ...clock import system_clock
from ...config import Place, PostgresUrl
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...upkeep.upkeep import upkeep
from ...watching.sources import of_database
from ...watching.tracing import Tracing
from ...watching.transactions import TracedDatabase
from ...watching.watch import Watch
from ...webhooks.client import Client
from ..beside import to_serve
from ..secret_key import open_vault
from .delivering import deliver
from .options import CoreOptions

FIRST_ACCOUNT = "owner@roster.local"


async def open_app(
    options: CoreOptions, watch: Watch, stack: AsyncExitStack
) -> tuple[App, Database]:
    """Opens the database until the stack is closed, and makes its services, which serve not yet.

    Raises StorageError.
    """
    database = to_serve(options.database, options.connections)
    await database.open()
    stack.push_async_callback(database.close)
    database.ids.start_past(await database.read(newest_id))
    watch.exposition.add(of_database(database))
    vault = await open_vault(options.secret_key, options.database, database)
    client = await stack.enter_async_context(Client(options.reach))
    app = App(
        _traced(database, options.database, watch.tracing),
        system_clock,
        vault,
        reach=options.reach,
        client=client,
        rate_limit=options.rate_limit,
        proxies=options.proxies,
        watch=watch,
    )
    await stack.enter_async_context(upkeep(database, options.backups))
    await deliver(database, client, vault, watch.exposition, stack)
    await app.set_serving(serving=False)
    return app, database


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
