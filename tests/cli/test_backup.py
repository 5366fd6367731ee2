"""Tests of `roster backup` and `roster restore`."""

from __future__ import annotations

import json
import shutil
import signal
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from rosterd.server.features.accounts import store
from rosterd.server.security.encryption import make_key, parse_key
from rosterd.server.serving.console import ExitCode
from rosterd.server.serving.secret_key import DataKeys, encrypt_keys, key_file
from rosterd.server.storage.backups.create import back_up
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.installation import save_keys

from ..processes import Service, environment, limited, run_command
from .commands import FREE, accounts, error_line, in_new_process, json_output, roster

TIMEOUT = 60.0


@pytest.fixture
def path(tmp_path: Path, empty_file: Path) -> Path:
    """A database with an account and a key file."""
    path = Path(shutil.copy(empty_file, tmp_path))
    (tmp_path / "roster.db.lock").touch()
    key = make_key()
    path.with_name("roster.db.key").write_text(key)
    add(path, "first@example.com")
    with unit_of_work(f"sqlite:///{path}") as tx:
        save_keys(encrypt_keys(parse_key(key) or b"", DataKeys(bytes(32))), tx)
    return path


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def file(path: Path, tmp_path: Path) -> Path:
    """A backup of the database."""
    file = tmp_path / "backups" / "one.db"
    file.parent.mkdir()
    back_up(path, file, lambda *_: None)
    return file


def add(path: Path, email: str) -> None:
    with unit_of_work(f"sqlite:///{path}") as tx:
        store.create_account(email, tx, verified=True)


def names(folder: Path) -> set[str]:
    return {item.name for item in folder.iterdir()}


# Backup


def test_backup_of_a_served_database_is_one_file_for_its_owner_only(
    service: Service, tmp_path: Path
) -> None:
    file = tmp_path / "one.db"

    result = json_output(service.database_url, "backup", str(file))

    assert names(tmp_path) == {"one.db"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(result) == {"file", "bytes", "createdAt", "keyFingerprint"}
    assert (result["file"], result["bytes"]) == (str(file), file.stat().st_size)
    assert accounts(file) == accounts(service.database)


def test_backup_reports_that_it_does_not_contain_the_key(path: Path, url: str) -> None:
    done = roster("backup", str(path.parent / "one"), ROSTER_DATABASE_URL=url)

    assert done.returncode == 0
    assert "does not contain the secret key" in done.stdout
    assert f"{path}.key" in done.stdout
    key = path.with_name("roster.db.key").read_bytes()
    assert key not in (path.parent / "one").read_bytes()


def test_existing_file_is_replaced_only_with_the_flag(url: str, path: Path, file: Path) -> None:
    before = file.read_bytes()
    add(path, "second@example.com")

    done = roster("backup", str(file), ROSTER_DATABASE_URL=url)

    assert "--replace" in error_line(done, ExitCode.USAGE)
    assert file.read_bytes() == before
    json_output(url, "backup", str(file), "--replace")
    assert accounts(file) == ["first@example.com", "second@example.com"]


@pytest.mark.parametrize("name", ["missing/one.db", "folder", "roster.db-wal"])
def test_file_that_cannot_be_written_is_rejected(url: str, path: Path, name: str) -> None:
    (path.parent / "folder").mkdir()
    before = names(path.parent)

    done = roster("backup", str(path.parent / name), "--replace", ROSTER_DATABASE_URL=url)

    assert name.partition("/")[0] in error_line(done, ExitCode.USAGE)
    assert names(path.parent) == before


def test_backup_of_a_missing_database_creates_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/roster.db"

    done = roster("backup", str(tmp_path / "one.db"), ROSTER_DATABASE_URL=url)

    assert "There is no database" in error_line(done, ExitCode.DATABASE)
    assert names(tmp_path) == set()


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_postgres_is_rejected_without_printing_the_password(command: str) -> None:
    url = "postgresql://roster:hush@db.internal/roster"

    line = error_line(roster(command, "one.db", ROSTER_DATABASE_URL=url), ExitCode.DATABASE)

    assert "pg_" in line
    assert "hush" not in line


def test_full_disk_leaves_no_partial_backup(url: str, path: Path) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))"
    code += "\nfrom rosterd.server.cli import main; main()"

    done = in_new_process("backup", str(path.parent / "one"), code=code, ROSTER_DATABASE_URL=url)

    assert "cannot be written" in error_line(done, ExitCode.INCOMPLETE)
    assert not [name for name in names(path.parent) if name.startswith("one")]


