"""A database with a webhook, and a dispatcher that delivers from it, on a clock of the test's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peewee import SQL

from server.encryption import Encryption
from server.storage.database import Database
from server.storage.postgres.database import PostgresDatabase
from server.storage.sqlite.database import SqliteDatabase
from server.storage.statements import Statement
from server.storage.transaction import Transaction
from server.tags import store as tags
from server.webhooks import store
from server.webhooks.delivery.dispatcher import Dispatcher
from server.webhooks.delivery.sender import Sender
from server.webhooks.delivery.store_leases import LeasedDelivery, lease_due
from server.webhooks.egress.client import Client
from server.webhooks.endpoints.signing import Secrets, make_secret
from server.webhooks.endpoints.store_reading import WebhookRow
from server.webhooks.store import NewWebhook

from .receivers import REACH

OURS = "0" * 26
SECRETS = Secrets(Encryption(bytes(range(32))))
START = 1_790_000_000_000
PATIENCE = 10.0


@dataclass
class TestClock:
    """A clock that stands until it is told."""

    __test__ = False
    now: int = START

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: int) -> None:
        self.now += milliseconds


@dataclass
class Place:
    """A database of either kind: a file, or the URL of a server."""

    where: Path | str
    clock: TestClock = field(default_factory=TestClock)

    def database(self, clock: TestClock | None = None) -> Database:
        """Returns the database as one process has it, which may have a clock of its own."""
        own = clock or self.clock
        if isinstance(self.where, Path):
            return SqliteDatabase(self.where, clock=own)
        return PostgresDatabase(self.where, 4, clock=own)


@dataclass
class Process:
    """One process that delivers."""

    database: Database
    dispatcher: Dispatcher
    clock: TestClock
    secret: str = field(default_factory=make_secret)

    async def add(
        self, url: str, *types: str, enabled: bool = True, account_id: str = OURS
    ) -> WebhookRow:
        """Stores a webhook, whose secret is that of all here."""
        new = NewWebhook(url, "", types, enabled)
        return await self.database.write(
            lambda tx: store.create(
                account_id, new, lambda own: SECRETS.encrypt(account_id, own, self.secret), tx
            )
        )

    async def update(self, webhook_id: str, **changes: Any) -> None:
        await self.database.write(lambda tx: store.update(OURS, webhook_id, changes, tx))

    async def happen(self, *names: str, account_id: str = OURS) -> None:
        """Has tags created, each in a transaction of its own."""
        for name in names:
            await self.database.write(
                lambda tx, name=name: tags.create(account_id, name, "", tx)  # type: ignore[misc]
            )

    async def take(self) -> list[LeasedDelivery]:
        """Takes on what is due, as a dispatcher does."""
        return (await self.database.write(lambda tx: lease_due(OURS, tx))).deliveries

    async def rows(self, table: str, order: str = "id") -> list[dict[str, Any]]:
        """Returns a table as it is now."""
        return await self.database.read(lambda tx: rows(table, order, tx))

    async def until(self, holds: Callable[[], Any]) -> None:
        """Waits for something that has to come true."""
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110 - what is waited for may be anything
                await asyncio.sleep(0.005)

    async def until_rows(
        self, table: str, holds: Callable[[list[dict[str, Any]]], Any], order: str = "id"
    ) -> list[dict[str, Any]]:
        """Waits for rows of a table of which something has to come true, and returns them."""
        async with asyncio.timeout(PATIENCE):
            while not holds(found := await self.rows(table, order)):  # noqa: ASYNC110 - likewise
                await asyncio.sleep(0.01)
        return found

    async def deliveries(self, *statuses: int) -> list[dict[str, Any]]:
        """Waits until the deliveries have these statuses, in their order, and returns them."""
        return await self.until_rows(
            "delivery", lambda found: [row["status"] for row in found] == list(statuses)
        )


def rows(table: str, order: str, tx: Transaction) -> list[dict[str, Any]]:
    """Returns every row of a table."""
    names = [column.name for column in tx._database.get_columns(table)]
    columns = ", ".join(f'"{name}"' for name in names)
    text = f'SELECT {columns} FROM "{table}" ORDER BY {order}'
    return [dict(zip(names, row, strict=True)) for row in tx.all(Statement(lambda _: SQL(text)))]


@asynccontextmanager
async def process(
    place: Place, *, clock: TestClock | None = None, delivers: bool = True, **options: Any
) -> AsyncIterator[Process]:
    """Runs a process that delivers, or only could; `options` are the client's."""
    own = clock or place.clock
    database = place.database(own)
    await database.open()
    try:
        async with Client(REACH, **options) as client:
            dispatcher = Dispatcher(database, Sender(client, SECRETS, own, chance=lambda: 0.5))
            here = Process(database, dispatcher, own)
            if not delivers:
                yield here
                return
            async with dispatcher.running():
                yield here
    finally:
        await database.close()


def headers_of(request: bytes) -> Mapping[str, str]:
    """Returns the headers of a request as it came."""
    head = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head)
    }


def body_of(request: bytes) -> bytes:
    """Returns the body of a request as it came."""
    return request.partition(b"\r\n\r\n")[2]


Story = Callable[[Process], Awaitable[None]]


def play(place: Place, story: Story) -> None:
    """Runs a story in a process that delivers nothing by itself."""

    async def whole() -> None:
        async with process(place, delivers=False) as here:
            await story(here)

    asyncio.run(whole())
