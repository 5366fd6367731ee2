"""Backups without the command line: partial files, crashes during a restore, and retention."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from rosterd.server.features.accounts import store
from rosterd.server.storage.backups import create
from rosterd.server.storage.backups.atomic_file import BackupWriteError, replace_atomically
from rosterd.server.storage.backups.create import back_up
from rosterd.server.storage.backups.restore import restore
from rosterd.server.storage.backups.retention import expired
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.databases import unit_of_work

from ..cli.commands import in_new_process

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def path(tmp_path: Path, empty_file: Path) -> Path:
    path = Path(shutil.copy(empty_file, tmp_path))
    (tmp_path / "roster.db.lock").touch()
    add(path, "first@example.com")
    return path


def add(path: Path, email: str) -> None:
    with unit_of_work(f"sqlite:///{path}") as tx:
        store.create_account(email, tx, verified=True)


def accounts(path: Path) -> list[str]:
    """Checks the integrity of the database and returns its accounts."""
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [str(email) for (email,) in connection.execute("SELECT email FROM account")]


def back_up_silently(_what: str, _done: int, _total: int) -> None: ...


def test_backup_excludes_writes_after_its_start(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rosterd.server.storage.backups.verify.STEPS", 1)
    phases: list[str] = []

    def report_progress(phase: str, done: int, _total: int) -> None:
        # At this point, the snapshot exists and is partly written.
        if done and not phases:
            add(path, "second@example.com")
        phases.extend([phase] * bool(done))

    back_up(path, tmp_path / "one", report_progress)

    assert set(phases) == {create.COPYING, create.CHECKING}
    assert accounts(tmp_path / "one") == ["first@example.com"]
    assert accounts(path) == ["first@example.com", "second@example.com"]


def test_failed_backup_of_a_damaged_database_keeps_the_previous_backup(
    path: Path, tmp_path: Path
) -> None:
    back_up(path, tmp_path / "one", back_up_silently)
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("INSERT INTO subscriber_tag VALUES ('missing', 'missing', 'missing')")

    with pytest.raises(StorageError, match=f"{path} is damaged"):
        back_up(path, tmp_path / "one", back_up_silently)

    assert accounts(tmp_path / "one") == ["first@example.com"]
    assert not (tmp_path / "one.part").exists()


def test_backup_without_enough_disk_space_is_not_started(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("", (), {"free": path.stat().st_size - 1})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    with pytest.raises(BackupWriteError, match="Not enough space"):
        back_up(path, tmp_path / "one", back_up_silently)


def test_partial_file_of_a_killed_process_is_replaced_and_a_locked_one_is_not(
    path: Path, tmp_path: Path
) -> None:
    (tmp_path / "one.part").write_bytes(b"half a backup" * 100_000)

    with replace_atomically(tmp_path / "one") as part:
        assert part.size == 0
        with pytest.raises(BackupWriteError, match="another process"):
            back_up(path, tmp_path / "one", back_up_silently)
        part.path.write_text("whole")

    assert (tmp_path / "one").read_text() == "whole"
    back_up(path, tmp_path / "one", back_up_silently)
    assert accounts(tmp_path / "one") == ["first@example.com"]


# Repeats the restore from the same files. The process is killed before step 1, then before step 2,
# and so on, until one restore completes.
CRASHES = """
import os, shutil, sys
from itertools import count
from pathlib import Path
from rosterd.server.storage.backups.restore import restore

def crashing(name):
    real = getattr(os, name)
    def call(*arguments, **named):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return real(*arguments, **named)
    setattr(os, name, call)

before, folders = map(Path, sys.argv[1:])
for left in count():
    folder = folders / f"{left:03}"
    shutil.copytree(before, folder)
    child = os.fork()
    if child == 0:
        for name in ("open", "link", "rename", "replace", "fsync", "ftruncate", "fchmod"):
            crashing(name)
        restore(folder / "one", folder / "roster.db", lambda _: None, lambda *_: None)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