@pytest.mark.parametrize(
    ("command", "number"), [("backup", signal.SIGINT), ("restore", signal.SIGTERM)]
)
def test_interrupted_command_changes_nothing(
    url: str, path: Path, file: Path, memory: Path, command: str, number: signal.Signals
) -> None:
    add(path, "second@example.com")
    before = names(path.parent) | names(file.parent)
    target = path.parent / "two" if command == "backup" else file
    # The command waits for the signal at its first progress report.
    code = """
import time, rosterd.server.storage.backups.verify as verify
from rosterd.server.cli import main
from rosterd.server.cli.common.progress import ByteProgress
verify.STEPS = 1
ByteProgress.show = lambda *_: (print("started", flush=True), time.sleep(60))
main()
"""

    log, env = memory / f"{command}.log", environment(ROSTER_DATABASE_URL=url)
    process = run_command(command, str(target), log=log, env=env, code=code)
    assert process.stdout is not None
    with process.stdout, limited(process):
        assert process.stdout.readline() == "started\n"
        process.send_signal(number)
        assert process.wait(timeout=TIMEOUT) == ExitCode.INTERRUPTED

    assert log.read_text().startswith("roster: Interrupted.")
    left = names(path.parent) | names(file.parent)
    assert left - {"roster.db-wal", "roster.db-shm"} == before
    assert accounts(path) == ["first@example.com", "second@example.com"]


# Verification


@pytest.fixture
def newest(file: Path) -> Path:
    """The newer of two backups in a folder."""
    older = file.rename(file.with_name("roster-20260101T000000Z.db"))
    newest = older.with_name("roster-20260102T000000Z.db")
    newest.write_bytes(older.read_bytes())
    older.write_text("not a database")
    return newest


def verify(url: str, folder: Path, *arguments: str) -> Any:
    settings = {"ROSTER_DATABASE_URL": url, "ROSTER_BACKUP_FOLDER": str(folder)}
    return roster("backup", "--verify", *arguments, **settings)


