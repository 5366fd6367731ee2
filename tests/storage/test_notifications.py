"""Notifications of changed accounts, which are sent only after a commit, by any process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from rosterd.server.features.tags import store as tags
from rosterd.server.rpc.errors import TagNotFound
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.database import Database
from rosterd.server.storage.databases import database_at
from rosterd.server.storage.postgres import listen
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.database_url import parse_database_url

from ..postgres import Postgres
from .helpers import OURS, THEIRS

PATIENCE = 60.0


class Received:
    """Records the notified accounts, and the result of a read at that time."""

    def __init__(self, database: Database) -> None:
        self.accounts: list[str] = []
        self.found: list[Awaitable[list[str]]] = []
        self._database, self._thread = database, threading.current_thread()
        database.listen(self.on_notification)

    def on_notification(self, account_ids: Collection[str]) -> None:
        assert threading.current_thread() is self._thread
        for account_id in account_ids:
            self.accounts.append(account_id)
            work = partial(names, account_id)
            self.found.append(asyncio.create_task(self._database.read(work)))

    async def until(self, *accounts: str) -> None:
        """Waits for the notifications of these accounts, in this order."""
        await until(lambda: len(self.accounts) >= len(accounts))
        assert self.accounts == [*accounts]


Scenario = Callable[[Database, Received], Awaitable[None]]


async def until(holds: Callable[[], object]) -> None:
    """Waits until the condition is true."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what is waited for may be anything
            await asyncio.sleep(0.005)


def names(account_id: str, tx: Transaction) -> list[str]:
    return [row.name for row in tags.page(account_id, Page(1, 100), tx)[0]]


def create_and_notify(account_id: str, name: str, tx: Transaction) -> None:
    """Creates a tag and notifies the listeners of the account."""
    tags.create(account_id, name, "", tx)
    tx.accounts_to_notify.add(account_id)


def create_and_fail(tx: Transaction) -> None:
    """Creates a tag and fails."""
    create_and_notify(OURS, "undone", tx)
    tags.find(OURS, "0" * 26, tx)


def listeners(url: str, postgres: Postgres) -> list[int]:
    """Returns the PIDs of the connections that listen in a database."""
    name = conninfo_to_dict(url)["dbname"]
    rows = postgres.run(
        f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}' AND state = 'idle'"
        " AND (query LIKE 'LISTEN%' OR query LIKE 'SELECT pg_notify%')"
    )
    return [pid for (pid,) in rows]


