"""News of accounts: told once what makes it stands, by whichever process, and not otherwise."""

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

from server.config import parse_database_url
from server.errors import TagNotFound
from server.paging import Page
from server.storage.database import Database
from server.storage.databases import to_serve
from server.storage.postgres import listen
from server.storage.transaction import Transaction
from server.tags import store as tags

from ..postgres import Postgres
from .helpers import OURS, THEIRS

PATIENCE = 20.0


class Heard:
    """What a process has heard, and what it found when it did."""

    def __init__(self, database: Database) -> None:
        self.accounts: list[str] = []
        self.found: list[Awaitable[list[str]]] = []
        self._database, self._thread = database, threading.current_thread()
        database.listen(self.hear)

    def hear(self, account_ids: Collection[str]) -> None:
        assert threading.current_thread() is self._thread
        for account_id in account_ids:
            self.accounts.append(account_id)
            work = partial(names, account_id)
            self.found.append(asyncio.create_task(self._database.read(work)))

    async def until(self, *accounts: str) -> None:
        """Waits until so much was heard, and sees that it is this."""
        await until(lambda: len(self.accounts) >= len(accounts))
        assert self.accounts == [*accounts]


Story = Callable[[Database, Heard], Awaitable[None]]


async def until(holds: Callable[[], object]) -> None:
    """Waits for something that has to come true."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what is waited for may be anything
            await asyncio.sleep(0.005)


def names(account_id: str, tx: Transaction) -> list[str]:
    return [row.name for row in tags.page(account_id, Page(1, 100), tx)[0]]


def news(account_id: str, name: str, tx: Transaction) -> None:
    """Makes news of an account: a tag."""
    tags.create(account_id, name, "", tx)
    tx.accounts_to_notify.add(account_id)


def fails(tx: Transaction) -> None:
    """Makes news of our account, and then goes wrong."""
    news(OURS, "undone", tx)
    tags.find(OURS, "0" * 26, tx)


def listeners(url: str, postgres: Postgres) -> list[int]:
    """Returns the server's processes for connections that listen at a database."""
    name = conninfo_to_dict(url)["dbname"]
    rows = postgres.run(
        f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}' AND state = 'idle'"
        " AND (query LIKE 'LISTEN%' OR query LIKE 'SELECT pg_notify%')"
    )
    return [pid for (pid,) in rows]


def play(url: str, postgres: Postgres, story: Story) -> None:
    """Runs a story in a process that listens."""

    async def whole() -> None:
        database = to_serve(parse_database_url(url), 4)
        await database.open()
        try:
            heard = Heard(database)
            if not database.alone:
                await until(lambda: listeners(url, postgres))
            await story(database, heard)
        finally:
            await database.close()

    asyncio.run(whole())


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A new database of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{request.getfixturevalue('new_file')}"
    return str(request.getfixturevalue("postgres").new_roster())


@pytest.fixture
def server(postgres: Postgres) -> str:
    """A new database on a server."""
    return postgres.new_roster()


def test_who_hears_of_an_account_finds_what_the_news_is_about(url: str, postgres: Postgres) -> None:
    async def story(database: Database, heard: Heard) -> None:
        await database.write(partial(news, OURS, "a"))
        await heard.until(OURS)
        assert await heard.found[0] == ["a"]

    play(url, postgres, story)


def test_what_was_undone_is_no_news(url: str, postgres: Postgres) -> None:
    async def story(database: Database, heard: Heard) -> None:
        failed, _ = await asyncio.gather(
            database.write(fails),
            database.write(partial(news, THEIRS, "a")),
            return_exceptions=True,
        )
        assert isinstance(failed, TagNotFound)
        await heard.until(THEIRS)
        # What comes later is heard later: nothing is on its way any more.
        await database.write(partial(news, THEIRS, "b"))
        await heard.until(THEIRS, THEIRS)

    play(url, postgres, story)


