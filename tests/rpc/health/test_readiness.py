"""Tests how the database and the disk determine the readiness of a process."""

from __future__ import annotations

import asyncio
import logging
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


class Process:
    """A database that responds or fails, a disk and a clock; records what is published."""

    def __init__(self, heartbeat_timeout: float = HEARTBEAT_TIMEOUT) -> None:
        self.now = 1_000.0
        self.free: int | OSError | None = None
        self.published: list[bool] = []
        self.responds = True
        self._written = asyncio.Event()
        database: Any = self
        self.readiness = Readiness(
            database,
            self._free_bytes,
            self._set_serving,
            clock=lambda: self.now,
            heartbeat_timeout=heartbeat_timeout,
        )

    async def write(self, _work: Any) -> None:
        self._written.set()
        if not self.responds:
            raise Unavailable

    def _free_bytes(self) -> int | None:
        if isinstance(self.free, OSError):
            raise self.free
        return self.free

    async def _set_serving(self, *, serving: bool) -> None:
        self.published.append(serving)

    async def heartbeat(self) -> None:
        """Sends one heartbeat, and checks the readiness."""
        self._written.clear()
        sending = asyncio.create_task(self.readiness.send_heartbeats())
        await self._written.wait()
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending
        await self.readiness.check()


async def test_process_is_not_ready_from_a_missing_heartbeat_until_the_next_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = Process()
    await process.heartbeat()
    process.now += HEARTBEAT_TIMEOUT
    await process.readiness.check()
    assert process.published == [True]
    process.responds = False
    process.now += 0.1
    for _ in range(2):
        await process.heartbeat()
    process.responds = True
    await process.heartbeat()

    assert process.published == [True, False, True]
    logged = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert logged == ["not ready: the database has not responded for 2 seconds", "ready again"]


@pytest.mark.parametrize("problem", [MIN_FREE_BYTES - 1, OSError("Input/output error")], ids=type)
async def test_process_is_not_ready_while_its_disk_is_nearly_full_or_cannot_be_read(
    problem: int | OSError,
) -> None:
    process = Process()
    for free in (MIN_FREE_BYTES, problem, MIN_FREE_BYTES):
        process.free = free
        await process.heartbeat()

    assert process.published == [True, False, True]


async def test_database_with_a_failed_commit_makes_the_process_unready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[bool] = []
    unready = asyncio.Event()

    async def set_serving(*, serving: bool) -> None:
        published.append(serving)
        if not serving:
            unready.set()

    database = SqliteDatabase(tmp_path / "roster.db")
    await database.open()
    async with monitor_readiness(
        database, database.free_bytes, set_serving, heartbeat_timeout=1.0, interval=0.01
    ):
        assert published == [True]
        monkeypatch.setattr(database, "_failed", True)
        await unready.wait()
    await database.close()
    assert published == [True, False, False]


async def test_heartbeat_writes_nothing(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "roster.db")
    await database.open()
    log = tmp_path / "roster.db-wal"
    before = log.stat().st_size
    for _ in range(50):
        await database.write(lambda tx: tx.ping())

    assert log.stat().st_size == before
    await database.close()
