"""Tests scheduled backups: when they are created and deleted, failures and cancellation."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from rosterd.server.maintenance import backups
from rosterd.server.maintenance.backups import BackupSchedule
from rosterd.server.serving.console import ExitCode
from rosterd.server.storage.backups import verify
from rosterd.server.storage.backups.create import back_up
from rosterd.server.storage.database import StorageError

from ..cli.commands import FREE, error_line, roster
from ..components import wait_until
from ..processes import start

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return int(self.now.timestamp() * 1000)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def schedule(tmp_path: Path, clock: Clock, empty_file: Path) -> BackupSchedule:
    """Backups of a new database into an empty folder."""
    shutil.copy(empty_file, tmp_path)
    (tmp_path / "backups").mkdir()
    return BackupSchedule(tmp_path / "roster.db", tmp_path / "backups", clock)


def names(schedule: BackupSchedule) -> list[str]:
    return sorted(path.name for path in schedule.folder.iterdir())


def run(schedule: BackupSchedule) -> int:
    return asyncio.run(schedule.run())


def test_backups_are_created_hourly(schedule: BackupSchedule, clock: Clock) -> None:
    created, ages = [], []
    for _ in range(5):
        created.append(run(schedule))
        assert schedule.newest is not None
        ages.append(clock.now.timestamp() - schedule.newest)
        clock.now += timedelta(minutes=30)

    assert created == [1, 0, 1, 0, 1]
    assert ages == [0, 1800, 0, 1800, 0]
    assert names(schedule) == [f"roster-20261121T{hour}0000Z.db" for hour in (12, 13, 14)]


def test_old_backups_are_deleted_and_other_files_are_not(schedule: BackupSchedule) -> None:
    (schedule.folder / "roster.db").touch()
    for minute in range(60):
        (schedule.folder / f"roster-20251121T12{minute:02}00Z.db").touch()

    run(schedule)

    assert names(schedule) == [
        "roster-20251121T125900Z.db",
        "roster-20261121T120000Z.db",
        "roster.db",
    ]


def test_backups_of_a_clock_in_the_future_do_not_replace_others(
    schedule: BackupSchedule, clock: Clock
) -> None:
    for day in range(14, 21):
        (schedule.folder / f"roster-202611{day}T120000Z.db").touch()
    before = names(schedule)
    for hour in range(40):
        clock.now = NOON + timedelta(days=365, hours=hour)
        (schedule.folder / clock.now.strftime("roster-%Y%m%dT%H%M%SZ.db")).touch()
    clock.now = NOON

    for _ in range(2):
        run(schedule)
        clock.now += timedelta(hours=1)

    created = ["roster-20261121T120000Z.db", "roster-20261121T130000Z.db"]
    assert names(schedule)[:9] == [*before, *created]
    # The last of each of 24 hours, and of one more day.
    assert len(names(schedule)) == 9 + 25


def test_partial_file_of_a_killed_process_is_deleted(schedule: BackupSchedule) -> None:
    (schedule.folder / "roster-20261121T110000Z.db.part").write_bytes(b"partial")

    run(schedule)

    assert names(schedule) == ["roster-20261121T120000Z.db"]


def test_failed_backup_deletes_none_and_is_repeated(schedule: BackupSchedule, clock: Clock) -> None:
    for minute in range(30):
        (schedule.folder / f"roster-20251121T12{minute:02}00Z.db").touch()
    before = names(schedule)
    content = schedule.database.read_bytes()
    schedule.database.write_bytes(b"no database" * 1_000)

    with pytest.raises(StorageError):
        run(schedule)

    assert names(schedule) == before
    assert schedule.newest == datetime(2025, 11, 21, 12, 29, tzinfo=UTC).timestamp()
    schedule.database.write_bytes(content)
    clock.now += timedelta(minutes=1)
    assert run(schedule) == 1
    assert "roster-20261121T120100Z.db" in names(schedule)


def test_cancelled_backup_leaves_no_file(
    schedule: BackupSchedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "STEPS", 1)
    started, files_after = asyncio.Event(), []

    async def main() -> None:
        loop, real = asyncio.get_running_loop(), back_up

        def endless(database: Path, file: Path, report_progress: Any) -> object:
            def report_forever(*progress: object) -> None:
                loop.call_soon_threadsafe(started.set)
                while True:
                    report_progress(*progress)

            try:
                return real(database, file, report_forever)
            finally:
                files_after.append(names(schedule))

        monkeypatch.setattr(backups, "back_up", endless)
        task = asyncio.create_task(schedule.run())
        await asyncio.wait_for(started.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert files_after == [[]]


@pytest.mark.parametrize(
    ("url", "folder", "reason"),
    [
        ("sqlite:///{}/roster.db", "missing", "must be an existing folder"),
        ("postgresql://u:hush@h/x", ".", "pg_dump"),
    ],
    ids=["no folder", "postgres"],
)
def test_invalid_backup_settings_are_rejected(
    tmp_path: Path, url: str, folder: str, reason: str
) -> None:
    settings = {"ROSTER_DATABASE_URL": url.format(tmp_path), **FREE}

    done = roster("serve", ROSTER_BACKUP_FOLDER=str(tmp_path / folder), **settings)

    line = error_line(done, ExitCode.USAGE)
    assert "ROSTER_BACKUP_FOLDER" in line
    assert reason in line
    assert "hush" not in line


# Checks at once whether a backup is due, not after a minute.
SOON = """
from rosterd.server.cli import main
from rosterd.server.maintenance import tasks
tasks.CHECK_INTERVAL = 0.1
main()
"""


def test_service_creates_backups_and_exits_with_0(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    service = start(tmp_path, code=SOON, ROSTER_BACKUP_FOLDER=str(folder))
    try:
        wait_until(lambda: any(folder.glob("roster-*Z.db")), "no backup was made")
    finally:
        assert service.stop() == 0
    (backup,) = folder.iterdir()
    with closing(apsw.Connection(str(backup))) as connection:
        assert connection.execute("SELECT count(*) FROM account").fetchall() == [(1,)]
