"""Parts of one long read run at the same time, and leave threads for other accounts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from rosterd.server.rpc import caller
from rosterd.server.storage.database import Database, Work
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, THEIRS
from .opened import TIMEOUT, run
from .test_abandoned_reads import EndlessRead, cancel, look_up, read

# The default number of connections.
CONNECTIONS = 8


async def read_parts(database: Database, account_id: str, works: Sequence[Work[Any]]) -> Any:
    caller.enter_account(account_id)
    return await database.read_parts(works)


async def begun(database: Database, parts: Sequence[EndlessRead]) -> asyncio.Task[Any]:
    task = asyncio.create_task(read_parts(database, THEIRS, parts))
    for part in parts:
        assert await asyncio.to_thread(part.started.wait, TIMEOUT)
    return task


def test_parts_run_at_the_same_time(url: str) -> None:
    both = threading.Barrier(2, timeout=TIMEOUT)

    def part(tx: Transaction) -> int:
        both.wait()
        return look_up(tx)

    async def scenario(database: Database) -> None:
        assert await database.read_parts([part, part]) == [7, 7]

    run(url, scenario, CONNECTIONS)


def test_parts_are_read_without_idle_threads(url: str) -> None:
    def other(tx: Transaction) -> int:
        return 8 * look_up(tx)

    async def scenario(database: Database) -> None:
        slow = await begun(database, [EndlessRead(url), EndlessRead(url)])
        await asyncio.sleep(0.05)

        assert await read_parts(database, OURS, [look_up, other]) == [7, 56]
        assert await read(database, OURS, look_up) == 7

        await cancel(slow)

    run(url, scenario, CONNECTIONS)


def test_abandoned_parts_are_interrupted(url: str) -> None:
    async def scenario(database: Database) -> None:
        parts = [EndlessRead(url), EndlessRead(url)]
        await cancel(await begun(database, parts))

        for part in parts:
            assert await asyncio.to_thread(part.ended.wait, TIMEOUT)
        assert await read_parts(database, THEIRS, [look_up, look_up]) == [7, 7]

    run(url, scenario, CONNECTIONS)
