"""Migrations that take long, and whoever waits for them is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import psycopg
import pytest

from server.storage import migrate as migrations
from server.storage.interruptible import InterruptedBy, interruptible
from server.storage.postgres.database import PostgresDatabase
from server.storage.sqlite.database import SqliteDatabase

from ..parts import wait_until
from ..postgres import Postgres

# Makes a table and a sign that it did, and then takes a minute or so.
LONG = """
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
def migrating(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a statement the only migration, and returns where there is a sign once it runs."""

    def make(statement: str) -> Path:
        (folder := tmp_path / "migrations").mkdir()
        sign = tmp_path / "sign"
        text = LONG.format(sign=str(sign), statement=statement)
        (folder / "0001_long.py").write_text(text)
        monkeypatch.setattr(migrations, "DIRECTORY", folder)
        return sign

    return make


async def cancelled(database: SqliteDatabase | PostgresDatabase, sign: Path) -> None:
    """Opens a database until its migration runs, and no longer."""
    opening = asyncio.create_task(database.open())
    await asyncio.to_thread(wait_until, sign.exists, "nothing is migrated")
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(opening, 20)


def test_migration_of_a_file_that_is_given_up_leaves_nothing(
    tmp_path: Path, migrating: Callable[[str], Path]
) -> None:
    path = tmp_path / "roster.db"
    sign = migrating(COUNTS)

    async def main() -> None:
        await cancelled(SqliteDatabase(path), sign)

    asyncio.run(main())

    with closing(apsw.Connection(str(path))) as connection:
        # It is locked no more.
        connection.execute("BEGIN IMMEDIATE")
        tables = list(connection.execute("SELECT name FROM sqlite_master WHERE name = 'half'"))
    assert tables == []


def test_migration_of_a_server_that_is_given_up_leaves_nothing(
    postgres: Postgres, migrating: Callable[[str], Path]
) -> None:
    url = postgres.new_database()
    sign = migrating(SLEEPS)

    async def main() -> None:
        await cancelled(PostgresDatabase(url, 2), sign)

    asyncio.run(main())

    with psycopg.connect(url) as connection:
        running = "SELECT FROM pg_stat_activity WHERE query = %s AND state = 'active'"
        assert connection.execute(running, (SLEEPS,)).fetchall() == []
        assert connection.execute("SELECT to_regclass('half')").fetchone() == (None,)


def test_work_is_interrupted_again_where_there_was_nothing_to_interrupt() -> None:
    async def main() -> None:
        begun, asked = asyncio.Event(), threading.Semaphore(0)
        loop = asyncio.get_running_loop()

        def work(interrupted_by: InterruptedBy) -> None:
            interrupted_by(asked.release)
            loop.call_soon_threadsafe(begun.set)
            asked.acquire(timeout=20)
            asked.acquire(timeout=20)
            raise RuntimeError

        task = asyncio.create_task(interruptible(work))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 20)

    asyncio.run(main())
