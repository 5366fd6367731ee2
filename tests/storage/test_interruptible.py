"""Cancellation of long migrations."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import psycopg
import pytest

from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.interruptible import InterruptedBy, interruptible
from rosterd.server.storage.postgres.database import PostgresDatabase
from rosterd.server.storage.sqlite.database import SqliteDatabase

from ..components import wait_until
from ..postgres import Postgres

# Creates a table and a marker file, then runs for about a minute.
LONG_STATEMENT = """
from pathlib import Path
def up(migrator, db):
    db.execute_sql("CREATE TABLE half (id TEXT)")
    Path({sign!r}).touch()
    db.execute_sql({statement!r})
"""
COUNTS = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000000)
SELECT max(i) FROM n
"""
SLEEPS = "SELECT pg_sleep(60)"


@pytest.fixture
def slow_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a statement the only migration. Returns a file that exists once it runs."""

    def make(statement: str) -> Path:
        (folder := tmp_path / "migrations").mkdir()
        sign = tmp_path / "sign"
        text = LONG_STATEMENT.format(sign=str(sign), statement=statement)
        (folder / "0001_long.py").write_text(text)
        monkeypatch.setattr(migrations, "DIRECTORY", folder)
        return sign

    return make


async def cancel_during_migration(database: SqliteDatabase | PostgresDatabase, sign: Path) -> None:
    """Opens a database, and cancels the call while its migration runs."""
    opening = asyncio.create_task(database.open())
    await asyncio.to_thread(wait_until, sign.exists, "nothing is migrated")
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(opening, 20)


def test_cancelled_migration_of_a_file_leaves_no_changes(
    tmp_path: Path, slow_migration: Callable[[str], Path]
) -> None:
    path = tmp_path / "roster.db"
    sign = slow_migration(COUNTS)

    async def main() -> None:
        await cancel_during_migration(SqliteDatabase(path), sign)

    asyncio.run(main())

    with closing(apsw.Connection(str(path))) as connection:
        # The file is no longer locked.
        connection.execute("BEGIN IMMEDIATE")
        tables = list(connection.execute("SELECT name FROM sqlite_master WHERE name = 'half'"))
    assert tables == []


def test_cancelled_migration_of_a_server_leaves_no_changes(
    postgres: Postgres, slow_migration: Callable[[str], Path]
) -> None:
    url = postgres.new_database()
    sign = slow_migration(SLEEPS)

    async def main() -> None:
        await cancel_during_migration(PostgresDatabase(url, 2), sign)

    asyncio.run(main())

    with psycopg.connect(url) as connection:
        running = "SELECT FROM pg_stat_activity WHERE query = %s AND state = 'active'"
        assert connection.execute(running, (SLEEPS,)).fetchall() == []
        assert connection.execute("SELECT to_regclass('half')").fetchone() == (None,)


def test_interrupt_is_repeated_until_the_work_ends() -> None:
    async def main() -> None:
        begun, interrupted = asyncio.Event(), threading.Semaphore(0)
        loop = asyncio.get_running_loop()

        def work(interrupted_by: InterruptedBy) -> None:
            interrupted_by(interrupted.release)
            loop.call_soon_threadsafe(begun.set)
            interrupted.acquire(timeout=20)
            interrupted.acquire(timeout=20)
            raise RuntimeError

        task = asyncio.create_task(interruptible(work))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 20)

    asyncio.run(main())
