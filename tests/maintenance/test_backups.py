"""Backups on a schedule: when they are made, which stay, and what a failure or a stop leaves."""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from server.console import ExitCode
from server.maintenance import backups
from server.maintenance.backups import Schedule
from server.storage.backups import verify
from server.storage.database import StorageError
from server.storage.databases import unit_of_work

from ..cli.test_commands import FREE, complaint, roster
from ..parts import wait_until
from ..processes import start

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Times:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return int(self.now.timestamp() * 1000)


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def schedule(tmp_path: Path, times: Times) -> Schedule:
    """Of a database of the current schema, into an empty folder."""
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db"):
        pass
    (tmp_path / "backups").mkdir()
    return Schedule(tmp_path / "roster.db", tmp_path / "backups", times)


def names(schedule: Schedule) -> list[str]:
    return sorted(path.name for path in schedule.folder.iterdir())


def done(schedule: Schedule) -> int:
    return asyncio.run(schedule.round())


def test_backups_are_made_an_hour_apart(schedule: Schedule, times: Times) -> None:
    made = []
    for _ in range(5):
        made.append(done(schedule))
        times.now += timedelta(minutes=30)

    assert made == [1, 0, 1, 0, 1]
    assert names(schedule) == [f"roster-20261121T{hour}0000Z.db" for hour in (12, 13, 14)]


def test_those_that_need_not_be_kept_go_and_what_is_not_ours_stays(
    schedule: Schedule, times: Times
) -> None:
    (schedule.folder / "roster.db").touch()
    for minute in range(60):
        (schedule.folder / f"roster-20251121T12{minute:02}00Z.db").touch()

    done(schedule)

    assert names(schedule) == [
        "roster-20251121T125900Z.db",
        "roster-20261121T120000Z.db",
        "roster.db",
    ]


def test_half_made_backup_of_a_killed_process_goes(schedule: Schedule) -> None:
    (schedule.folder / "roster-20261121T110000Z.db.part").write_bytes(b"half")

    done(schedule)

    assert names(schedule) == ["roster-20261121T120000Z.db"]


def test_backup_that_fails_takes_none_away_and_is_made_the_next_time(
    schedule: Schedule, times: Times
) -> None:
    for minute in range(30):
        (schedule.folder / f"roster-20251121T12{minute:02}00Z.db").touch()
    before = names(schedule)
    content = schedule.database.read_bytes()
    schedule.database.write_bytes(b"no database" * 1_000)

    with pytest.raises(StorageError):
        done(schedule)

    assert names(schedule) == before
    schedule.database.write_bytes(content)
    times.now += timedelta(minutes=1)
    assert done(schedule) == 1
    assert "roster-20261121T120100Z.db" in names(schedule)


def test_folder_that_is_gone_is_a_failure(schedule: Schedule) -> None:
    schedule.folder.rmdir()

    with pytest.raises(OSError, match="backups"):
        done(schedule)


def test_round_that_is_cancelled_breaks_off_and_leaves_nothing(
    schedule: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "STEPS", 1)
    begun, ended = asyncio.Event(), []

    async def story() -> None:
        loop, real = asyncio.get_running_loop(), backups.back_up

        def slowly(database: Path, file: Path, tell: object) -> object:
            def waiting(*told: object) -> None:
                loop.call_soon_threadsafe(begun.set)
                while True:
                    tell(*told)  # type: ignore[operator]

            try:
                return real(database, file, waiting)
            finally:
                ended.append(names(schedule))

        monkeypatch.setattr(backups, "back_up", slowly)
        task = asyncio.create_task(schedule.round())
        await asyncio.wait_for(begun.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())

    assert ended == [[]]


# Through the command line


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("sqlite:///{}/roster.db", "must be an existing folder"),
        ("postgresql://u:hush@h/x", "pg_dump"),
    ],
    ids=["no folder", "postgres"],
)
def test_schedule_that_cannot_be_kept_is_refused(tmp_path: Path, url: str, why: str) -> None:
    settings = {"ROSTER_DATABASE_URL": url.format(tmp_path), **FREE}

    done = roster("serve", ROSTER_BACKUP_FOLDER=str(tmp_path / "missing"), **settings)

    line = complaint(done, ExitCode.USAGE)
    assert "ROSTER_BACKUP_FOLDER" in line
    assert why in line
    assert "hush" not in line


# Looks at once whether a backup is due, and not after a minute.
SOON = """
import sys
from server.cli import main
from server.maintenance import tasks as upkeep
upkeep.LOOK_INTERVAL = 0.1
sys.argv = ["roster", "serve"]
main()
"""


def test_service_makes_the_first_one_and_ends_with_0(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    service = start(tmp_path, under=[sys.executable, "-c", SOON], ROSTER_BACKUP_FOLDER=str(folder))
    try:
        wait_until(lambda: any(folder.glob("roster-*Z.db")), "no backup was made")
    finally:
        assert service.stop() == 0
    (made,) = folder.iterdir()
    with closing(apsw.Connection(str(made))) as connection:
        assert connection.execute("SELECT count(*) FROM account").fetchall() == [(1,)]