def test_news_waits_for_the_commit(server: str, postgres: Postgres) -> None:
    reached, opened = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        news(OURS, "slow", tx)
        reached.set()
        assert opened.wait(PATIENCE)

    async def story(database: Database, heard: Heard) -> None:
        writing = asyncio.create_task(database.write(slow))
        await asyncio.to_thread(reached.wait, PATIENCE)
        await database.write(partial(news, THEIRS, "quick"))
        await heard.until(THEIRS)
        opened.set()
        await writing
        await heard.until(THEIRS, OURS)

    play(server, postgres, story)


@asynccontextmanager
async def another(url: str, postgres: Postgres) -> AsyncIterator[Database]:
    """Runs another process on a database, as far as the first one can tell."""
    database = to_serve(parse_database_url(url), 4)
    await database.open()
    try:
        database.listen(lambda _: None)
        await until(lambda: len(listeners(url, postgres)) == 2)
        yield database
    finally:
        await database.close()


def test_what_others_write_is_news_as_well(server: str, postgres: Postgres) -> None:
    async def story(database: Database, heard: Heard) -> None:
        async with another(server, postgres) as other:
            await asyncio.gather(other.write(fails), return_exceptions=True)
            await other.write(partial(news, THEIRS, "a"))
            await heard.until(THEIRS)
            assert await heard.found[0] == ["a"]

    play(server, postgres, story)


def test_what_gathers_is_told_to_others_once(server: str, postgres: Postgres) -> None:
    async def story(database: Database, heard: Heard) -> None:
        async with another(server, postgres) as other:
            for _ in range(9):
                other._bridge.notify([OURS, THEIRS])  # type: ignore[attr-defined]
            await until(lambda: {*heard.accounts} == {OURS, THEIRS})
            await other.write(partial(news, OURS, "a"))
            await until(lambda: len(heard.accounts) >= 3)
            assert sorted(heard.accounts[:2]) == [OURS, THEIRS]
            assert heard.accounts[2:] == [OURS]

    play(server, postgres, story)


def test_commit_tells_nothing_that_other_commits_would_wait_for(
    server: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = psycopg.Connection.execute

    def noted(connection: Any, query: str, *arguments: Any, **options: Any) -> Any:
        asked.append(query)
        return real(connection, query, *arguments, **options)

    async def story(database: Database, heard: Heard) -> None:
        await database.write(partial(news, OURS, "a"))
        monkeypatch.setattr(psycopg.Connection, "execute", noted)
        await database.write(partial(news, OURS, "b"))
        monkeypatch.undo()

    play(server, postgres, story)
    assert "COMMIT" in asked
    assert "notify" not in " ".join(asked).lower()


def test_failure_that_nobody_thought_of_is_logged_and_telling_goes_on(
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

    async def story(database: Database, heard: Heard) -> None:
        async with another(server, postgres) as other:
            monkeypatch.setattr(listen, "RETRY_SECONDS", 0.01)
            monkeypatch.setattr(listen.NotificationBridge, "_take_pending", fails_twice)
            await until(lambda: not failures)
            await until(lambda: len(listeners(server, postgres)) == 2)
            await other.write(partial(news, OURS, "a"))
            await heard.until(OURS)

    play(server, postgres, story)
    assert "RuntimeError: unthought of" in caplog.text


def test_hearing_goes_on_after_its_connection_was_cut(
    server: str,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(listen, "RETRY_SECONDS", 0.01)

    async def story(database: Database, heard: Heard) -> None:
        async with another(server, postgres) as other:
            for number in range(1, 3):
                before = set(listeners(server, postgres))
                for pid in before:
                    postgres.run(f"SELECT pg_terminate_backend({pid})")
                await until(lambda: len(set(listeners(server, postgres)) - before) == 2)  # noqa: B023
                await other.write(partial(news, OURS, f"{number}"))
                await heard.until(*[OURS] * number)

    play(server, postgres, story)
    assert "cannot listen for notifications" in caplog.text


def test_nobody_listens_any_more_once_the_database_is_closed(
    server: str, postgres: Postgres
) -> None:
    async def story(database: Database, heard: Heard) -> None:
        await database.close()
        await until(lambda: not listeners(server, postgres))

    play(server, postgres, story)