def test_killed_restore_leaves_the_old_or_the_new_database(path: Path, tmp_path: Path) -> None:
    before, folders = tmp_path / "before", tmp_path / "folders"
    before.mkdir()
    folders.mkdir()
    back_up(path, before / "one", back_up_silently)
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("UPDATE account SET email = 'without its log'")
        connection.execute("PRAGMA wal_checkpoint(truncate)")
        connection.execute("UPDATE account SET email = 'second@example.com'")
        # The state after a process is killed: the last change is only in the log.
        for name in ("roster.db", "roster.db-wal"):
            shutil.copy(tmp_path / name, before)

    assert in_new_process(str(before), str(folders), code=CRASHES).returncode == 0

    old, new = ["second@example.com"], ["first@example.com"]
    found = []
    for folder in sorted(folders.iterdir()):
        found.append(accounts(folder / "roster.db"))
        for replaced in folder.glob("*.replaced-*Z"):
            assert accounts(replaced) == old
    assert len(found) > 10
    assert found == [old] * found.count(old) + [new] * found.count(new)
    assert 0 < found.count(new) < found.count(old)


NULL_WHERE_NONE_MAY_BE = """
INSERT INTO subscriber
(account_id, id, email, email_key, first_name, last_name, status, created_at)
VALUES ('a', 'a', 'a', 'a', '', '', 1, 1);
PRAGMA writable_schema = on;
UPDATE sqlite_schema SET sql = replace(sql, '"name_key" TEXT', '"name_key" TEXT NOT NULL')
WHERE name = 'subscriber'
"""


def damage(file: Path, change: str) -> None:
    if change == "text":
        file.write_text("no database\n" * 1_000)
    elif change == "cut off":
        os.truncate(file, file.stat().st_size // 2)
    elif change == "overwritten":
        with file.open("r+b") as open_file:
            open_file.seek(4096)
            open_file.write(os.urandom(file.stat().st_size - 4096))
    else:
        with closing(apsw.Connection(str(file))) as connection:
            connection.execute(change)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("text", "one is damaged"),
        ("cut off", "one is damaged"),
        ("overwritten", "one is damaged"),
        (NULL_WHERE_NONE_MAY_BE, "one is damaged"),
        ("INSERT INTO subscriber_tag VALUES ('missing', 'missing', 'missing')", "one is damaged"),
        ("DROP TABLE schema_migration", "one is not a Roster database"),
        ("UPDATE schema_version SET minimum_version = 9999", "schema version 9999"),
        (
            "INSERT INTO installation VALUES ('unfinished_copy_of', 'x')",
            "one is an unfinished copy",
        ),
    ],
    ids=["text", "cut off", "overwritten", "null", "orphan", "foreign", "newer", "unfinished"],
)
def test_incomplete_backup_is_rejected_without_changes(
    path: Path, tmp_path: Path, change: str, why: str
) -> None:
    back_up(path, tmp_path / "one", back_up_silently)
    add(path, "second@example.com")
    damage(tmp_path / "one", change)
    before = {item.name for item in tmp_path.iterdir()}

    with pytest.raises(StorageError, match=why):
        restore(tmp_path / "one", path, lambda _: None, back_up_silently)

    assert accounts(path) == ["first@example.com", "second@example.com"]
    assert {item.name for item in tmp_path.iterdir()} <= before | {"one-wal", "one-shm"}


def retained(moments: list[datetime]) -> list[datetime]:
    return sorted(set(moments) - expired(moments, max(moments)))


def test_retention_keeps_the_last_backup_of_each_of_24_hours_and_7_days() -> None:
    moments = [NOON - n * timedelta(minutes=20) for n in range(3 * 24 * 30)]

    remaining = retained(moments)

    hours = [NOON, *(NOON - n * HOUR - timedelta(minutes=20) for n in range(23))]
    midnight = NOON.replace(hour=0)
    days = [NOON, *(midnight - n * DAY - timedelta(minutes=20) for n in range(6))]
    assert remaining == sorted({*hours, *days})