def run_scenario(url: str, postgres: Postgres, scenario: Scenario) -> None:
    """Runs a scenario on an open database that listens."""

    async def whole() -> None:
        database = database_at(parse_database_url(url), 4)
        await database.open()
        try:
            received = Received(database)
            if not database.alone:
                await until(lambda: listeners(url, postgres))
            await scenario(database, received)
        finally:
            await database.close()

    asyncio.run(whole())


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A new database of each type."""
    if request.param == "sqlite":
        return f"sqlite:///{request.getfixturevalue('new_file')}"
    return str(request.getfixturevalue("postgres").new_roster())


@pytest.fixture
def server(postgres: Postgres) -> str:
    """A new PostgreSQL database."""
    return postgres.new_roster()


def test_listener_is_notified_after_the_commit_is_visible(url: str, postgres: Postgres) -> None:
    async def scenario(database: Database, received: Received) -> None:
        await database.write(partial(create_and_notify, OURS, "a"))
        await received.until(OURS)
        assert await received.found[0] == ["a"]

    run_scenario(url, postgres, scenario)


def test_rolled_back_write_notifies_no_listener(url: str, postgres: Postgres) -> None:
    async def scenario(database: Database, received: Received) -> None:
        failed, _ = await asyncio.gather(
            database.write(create_and_fail),
            database.write(partial(create_and_notify, THEIRS, "a")),
            return_exceptions=True,
        )
        assert isinstance(failed, TagNotFound)
        await received.until(THEIRS)
        # Notifications are ordered, so none of the failed write is pending.
        await database.write(partial(create_and_notify, THEIRS, "b"))
        await received.until(THEIRS, THEIRS)

    run_scenario(url, postgres, scenario)


@asynccontextmanager
async def second_process(url: str, postgres: Postgres) -> AsyncIterator[Database]:
    """Opens the database a second time, as another process would."""
    database = database_at(parse_database_url(url), 4)
    await database.open()
    try:
        database.listen(lambda _: None)
        await until(lambda: len(listeners(url, postgres)) == 2)
        yield database
    finally:
        await database.close()


def test_commits_of_other_processes_notify_listeners(server: str, postgres: Postgres) -> None:
    async def scenario(database: Database, received: Received) -> None:
        async with second_process(server, postgres) as other:
            await asyncio.gather(other.write(create_and_fail), return_exceptions=True)
            await other.write(partial(create_and_notify, THEIRS, "a"))
            await received.until(THEIRS)
            assert await received.found[0] == ["a"]

    run_scenario(server, postgres, scenario)


def test_collected_accounts_are_sent_to_other_processes_once(
    server: str, postgres: Postgres
) -> None:
    async def scenario(database: Database, received: Received) -> None:
        async with second_process(server, postgres) as other:
            for _ in range(9):
                other._bridge.notify([OURS, THEIRS])  # type: ignore[attr-defined]
            await until(lambda: {*received.accounts} == {OURS, THEIRS})
            await other.write(partial(create_and_notify, OURS, "a"))
            await until(lambda: len(received.accounts) >= 3)
            assert sorted(received.accounts[:2]) == [OURS, THEIRS]
            assert received.accounts[2:] == [OURS]

    run_scenario(server, postgres, scenario)


def test_commit_sends_no_notification_that_other_commits_wait_for(
    server: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[str] = []
    real = psycopg.Connection.execute

    def record_query(connection: Any, query: str, *arguments: Any, **options: Any) -> Any:
        queries.append(query)
        return real(connection, query, *arguments, **options)

    async def scenario(database: Database, received: Received) -> None:
        await database.write(partial(create_and_notify, OURS, "a"))
        monkeypatch.setattr(psycopg.Connection, "execute", record_query)
        await database.write(partial(create_and_notify, OURS, "b"))
        monkeypatch.undo()

    run_scenario(server, postgres, scenario)
    assert "COMMIT" in queries
    assert "notify" not in " ".join(queries).lower()


def test_unexpected_failure_is_logged_and_notifications_continue(
    server: str,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    real, failures = listen.NotificationBridge._take_pending, [RuntimeError("unthought of")] * 2

    def fails_twice(others: listen.NotificationBridge) -> list[str]:
        if failures:
            raise failures.pop()
        return real(others)

    async def scenario(database: Database, received: Received) -> None:
        async with second_process(server, postgres) as other:
            monkeypatch.setattr(listen, "RETRY_SECONDS", 0.01)
            monkeypatch.setattr(listen.NotificationBridge, "_take_pending", fails_twice)
            await until(lambda: not failures)
            await until(lambda: len(listeners(server, postgres)) == 2)
            await other.write(partial(create_and_notify, OURS, "a"))
            await received.until(OURS)

    run_scenario(server, postgres, scenario)
    assert "RuntimeError: unthought of" in caplog.text


def test_listening_continues_after_its_connection_was_lost(
    server: str,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(listen, "RETRY_SECONDS", 0.01)

    async def scenario(database: Database, received: Received) -> None:
        async with second_process(server, postgres) as other:
            for number in range(1, 3):
                before = set(listeners(server, postgres))
                for pid in before:
                    postgres.run(f"SELECT pg_terminate_backend({pid})")
                await until(lambda: len(set(listeners(server, postgres)) - before) == 2)  # noqa: B023
                await other.write(partial(create_and_notify, OURS, f"{number}"))
                await received.until(*[OURS] * number)

    run_scenario(server, postgres, scenario)
    assert "cannot listen for notifications" in caplog.text
