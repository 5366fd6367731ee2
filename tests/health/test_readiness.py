"""Whether a process is ready: what its database and its disk have to say in that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from server.errors import Unavailable
from server.health import readiness
from server.health.readiness import HEARTBEAT_SECONDS, LEAST_FREE_BYTES, Readiness, told
from server.storage.database import Database
from server.storage.sqlite.database import SqliteDatabase


class Heart:
    """A database of which a heartbeat can be asked, and what was told of it."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.free: int | None = None
        self.said: list[bool] = []
        self.beats = True
        self.asked = asyncio.Event()

    async def write(self, work: Any) -> None:
        self.asked.set()
        if not self.beats:
            raise Unavailable

    async def tell(self, *, serving: bool) -> None:
        self.said.append(serving)

    def readiness(self) -> Readiness:
        database: Any = self
        return Readiness(database, lambda: self.free, self.tell, lambda: self.now)

    async def ping(self, readiness: Readiness) -> None:
        """Has the database asked once."""
        self.asked.clear()
        beating = asyncio.create_task(readiness.ping())
        await self.asked.wait()
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating


def story(body: Callable[[Heart, Readiness], Awaitable[None]]) -> list[bool]:
    """Runs a story and returns what was told."""

    async def main() -> list[bool]:
        heart = Heart()
        await body(heart, heart.readiness())
        return heart.said

    return asyncio.run(main())


def test_process_is_ready_while_its_heart_beats() -> None:
    async def body(heart: Heart, ready: Readiness) -> None:
        await heart.ping(ready)
        await ready.look_once()
        heart.now += HEARTBEAT_SECONDS
        await ready.look_once()

    assert story(body) == [True]


def test_process_without_a_heartbeat_is_not_ready_until_there_is_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(heart: Heart, ready: Readiness) -> None:
        await heart.ping(ready)
        await ready.look_once()
        heart.beats = False
        heart.now += HEARTBEAT_SECONDS + 0.1
        await heart.ping(ready)
        await ready.look_once()
        await ready.look_once()
        heart.beats = True
        await heart.ping(ready)
        await ready.look_once()

    assert story(body) == [True, False, True]
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert told == [
        "not ready: the database has given no sign of life for 2 seconds",
        "ready again",
    ]


def test_process_whose_disk_is_nearly_full_is_not_ready() -> None:
    async def body(heart: Heart, ready: Readiness) -> None:
        await heart.ping(ready)
        for free in (LEAST_FREE_BYTES, LEAST_FREE_BYTES - 1, LEAST_FREE_BYTES):
            heart.free = free
            await ready.look_once()

    assert story(body) == [True, False, True]


def test_process_that_never_had_a_heartbeat_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "HEARTBEAT_SECONDS", 0.01)

    async def body(heart: Heart, ready: Readiness) -> None:
        await ready.first_beat()

    assert story(body) == [False]


async def opened(path: Path) -> SqliteDatabase:
    database = SqliteDatabase(path)
    await database.open()
    return database


def test_database_that_cannot_be_sure_of_a_commit_makes_the_process_unready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(readiness, "PAUSE_SECONDS", 0.01)
    said: list[bool] = []
    unready = asyncio.Event()

    async def tell(*, serving: bool) -> None:
        said.append(serving)
        if not serving:
            unready.set()

    async def main() -> None:
        database: Database = await opened(tmp_path / "roster.db")
        async with told(database, tmp_path, tell):
            assert said == [True]
            database._failed = True  # type: ignore[attr-defined]
            await asyncio.wait_for(unready.wait(), 10)
        await database.close()

    asyncio.run(main())
    assert said == [True, False, False]


def test_heartbeat_is_no_commit(tmp_path: Path) -> None:
    path = tmp_path / "roster.db"

    async def main() -> None:
        database = await opened(path)
        log = path.with_name("roster.db-wal")
        before = log.stat().st_size
        for _ in range(50):
            await database.write(lambda tx: tx.ping())
        assert log.stat().st_size == before
        await database.close()

    asyncio.run(main())
