"""Tests how the database and the disk determine the readiness of a process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.rpc.errors import Unavailable
from rosterd.server.rpc.health.readiness import (
    HEARTBEAT_TIMEOUT,
    MIN_FREE_BYTES,
    Readiness,
    monitor_readiness,
)
from rosterd.server.storage.sqlite.database import SqliteDatabase


class FakeDatabase:
    """A database that responds or fails, a disk and a clock; records what is published."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.free_bytes: int | None = None
        self.disk_error: OSError | None = None
        self.published: list[bool] = []
        self.responds = True
        self.written = asyncio.Event()

    async def write(self, _work: Any) -> None:
        self.written.set()
        if not self.responds:
            raise Unavailable

    def disk_space(self) -> int | None:
        if self.disk_error:
            raise self.disk_error
        return self.free_bytes

    async def set_serving(self, *, serving: bool) -> None:
        self.published.append(serving)

    async def heartbeat(self, readiness: Readiness) -> None:
        """Sends one heartbeat."""
        self.written.clear()
        sending = asyncio.create_task(readiness.send_heartbeats())
        await self.written.wait()
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


def published_by(
    body: Callable[[FakeDatabase, Readiness], Awaitable[None]],
    heartbeat_timeout: float = HEARTBEAT_TIMEOUT,
) -> list[bool]:
    """Runs the body of a test and returns what was published."""

    async def main() -> list[bool]:
        database: Any = FakeDatabase()
        readiness = Readiness(
            database,
            database.disk_space,
            database.set_serving,
            clock=lambda: database.now,
            heartbeat_timeout=heartbeat_timeout,
        )
        await body(database, readiness)
        return list(database.published)

    return asyncio.run(main())


def test_process_is_ready_while_there_are_heartbeats() -> None:
    async def body(database: FakeDatabase, readiness: Readiness) -> None:
        await database.heartbeat(readiness)
        await readiness.check()
        database.now += HEARTBEAT_TIMEOUT
        await readiness.check()

    assert published_by(body) == [True]


def test_process_is_not_ready_until_the_next_heartbeat(caplog: pytest.LogCaptureFixture) -> None:
    async def body(database: FakeDatabase, readiness: Readiness) -> None:
        await database.heartbeat(readiness)
        await readiness.check()
        database.responds = False
        database.now += HEARTBEAT_TIMEOUT + 0.1
        await database.heartbeat(readiness)
        await readiness.check()
        await readiness.check()
        database.responds = True
        await database.heartbeat(readiness)
        await readiness.check()

    assert published_by(body) == [True, False, True]
    logged = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert logged == ["not ready: the database has not responded for 2 seconds", "ready again"]


def test_process_is_not_ready_while_its_disk_is_nearly_full() -> None:
    async def body(database: FakeDatabase, readiness: Readiness) -> None:
        await database.heartbeat(readiness)
        for free_bytes in (MIN_FREE_BYTES, MIN_FREE_BYTES - 1, MIN_FREE_BYTES):
            database.free_bytes = free_bytes
            await readiness.check()

    assert published_by(body) == [True, False, True]


def test_process_is_not_ready_while_its_disk_cannot_be_read() -> None:
    async def body(database: FakeDatabase, readiness: Readiness) -> None:
        await database.heartbeat(readiness)
        for error in (None, OSError("Input/output error"), None):
            database.disk_error = error
            await readiness.check()

    assert published_by(body) == [True, False, True]


def test_process_without_a_first_heartbeat_is_not_ready() -> None:
    async def body(_database: FakeDatabase, readiness: Readiness) -> None:
        await readiness.first_check()

    assert published_by(body, heartbeat_timeout=0.01) == [False]


async def opened(path: Path) -> SqliteDatabase:
    database = SqliteDatabase(path)
    await database.open()
    return database


def test_database_with_a_failed_commit_makes_the_process_unready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[bool] = []
    unready = asyncio.Event()

    async def set_serving(*, serving: bool) -> None:
        published.append(serving)
        if not serving:
            unready.set()

    async def main() -> None:
        database = await opened(tmp_path / "roster.db")
        async with monitor_readiness(
            database, tmp_path, set_serving, heartbeat_timeout=0.05, interval=0.01
        ):
            assert published == [True]
            monkeypatch.setattr(database, "_failed", True)
            await asyncio.wait_for(unready.wait(), 10)
        await database.close()

    asyncio.run(main())
    assert published == [True, False, False]


def test_heartbeat_writes_nothing(tmp_path: Path) -> None:
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