def test_newest_backup_is_restored_elsewhere_and_checked(
    url: str, path: Path, newest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = path.parent / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = names(path.parent)

    done = verify(url, newest.parent)
    report = json.loads(verify(url, newest.parent, "--json").stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Restored {newest} to a temporary folder: ")
    assert "0 differences." in done.stdout
    assert (report["file"], report["bytes"]) == (str(newest), newest.stat().st_size)
    assert (report["accounts"], report["hasKey"], report["findings"]) == (1, True, [])
    assert report["ageSeconds"] > 0 < report["rows"]
    assert names(path.parent) == before
    assert names(temporary) == set()


def test_backup_with_differences_fails_the_verification(url: str, newest: Path) -> None:
    with closing(apsw.Connection(str(newest))) as connection:
        connection.execute("INSERT INTO statistic SELECT id, 0, 'status:1', 1 FROM account")

    done = verify(url, newest.parent)

    assert done.returncode == 1
    assert "UNCONFIRMED is 1, expected 0" in done.stdout


@pytest.mark.parametrize("content", [b"", b"not a database" * 1000], ids=["empty", "damaged"])
def test_backup_that_cannot_be_restored_fails_the_verification(
    url: str, newest: Path, content: bytes
) -> None:
    newest.write_bytes(content)

    assert newest.name in error_line(verify(url, newest.parent), ExitCode.DATABASE)


def test_verification_without_a_backup_fails(url: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert "no backup" in error_line(verify(url, tmp_path / "empty"), ExitCode.NOT_FOUND)
    assert "--backup-folder" in error_line(roster("backup", "--verify"), ExitCode.USAGE)
    missing = str(tmp_path / "missing.db")
    assert missing in error_line(verify(url, tmp_path, missing), ExitCode.NOT_FOUND)


# Restore


def test_restore_can_be_undone_with_the_printed_command(url: str, path: Path, file: Path) -> None:
    add(path, "second@example.com")

    done = roster("restore", str(file), ROSTER_DATABASE_URL=url)

    assert (done.returncode, done.stderr) == (0, "")
    assert accounts(path) == ["first@example.com"]
    (hint,) = [line for line in done.stdout.splitlines() if "roster restore " in line]
    replaced = hint.partition("roster restore ")[2]
    assert accounts(Path(replaced)) == ["first@example.com", "second@example.com"]
    roster("restore", replaced, ROSTER_DATABASE_URL=url)
    assert accounts(path) == ["first@example.com", "second@example.com"]


def test_restored_file_keeps_its_mode(url: str, path: Path, file: Path) -> None:
    path.chmod(0o640)

    json_output(url, "restore", str(file))

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_restore_replaces_the_target_of_a_link(path: Path, file: Path, tmp_path: Path) -> None:
    link = tmp_path / "links" / "roster.db"
    link.parent.mkdir()
    link.symlink_to(path)
    key_file(link).write_text(key_file(path).read_text())
    add(path, "second@example.com")

    done = json_output(f"sqlite:///{link}", "restore", str(file))

    assert link.is_symlink()
    assert accounts(path) == accounts(link) == ["first@example.com"]
    assert Path(done["kept"]).parent == path.parent
    assert accounts(Path(done["kept"])) == ["first@example.com", "second@example.com"]


def test_served_database_is_not_restored(service: Service, file: Path) -> None:
    before = accounts(service.database)

    done = roster("restore", str(file), ROSTER_DATABASE_URL=service.database_url)

    assert f"process {service.process.pid}" in error_line(done, ExitCode.DATABASE)
    assert accounts(service.database) == before


def test_database_in_use_is_not_restored(url: str, path: Path, file: Path) -> None:
    add(path, "second@example.com")
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN; SELECT * FROM account")

        done = roster("restore", str(file), ROSTER_DATABASE_URL=url)

    assert "in use" in error_line(done, ExitCode.DATABASE)
    assert accounts(path) == ["first@example.com", "second@example.com"]


@pytest.mark.parametrize(
    ("name", "code"), [("missing.db", ExitCode.NOT_FOUND), ("roster.db", ExitCode.USAGE)]
)
def test_missing_file_or_the_database_itself_is_rejected(
    url: str, path: Path, name: str, code: ExitCode
) -> None:
    done = roster("restore", str(path.parent / name), ROSTER_DATABASE_URL=url)

    assert name in error_line(done, code)


@pytest.mark.parametrize("source", ["file", "setting"])
def test_backup_with_another_secret_key_is_rejected(
    url: str, path: Path, file: Path, source: str
) -> None:
    settings = {"ROSTER_DATABASE_URL": url}
    if source == "file":
        path.with_name("roster.db.key").write_text(make_key())
    else:
        settings["ROSTER_SECRET_KEY"] = make_key()

    line = error_line(roster("restore", str(file), **settings), ExitCode.DATABASE)

    assert "another secret key" in line
    assert (f"{path}.key" if source == "file" else "ROSTER_SECRET_KEY") in line


def test_restore_reports_the_path_of_a_missing_key(file: Path, tmp_path: Path) -> None:
    new = tmp_path / "elsewhere" / "roster.db"
    url = f"sqlite:///{new}"

    done = roster("restore", str(file), ROSTER_DATABASE_URL=url)

    assert done.returncode == 0
    assert f"{new}.key" in done.stdout
    rejected = roster("serve", ROSTER_DATABASE_URL=url, **FREE)
    assert f"{new}.key" in error_line(rejected, ExitCode.DATABASE)
    assert accounts(new) == ["first@example.com"]


def test_damaged_database_is_preserved_with_its_write_ahead_log(
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
    (replaced,) = path.parent.glob("roster.db.replaced-*Z")
    assert replaced.read_bytes() == b"no database" * 1_000
    assert replaced.with_name(f"{replaced.name}-wal").read_bytes() == log
    assert accounts(path) == ["first@example.com"]


def test_write_ahead_log_without_a_database_is_not_applied(
    url: str, path: Path, file: Path
) -> None:
    with closing(apsw.Connection(str(path))) as other:
        other.execute("DELETE FROM account")
        log = path.with_name("roster.db-wal").read_bytes()
    path.unlink()
    path.with_name("roster.db-wal").write_bytes(log)

    done: Any = json_output(url, "restore", str(file))

    assert done["kept"] is None
    assert accounts(path) == ["first@example.com"]
