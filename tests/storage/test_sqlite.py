"""SqliteDatabase on real files: group commit, durability, locks and invalid files."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from peewee import SQL

from rosterd.server.features.tags import store
from rosterd.server.rpc.errors import Unavailable
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.database import StorageError, Work
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.executor import batch_executor
from rosterd.server.storage.shared_work import OneStatement, SharedWork
from rosterd.server.storage.sqlite import file
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.sqlite.file import file_lock
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction

from ..cases import each
from .opened import run_loop_iterations

TIMEOUT = 60.0
ACCOUNT = "0" * 26


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the test's database."""
    return tmp_path / "roster.db"


@asynccontextmanager
async def opened_database(path: Path) -> AsyncIterator[SqliteDatabase]:
    """The open database."""
    database = SqliteDatabase(path)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


def run(scenario: Coroutine[Any, Any, Any]) -> Any:
    """Runs a scenario with a time limit."""
    return asyncio.run(asyncio.wait_for(scenario, TIMEOUT))


def create(name: str) -> Work[str]:
    """Returns work that creates a tag and returns its id."""
    return lambda tx: store.create(ACCOUNT, name, "", tx).id


def names(tx: Transaction) -> list[str]:
    """Returns the names of all tags."""
    return [row.name for row in store.page(ACCOUNT, Page(1, 100), tx)[0]]


def pragma(name: str) -> Work[Any]:
    """Returns work that reads a pragma of its connection."""
    statement = Statement(lambda _: SQL(f"PRAGMA {name}"))
    return lambda tx: tx.one(statement)


def names_from_another_program(path: Path) -> list[str]:
    """Returns the names of all tags as another program reads them."""
    with closing(apsw.Connection(str(path))) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM tag ORDER BY name_key")]


class BlockedWriter:
    """Blocks the writer in a transaction until the test releases it."""

    def __init__(self) -> None:
        self._reached, self._done = threading.Event(), threading.Event()

    def _stand(self, tx: Transaction) -> None:
        self._reached.set()
        assert self._done.wait(TIMEOUT)

    async def hold(self, database: SqliteDatabase) -> asyncio.Task[None]:
        task = asyncio.create_task(database.write(self._stand))
        assert await asyncio.to_thread(self._reached.wait, TIMEOUT)
        return task

    def release(self) -> None:
        self._done.set()


async def write_together(database: SqliteDatabase, *works: Work[Any]) -> list[Any]:
    """Queues the works while the writer is blocked, so that they form the next batch. Returns their
    outcomes.
    """
    busy = BlockedWriter()
    first = await busy.hold(database)
    tasks = [asyncio.create_task(database.write(work)) for work in works]
    await run_loop_iterations()
    busy.release()
    await first
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_queued_writes_form_one_transaction(path: Path) -> None:
    def look(tx: Transaction) -> tuple[list[str], list[str]]:
        return names(tx), names_from_another_program(path)

    async def scenario() -> Any:
        async with opened_database(path) as database:
            return await write_together(database, create("a"), create("b"), look)

    _, _, (inside, outside_) = run(scenario())
    assert inside == ["a", "b"]
    assert outside_ == []
    assert names_from_another_program(path) == ["a", "b"]


def test_write_is_committed_before_it_is_acknowledged(path: Path) -> None:
    async def scenario() -> list[str]:
        async with opened_database(path) as database:
            await database.write(create("a"))
            return names_from_another_program(path)

    assert run(scenario()) == ["a"]


def test_failed_commit_fails_all_its_writes_and_the_next_commit_succeeds(path: Path) -> None:
    defer = Statement(lambda _: SQL("PRAGMA defer_foreign_keys = 1"))
    insert = Statement(lambda _: SQL("INSERT INTO subscriber_tag VALUES ('a', 'b', 'c')"))

    def orphan(tx: Transaction) -> None:
        tx.all(defer)
        tx.run(insert)

    async def scenario() -> Any:
        async with opened_database(path) as database:
            outcomes = await write_together(database, create("a"), orphan, create("b"))
            await database.write(create("c"))
            return outcomes

    assert [type(outcome) for outcome in run(scenario())] == [Unavailable] * 3
    assert names_from_another_program(path) == ["c"]


def test_write_to_a_locked_file_is_rejected_and_the_next_succeeds(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "BUSY_SECONDS", 0.01)

    async def scenario() -> Any:
        async with opened_database(path) as database:
            await database.write(create("before"))
            with closing(apsw.Connection(str(path))) as other:
                other.execute("BEGIN IMMEDIATE")
                outcomes = await asyncio.gather(
                    database.write(create("a")),
                    database.write(create("b")),
                    return_exceptions=True,
                )
                assert await database.read(names) == ["before"]
            await database.write(create("after"))
            return outcomes

    assert [type(outcome) for outcome in run(scenario())] == [Unavailable] * 2
    assert names_from_another_program(path) == ["after", "before"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("synchronous", 2), ("journal_mode", "wal"), ("foreign_keys", 1)],
)
def test_writer_connection_is_durable(path: Path, name: str, value: int | str) -> None:
    async def scenario() -> Any:
        async with opened_database(path) as database:
            return await database.write(pragma(name))

    assert run(scenario()) == (value,)


def test_only_readers_with_short_reads_have_a_connection_of_the_event_loop(path: Path) -> None:
    async def scenario() -> list[str]:
        async with opened_database(path):
            names = [each.filename for each in apsw.connections()]
            return [name for name in names if name == str(path)]

    # The writer, three readers, and two on the event loop.
    assert len(run(scenario())) == 6


