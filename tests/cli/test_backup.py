"""roster backup and roster restore: what they take, what they say, and what they leave."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from server.accounts import store
from server.console import ExitCode
from server.encryption import Encryption, make_key, parse_key
from server.storage.backups.create import back_up
from server.storage.databases import unit_of_work
from server.storage.installation import save_key_fingerprint

from ..processes import Service, environment, limited
from .commands import FREE, error_line, printed, roster

LONG = 60.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with an account, whose key is beside it."""
    path = tmp_path / "roster.db"
    key = make_key()
    path.with_name("roster.db.key").write_text(key)
    add(path, "first@example.com")
    with unit_of_work(f"sqlite:///{path}") as tx:
        save_key_fingerprint(Encryption(parse_key(key) or b"").fingerprint(), tx)
    return path


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def file(path: Path, tmp_path: Path) -> Path:
    """A backup of it."""
    file = tmp_path / "backups" / "one.db"
    file.parent.mkdir()
    back_up(path, file, lambda *_: None)
    return file


def add(path: Path, email: str) -> None:
    with unit_of_work(f"sqlite:///{path}") as tx:
        store.create_account(email, tx, verified=True)


def accounts(path: Path) -> list[str]:
    """Returns who has an account, as the database has it."""
    with closing(apsw.Connection(str(path))) as connection:
        return [str(email) for (email,) in connection.execute("SELECT email FROM account")]


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


# Backup


