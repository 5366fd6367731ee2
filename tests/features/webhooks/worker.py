"""Runs the dispatcher on a test database with a test clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from peewee import SQL, Model

from rosterd.server.features.tags import store as tags
from rosterd.server.features.webhooks import store
from rosterd.server.features.webhooks.delivery.dispatcher import Dispatcher
from rosterd.server.features.webhooks.delivery.sender import Sender
from rosterd.server.features.webhooks.delivery.store_leases import Lease, LeaseBatch, LeasedDelivery
from rosterd.server.features.webhooks.delivery.store_results import (
    FinishedAttempt,
    RecordedAttempts,
    record_attempts,
    run_cycle,
)
from rosterd.server.features.webhooks.egress.client import Client
from rosterd.server.features.webhooks.endpoints.signing import Secrets, make_secret
from rosterd.server.features.webhooks.endpoints.store_reading import WebhookRow
from rosterd.server.features.webhooks.models import Delivery
from rosterd.server.features.webhooks.rules import MAX_IN_FLIGHT_PER_ACCOUNT
from rosterd.server.features.webhooks.store import NewWebhook
from rosterd.server.security.encryption import Encryption
from rosterd.server.storage.citus.database import CitusDatabase
from rosterd.server.storage.database import Database
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction

from .raw_receivers import EGRESS_POLICY

ACCOUNT_ID = "0" * 26
SECRETS = Secrets(Encryption(bytes(range(32))))
START = 1_790_000_000_000
TIMEOUT = 60.0


@dataclass
class TestClock:
    """A clock that only tests advance."""

    __test__ = False
    now: int = START

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: int) -> None:
        self.now += milliseconds


@dataclass
class Location:
    """An SQLite file or the URL of a PostgreSQL database."""

    path_or_url: Path | str
    clock: TestClock = field(default_factory=TestClock)

    def database(self, clock: TestClock) -> Database:
        if isinstance(self.path_or_url, Path):
            return SqliteDatabase(self.path_or_url, clock=clock)
        return CitusDatabase(self.path_or_url, 4, clock=clock)


@dataclass
class Worker:
    """A process that dispatches deliveries, with helpers to change and read its database."""

    database: Database
    dispatcher: Dispatcher
    clock: TestClock
    secret: str = field(default_factory=make_secret)

    async def add_webhook(
        self, url: str, *event_types: str, enabled: bool = True, account_id: str = ACCOUNT_ID
    ) -> WebhookRow:
        """Stores a webhook. All webhooks of a worker have the same secret."""
        new = NewWebhook(url, "", event_types, enabled)
        return await self.database.write(
            lambda tx: store.create(
                account_id,
                new,
                lambda webhook_id: SECRETS.encrypt(account_id, webhook_id, self.secret),
                tx,
            )
        )

    async def update(self, webhook_id: str, **changes: Any) -> None:
        await self.database.write(lambda tx: store.update(ACCOUNT_ID, webhook_id, changes, tx))

    async def create_tags(self, *names: str, account_id: str = ACCOUNT_ID) -> None:
        """Creates tags, and so events, each in a transaction of its own."""
        for name in names:
            await self.database.write(lambda tx, name=name: tags.create(account_id, name, "", tx))

    async def lease(self) -> list[LeasedDelivery]:
        """Leases due deliveries as the dispatcher does."""
        return (await self.database.write(partial(lease_due, ACCOUNT_ID))).deliveries

    async def record(
        self,
        delivery: Lease,
        http_status: int = 200,
        *,
        url: str | None = None,
        started_at: int = START,
    ) -> RecordedAttempts:
        """Stores the result of an attempt as the dispatcher does."""
        error = "" if http_status == 200 else f"HTTP {http_status}"
        finished = FinishedAttempt(delivery, started_at, 1, http_status, error, "", None, 0.5, url)
        return await self.database.write(lambda tx: record_attempts(ACCOUNT_ID, [finished], tx))

    async def rows(self, model: type[Model], order: str = "id") -> list[dict[str, Any]]:
        """Returns all rows of a table, by column name."""
        query = model.select().order_by(SQL(order))
        names = [field.name for field in query.selected_columns]
        rows = await self.database.read(lambda tx: tx.all(Statement(lambda _: query)))
        return [dict(zip(names, row, strict=True)) for row in rows]

    async def execute(self, text: str) -> None:
        await self.database.write(partial(execute, text))

    async def wait_until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(TIMEOUT):
            while not condition():  # noqa: ASYNC110 - the condition can be anything
                await asyncio.sleep(0.005)

    async def wait_for_rows(
        self, model: type[Model], condition: Callable[[list[dict[str, Any]]], Any]
    ) -> list[dict[str, Any]]:
        """Waits until the rows of a table fulfill a condition, and returns them."""
        async with asyncio.timeout(TIMEOUT):
            while not condition(rows := await self.rows(model)):  # noqa: ASYNC110 - likewise
                await asyncio.sleep(0.01)
        return rows

    async def wait_for_deliveries(self, *statuses: int) -> list[dict[str, Any]]:
        """Waits until the deliveries have these statuses, in this order, and returns them."""
        return await self.wait_for_rows(
            Delivery, lambda rows: [row["status"] for row in rows] == list(statuses)
        )

    async def wait_for_attempt(self) -> dict[str, Any]:
        """Waits until the oldest delivery has one attempt, and returns it."""
        row, *_ = await self.wait_for_rows(
            Delivery, lambda rows: [row["attempts"] for row in rows[:1]] == [1]
        )
        return row


def lease_due(account_id: str, tx: Transaction) -> LeaseBatch:
    """Leases due deliveries as the dispatcher does."""
    return run_cycle(account_id, [], MAX_IN_FLIGHT_PER_ACCOUNT, tx)[1]


def execute(text: str, tx: Transaction) -> None:
    """Runs an SQL statement."""
    tx.run(Statement(lambda _: SQL(text)))


@asynccontextmanager
async def running_worker(
    location: Location,
    *,
    clock: TestClock | None = None,
    dispatches: bool = True,
    poll_seconds: float = 1.0,
    wraps: Callable[[Database], Any] = lambda database: database,
) -> AsyncIterator[Worker]:
    """Runs a worker; without `dispatches` it only opens the database.

    `wraps` returns the database that the dispatcher uses.
    """
    clock = clock or location.clock
    database = location.database(clock)
    await database.open()
    try:
        async with Client(EGRESS_POLICY) as client:
            sender = Sender(client, SECRETS, clock, rng=lambda: 0.5)
            # Short, so that a test does not wait for receivers that hang.
            dispatcher = Dispatcher(
                wraps(database), sender, poll_seconds=poll_seconds, drain_seconds=0.05
            )
            worker = Worker(database, dispatcher, clock)
            if not dispatches:
                yield worker
                return
            async with dispatcher.running():
                yield worker
    finally:
        await database.close()


def headers_of(request: bytes) -> Mapping[str, str]:
    """Returns the headers of a raw request."""
    head = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head)
    }


def body_of(request: bytes) -> bytes:
    """Returns the body of a raw request."""
    return request.partition(b"\r\n\r\n")[2]
