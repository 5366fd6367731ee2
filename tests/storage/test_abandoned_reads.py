"""Abandoned reads are interrupted, and slow reads of one account leave a thread for others."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

from peewee import SQL

from rosterd.server.rpc import caller
from rosterd.server.storage.database import Database, Work
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, THEIRS
from .opened import TIMEOUT, run

# Statements that would run for longer than any test.
ENDLESS = {
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    " SELECT max(x) FROM n WHERE x < 0",
    "postgres": "SELECT pg_sleep(3600)",
}


async def read(database: Database, account_id: str, work: Work[Any]) -> Any:
    caller.enter_account(account_id)
    return await database.read(work)


def look_up(tx: Transaction) -> int:
    return int(tx.scalar(Statement(lambda _: SQL("SELECT 7"))))


class EndlessRead:
    """A read that runs until it is interrupted."""

    def __init__(self, url: str) -> None:
        self.started, self.ended = threading.Event(), threading.Event()
        self._sql = ENDLESS["sqlite" if url.startswith("sqlite") else "postgres"]

    def __call__(self, tx: Transaction) -> None:
        self.started.set()
        try:
            tx.all(Statement(lambda _: SQL(self._sql)))
        finally:
            self.ended.set()

    async def begin(self, database: Database, account_id: str) -> asyncio.Task[Any]:
        task = asyncio.create_task(read(database, account_id, self))
        assert await asyncio.to_thread(self.started.wait, TIMEOUT)
        return task


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task


def test_abandoned_read_is_interrupted(url: str) -> None:
    async def scenario(database: Database) -> None:
        for _ in range(3):
            endless = EndlessRead(url)
            await cancel(await endless.begin(database, OURS))
            assert await asyncio.to_thread(endless.ended.wait, TIMEOUT)
            assert await read(database, OURS, look_up) == 7

    run(url, scenario)


def test_abandoned_reads_that_wait_never_start(url: str) -> None:
    async def scenario(database: Database) -> None:
        running = EndlessRead(url)
        tasks = [await running.begin(database, OURS)]
        waiting = [EndlessRead(url) for _ in range(8)]
        tasks += [asyncio.create_task(read(database, OURS, each)) for each in waiting]
        await asyncio.sleep(0.05)

        await cancel(*tasks)

        assert await read(database, OURS, look_up) == 7
        assert not any(each.started.is_set() for each in waiting)

    run(url, scenario, connections=2)


def test_slow_reads_of_one_account_leave_a_thread_for_others(url: str) -> None:
    async def scenario(database: Database) -> None:
        slow = [EndlessRead(url) for _ in range(6)]
        tasks = [await slow[0].begin(database, OURS)]
        await asyncio.sleep(0.05)
        tasks += [asyncio.create_task(read(database, OURS, each)) for each in slow[1:]]
        await asyncio.sleep(0.05)

        assert await read(database, THEIRS, look_up) == 7

        await cancel(*tasks)

    run(url, scenario)