def test_backup_of_a_served_database_is_one_file_for_its_owner_alone(
    service: Service, tmp_path: Path
) -> None:
    file = tmp_path / "one.db"

    made = printed(service.database_url, "backup", str(file))

    assert names(tmp_path) == {"one.db"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(made) == {"file", "bytes", "takenAt", "keyFingerprint"}
    assert (made["file"], made["bytes"]) == (str(file), file.stat().st_size)
    assert accounts(file) == accounts(service.database)


def test_backup_says_that_the_key_is_not_in_it_and_where_it_is(path: Path, url: str) -> None:
    done = roster("backup", str(path.parent / "one"), ROSTER_DATABASE_URL=url)

    assert done.returncode == 0
    assert "does not contain the secret key" in done.stdout
    assert f"{path}.key" in done.stdout
    key = path.with_name("roster.db.key").read_bytes()
    assert key not in (path.parent / "one").read_bytes()


def test_file_that_is_there_is_replaced_only_when_that_is_asked_for(
    url: str, path: Path, file: Path
) -> None:
    before = file.read_bytes()
    add(path, "second@example.com")

    done = roster("backup", str(file), ROSTER_DATABASE_URL=url)

    assert "--replace" in error_line(done, ExitCode.USAGE)
    assert file.read_bytes() == before
    printed(url, "backup", str(file), "--replace")
    assert accounts(file) == ["first@example.com", "second@example.com"]


@pytest.mark.parametrize("name", ["missing/one.db", "folder", "roster.db-wal"])
def test_file_that_cannot_be_written_is_refused(url: str, path: Path, name: str) -> None:
    (path.parent / "folder").mkdir()
    before = names(path.parent)

    done = roster("backup", str(path.parent / name), "--replace", ROSTER_DATABASE_URL=url)

    assert name.partition("/")[0] in error_line(done, ExitCode.USAGE)
    assert names(path.parent) == before


def test_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/roster.db"

    done = roster("backup", str(tmp_path / "one.db"), ROSTER_DATABASE_URL=url)

    assert "There is no database" in error_line(done, ExitCode.DATABASE)
    assert names(tmp_path) == set()


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_postgres_is_left_to_its_own_programs_and_the_password_not_told(command: str) -> None:
    url = "postgresql://roster:hush@db.internal/roster"

    line = error_line(roster(command, "one.db", ROSTER_DATABASE_URL=url), ExitCode.DATABASE)

    assert "pg_" in line
    assert "hush" not in line


def test_disk_that_does_not_take_it_all_leaves_nothing_of_it(url: str, path: Path) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))"
    code += "\nfrom server.cli import main; main()"

    done = subprocess.run(
        [sys.executable, "-c", code, "backup", str(path.parent / "one")],
        env=environment(ROSTER_DATABASE_URL=url, COLUMNS="200"),
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert "cannot be written" in error_line(done, ExitCode.INCOMPLETE)
    assert not [name for name in names(path.parent) if name.startswith("one")]


@pytest.mark.parametrize(
    ("command", "number"), [("backup", signal.SIGINT), ("restore", signal.SIGTERM)]
)
def test_interrupted_command_leaves_everything_as_it_was(
    url: str, path: Path, file: Path, command: str, number: signal.Signals
) -> None:
    add(path, "second@example.com")
    before = names(path.parent) | names(file.parent)
    target = path.parent / "two" if command == "backup" else file
    # It stands still at its first look around, until the signal comes.
    code = "import time, server.storage.backups.verify as checking\nchecking.STEPS = 1"
    code += "\nfrom server.cli import main\nfrom server.cli.progress import ByteProgress"
    code += "\nshow = lambda *_: (print('begun', flush=True), time.sleep(60))"
    code += "\nByteProgress.show = show\nmain()"

    process = subprocess.Popen(
        [sys.executable, "-c", code, command, str(target)],
        env=environment(ROSTER_DATABASE_URL=url),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process, limited(process):
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        said = process.stderr.read()

    assert process.returncode == ExitCode.INTERRUPTED
    assert said.startswith("roster: Interrupted.")
    left = names(path.parent) | names(file.parent)
    assert left - {"roster.db-wal", "roster.db-shm"} == before
    assert accounts(path) == ["first@example.com", "second@example.com"]


# Restore


def test_restore_brings_back_the_backup_and_the_way_back_it_tells_works(
    url: str, path: Path, file: Path
) -> None:
    add(path, "second@example.com")

    done = roster("restore", str(file), ROSTER_DATABASE_URL=url)

    assert (done.returncode, done.stderr) == (0, "")
    assert accounts(path) == ["first@example.com"]
    (hint,) = [line for line in done.stdout.splitlines() if "roster restore " in line]
    kept = hint.partition("roster restore ")[2]
    assert accounts(Path(kept)) == ["first@example.com", "second@example.com"]
    roster("restore", kept, ROSTER_DATABASE_URL=url)
    assert accounts(path) == ["first@example.com", "second@example.com"]


def test_restore_tells_a_script_what_it_did(url: str, path: Path, file: Path) -> None:
    done = printed(url, "restore", str(file))

    assert set(done) == {"database", "bytes", "kept", "keyIsAtHand"}
    assert (done["database"], done["keyIsAtHand"]) == (str(path), True)
    assert accounts(Path(done["kept"])) == ["first@example.com"]


def test_restored_file_has_the_mode_of_the_one_before(url: str, path: Path, file: Path) -> None:
    path.chmod(0o640)

    printed(url, "restore", str(file))

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_database_that_is_served_is_not_restored(service: Service, file: Path) -> None:
    before = accounts(service.database)

    done = roster("restore", str(file), ROSTER_DATABASE_URL=service.database_url)

    assert f"process {service.process.pid}" in error_line(done, ExitCode.DATABASE)
    assert accounts(service.database) == before


def test_database_that_another_program_has_open_is_not_restored(
    url: str, path: Path, file: Path
) -> None:
    add(path, "second@example.com")
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN; SELECT * FROM account")

        done = roster("restore", str(file), ROSTER_DATABASE_URL=url)

    assert "in use" in error_line(done, ExitCode.DATABASE)
    assert accounts(path) == ["first@example.com", "second@example.com"]


@pytest.mark.parametrize("name", ["missing.db", "roster.db"])
def test_file_that_is_missing_or_the_database_itself_is_refused(
    url: str, path: Path, name: str
) -> None:
    done = roster("restore", str(path.parent / name), ROSTER_DATABASE_URL=url)

    assert name in error_line(done, ExitCode.USAGE)


@pytest.mark.parametrize("place", ["file", "setting"])
def test_backup_of_another_secret_key_is_refused(
    url: str, path: Path, file: Path, place: str
) -> None:
    settings = {"ROSTER_DATABASE_URL": url}
    if place == "file":
        path.with_name("roster.db.key").write_text(make_key())
    else:
        settings["ROSTER_SECRET_KEY"] = make_key()

    line = error_line(roster("restore", str(file), **settings), ExitCode.DATABASE)

    assert "another secret key" in line
    assert (f"{path}.key" if place == "file" else "ROSTER_SECRET_KEY") in line


def test_key_that_is_missing_is_told_and_the_place_for_it(
    url: str, path: Path, file: Path, tmp_path: Path
) -> None:
    new = tmp_path / "elsewhere" / "roster.db"
    url = f"sqlite:///{new}"

    done = roster("restore", str(file), ROSTER_DATABASE_URL=url)

    assert done.returncode == 0
    assert f"{new}.key" in done.stdout
    refused = roster("serve", ROSTER_DATABASE_URL=url, **FREE)
    assert f"{new}.key" in error_line(refused, ExitCode.DATABASE)
    assert accounts(new) == ["first@example.com"]


def test_damaged_database_is_kept_with_its_log_and_the_log_reaches_nothing_else(
    url: str, path: Path, file: Path
) -> None:
    with closing(apsw.Connection(str(path))) as other:
        other.execute("DELETE FROM account")
        log = path.with_name("roster.db-wal").read_bytes()
    path.write_bytes(b"no database" * 1_000)
    path.with_name("roster.db-wal").write_bytes(log)

    done = roster("restore", str(file), ROSTER_DATABASE_URL=url)

    assert done.returncode == 0
    assert "could not be read" in done.stdout
    (kept,) = path.parent.glob("roster.db.replaced-*Z")
    assert kept.read_bytes() == b"no database" * 1_000
    assert kept.with_name(f"{kept.name}-wal").read_bytes() == log
    assert accounts(path) == ["first@example.com"]


def test_log_without_its_database_reaches_nothing_else(url: str, path: Path, file: Path) -> None:
    with closing(apsw.Connection(str(path))) as other:
        other.execute("DELETE FROM account")
        log = path.with_name("roster.db-wal").read_bytes()
    path.unlink()
    path.with_name("roster.db-wal").write_bytes(log)

    done: Any = printed(url, "restore", str(file))

    assert done["kept"] is None
    assert accounts(path) == ["first@example.com"]