def test_readers_cannot_write(path: Path) -> None:
    async def scenario() -> None:
        async with opened_database(path) as database:
            with pytest.raises(Unavailable):
                await database.read(create("a"))
            assert await database.read(names) == []

    run(scenario())


def test_read_includes_all_acknowledged_writes(path: Path) -> None:
    async def client(database: SqliteDatabase, number: int) -> None:
        for run_cycle in range(10):
            name = f"{number}-{run_cycle}"
            await database.write(create(name))
            assert name in await database.read(names)

    async def scenario() -> None:
        async with opened_database(path) as database:
            await asyncio.gather(*(client(database, number) for number in range(8)))

    run(scenario())


def thread_name(_tx: Transaction) -> str:
    """Returns the name of the thread that runs the work."""
    return threading.current_thread().name


def thread_names(arguments: Sequence[None], tx: Transaction) -> list[str | Exception]:
    return [thread_name(tx) for _ in arguments]


LOOKUP: Work[str] = SharedWork("key", None, thread_names, has_one_statement=True)
PAGE: Work[str] = OneStatement(thread_name, is_short=True)
LONG: Work[str] = OneStatement(thread_name)
MAIN, READER = "MainThread", "reader-0"


@pytest.mark.parametrize(
    ("works", "expected"),
    [
        ([LOOKUP, LOOKUP], [MAIN, MAIN]),
        ([PAGE], [MAIN]),
        ([PAGE, LOOKUP, PAGE], [READER, MAIN, READER]),
        ([LONG, LOOKUP], [READER, MAIN]),
        ([thread_name], [READER]),
    ],
    ids=["lookups", "one page", "several pages", "long read and lookup", "several statements"],
)
def test_lookups_and_a_single_page_run_on_the_event_loop(
    path: Path, works: list[Work[str]], expected: list[str]
) -> None:
    async def scenario() -> Any:
        async with opened_database(path) as database:
            return await asyncio.gather(*map(database.read, works))

    assert run(scenario()) == expected


@each(("reads", "expected"), {"one": (1, [MAIN]), "several": (3, [READER, READER, READER])})
def test_only_a_single_lookup_runs_on_the_event_loop_during_a_write(
    path: Path, reads: int, expected: list[str]
) -> None:
    async def scenario() -> Any:
        async with opened_database(path) as database:
            busy = BlockedWriter()
            write = await busy.hold(database)
            during = await asyncio.gather(*[database.read(LOOKUP) for _ in range(reads)])
            busy.release()
            await write
            return during

    assert run(scenario()) == expected


@each(("reads", "expected"), {"one": (1, [MAIN]), "several": (2, ["reader-1", "reader-1"])})
def test_lookups_do_not_wait_for_a_long_read(path: Path, reads: int, expected: list[str]) -> None:
    ended = threading.Event()

    async def scenario() -> Any:
        async with opened_database(path) as database:
            reading = asyncio.create_task(database.read(lambda _: ended.wait(10)))
            await run_loop_iterations()
            try:
                lookups = [database.read(LOOKUP) for _ in range(reads)]
                return await asyncio.wait_for(asyncio.gather(*lookups), 5)
            finally:
                ended.set()
                await reading

    assert run(scenario()) == expected


def test_short_reads_run_on_a_thread_after_a_slow_batch(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_executor, "SLOW_SECONDS", -1.0)

    async def scenario() -> Any:
        async with opened_database(path) as database:
            return [await database.read(LOOKUP) for _ in range(3)]

    assert run(scenario()) == [MAIN, READER, READER]


def test_file_is_locked_until_its_database_is_closed(path: Path) -> None:
    async def scenario() -> None:
        async with opened_database(path):
            with pytest.raises(StorageError, match=f"already served by process {os.getpid()}"):
                await SqliteDatabase(path).open()
        async with opened_database(path) as database:
            await database.write(create("a"))

    run(scenario())


def test_stale_lock_of_an_ended_process_is_replaced(path: Path) -> None:
    path.with_name("roster.db.lock").write_text("4194304999")

    with file_lock(path):
        pass

    assert path.with_name("roster.db.lock").read_text() == str(os.getpid())


@pytest.mark.parametrize("size", [100, 10_000])
def test_file_that_is_not_a_database_is_rejected_with_a_remedy(path: Path, size: int) -> None:
    path.write_bytes(b"x" * size)

    async def scenario() -> None:
        with pytest.raises(StorageError, match="Restore it from a backup"):
            await SqliteDatabase(path).open()

    run(scenario())
    assert path.read_bytes() == b"x" * size


@pytest.mark.parametrize("finds_it", ["read", "write"])
def test_damaged_page_stops_all_writes_and_is_logged_once_with_a_remedy(
    path: Path, finds_it: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with opened_database(path) as database:
            await database.write(create("first"))
        with closing(apsw.Connection(str(path))) as connection:
            (page,) = connection.execute(
                "SELECT rootpage FROM sqlite_schema WHERE name = 'tag'"
            ).fetchone()
            size = connection.pragma("page_size")
        with path.open("r+b") as content:
            content.seek((page - 1) * size)
            content.write(b"\x5a" * size)

        async with opened_database(path) as database:
            call = database.read(names) if finds_it == "read" else database.write(create("second"))
            with pytest.raises(Unavailable):
                await call
            for work in (create("third"), Transaction.ping):
                with pytest.raises(Unavailable):
                    await database.write(work)
            with pytest.raises(Unavailable):
                await database.read(names)

    run(scenario())
    (record,) = caplog.records
    assert "roster restore" in record.getMessage()
    with (
        pytest.raises(StorageError, match="roster restore"),
        unit_of_work(f"sqlite:///{path}") as tx,
    ):
        names(tx)
