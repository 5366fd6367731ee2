"""Key lookups: few run on a thread, many on the event loop unless they are slow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from server.errors import Unavailable
from server.storage.executor import key_lookups
from server.storage.executor.batch_executor import BatchExecutor
from server.storage.executor.key_lookups import MAX_THREAD_LOOKUPS, KeyLookups
from server.storage.executor.work_item import WorkItem
from server.storage.sqlite.database import SqliteDatabase
from server.storage.transaction import Transaction
from server.tags import store

LONG = 60.0
ACCOUNT = "0" * 26


def run(scenario: Coroutine[Any, Any, Any]) -> Any:
    """Runs a scenario, or fails after a timeout."""
    return asyncio.run(asyncio.wait_for(scenario, LONG))


def on_the_loop(tx: Transaction) -> bool:
    """Work that returns whether it runs on the event loop."""
    return threading.current_thread() is threading.main_thread()


@pytest.fixture
def database(tmp_path: Path) -> SqliteDatabase:
    return SqliteDatabase(tmp_path / "roster.db")


async def crowd(
    database: SqliteDatabase, work: Any, count: int = MAX_THREAD_LOOKUPS + 1
) -> list[Any]:
    return await asyncio.gather(
        *(database.lookup(work) for _ in range(count)), return_exceptions=True
    )


@pytest.mark.parametrize(
    ("count", "here"), [(1, False), (MAX_THREAD_LOOKUPS, False), (MAX_THREAD_LOOKUPS + 1, True)]
)
def test_thread_runs_few_lookups_and_event_loop_runs_many(
    database: SqliteDatabase, count: int, here: bool
) -> None:
    async def scenario() -> list[bool]:
        await database.open()
        try:
            return await crowd(database, on_the_loop, count)
        finally:
            await database.close()

    assert run(scenario()) == [here] * count


@pytest.mark.parametrize("count", [1, MAX_THREAD_LOOKUPS + 1])
def test_what_was_written_is_found(database: SqliteDatabase, count: int) -> None:
    async def scenario() -> None:
        await database.open()
        for name in ("ada", "grace"):
            made = await database.write(lambda tx, name=name: store.create(ACCOUNT, name, "", tx))
            find = partial(store.find, ACCOUNT, made.id)
            assert {row.name for row in await crowd(database, find, count)} == {name}
        await database.close()

    run(scenario())


def test_one_that_fails_in_a_crowd_fails_alone(database: SqliteDatabase) -> None:
    async def scenario() -> list[Any]:
        await database.open()
        run_cycle = iter(range(MAX_THREAD_LOOKUPS + 1))

        def work(tx: Transaction) -> int:
            number = next(run_cycle)
            if number == 3:
                raise ValueError(number)
            return number

        found = await crowd(database, work)
        await database.close()
        return found

    found = run(scenario())
    assert isinstance(found.pop(3), ValueError)
    assert found == [number for number in range(MAX_THREAD_LOOKUPS + 1) if number != 3]


def test_a_crowd_that_asked_before_the_end_is_answered_and_later_ones_are_refused(
    database: SqliteDatabase,
) -> None:
    async def scenario() -> tuple[set[Any], set[type]]:
        await database.open()
        asked = [
            asyncio.ensure_future(database.lookup(lambda tx: 1))
            for _ in range(MAX_THREAD_LOOKUPS + 1)
        ]
        await asyncio.sleep(0)
        await database.close()
        late = await crowd(database, lambda tx: 1)
        return set(await asyncio.gather(*asked)), {type(error) for error in late}

    assert run(scenario()) == ({1}, {Unavailable})


def test_after_slow_ones_the_thread_has_them_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[str] = []
    now = 0.0

    def place(name: str, seconds: float = 0.0) -> Callable[[Sequence[WorkItem[Any]]], None]:
        def run_batch(items: Sequence[WorkItem[Any]]) -> None:
            nonlocal now
            now += seconds
            places.append(name)
            for item in filter(WorkItem.claim, items):
                item.result = item.work

        return run_batch

    async def scenario() -> None:
        executor: BatchExecutor[Any] = BatchExecutor(
            "thread", start=lambda: None, run_batch=place("thread."), stop=lambda: None
        )
        await executor.open()
        slow = place("loop.", (MAX_THREAD_LOOKUPS + 1) * key_lookups.SLOW_SECONDS * 1.1)
        looked = KeyLookups(executor, slow, clock=lambda: now)
        nonlocal now
        for pause in (0, 0, key_lookups.SLOW_CACHE_SECONDS):
            now += pause
            places.append("|")
            await asyncio.gather(*(looked.run(number) for number in range(MAX_THREAD_LOOKUPS + 1)))
        await executor.close()

    run(scenario())
    first, second, third = "".join(places).split("|")[1:]
    assert (first, set(second.split(".")), third) == ("loop.", {"thread", ""}, "loop.")


def test_failed_batch_of_lookups_raises_its_error_to_every_caller(caplog: Any) -> None:
    def broken(items: Sequence[WorkItem[Any]]) -> None:
        raise OSError("the disk is gone")

    async def scenario() -> list[Any]:
        executor: BatchExecutor[Any] = BatchExecutor(
            "thread", start=lambda: None, run_batch=broken, stop=lambda: None
        )
        await executor.open()
        looked = KeyLookups(executor, broken)
        asked = (looked.run(number) for number in range(MAX_THREAD_LOOKUPS + 1))
        found = await asyncio.gather(*asked, return_exceptions=True)
        await executor.close()
        return found

    assert {type(error) for error in run(scenario())} == {OSError}
    assert "a batch of 33 work items failed" in caplog.text
