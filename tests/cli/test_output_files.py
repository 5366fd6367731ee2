"""Output files of commands: which ones are replaced, and which ones are opened for writing."""

from __future__ import annotations

import gzip
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.features.accounts import store
from rosterd.server.serving.console import ExitCode
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.output_file import AtomicFile

from ..conftest import Account
from ..processes import environment, limited, run_command
from .commands import accounts, error_line, roster
from .interruption import interrupting
from .transfers import command, counts_of, people, total, transfer, write_ndjson

TIMEOUT = 60.0
INVALID = [{"email": "ada@example.com"}, {"email": "invalid"}]


class Reader:
    """Reads a FIFO in a thread, either completely (size -1) or not at all (size 0)."""

    def __init__(self, path: Path, size: int = -1) -> None:
        os.mkfifo(path)
        self._path, self._size = path, size
        self._read = b""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def read(self) -> bytes:
        """Returns all data once the writer has closed the FIFO."""
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive()
        return self._read

    def _run(self) -> None:
        with self._path.open("rb", buffering=0) as file:
            if self._size:
                self._read = file.readall()


def is_fifo(path: Path) -> bool:
    return stat.S_ISFIFO(path.lstat().st_mode)


def failed(table: str | bytes) -> list[str]:
    """Returns the addresses in a file of failed rows."""
    return [json.loads(line)["email"] for line in table.splitlines()]


def shell(account: Account, script: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in which "$ROSTER" is the program and "$URL" the service."""
    words, settings = command(account)
    program = f"{sys.executable} -m rosterd.server"
    return subprocess.run(
        ["bash", "-c", script],
        env={**settings, "ROSTER": program, "URL": words[-1]},
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT,
    )


# Failed rows


def test_failures_are_written_to_a_fifo(http_account: Account, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", INVALID)
    reader = Reader(tmp_path / "fifo")

    done = transfer(http_account, "import", file, "--failures", str(tmp_path / "fifo"))

    assert (done.returncode, done.stderr) == (1, "")
    assert failed(reader.read()) == ["invalid"]
    assert is_fifo(tmp_path / "fifo")
    assert sorted(os.listdir(tmp_path)) == ["fifo", "people.ndjson"]


def test_complete_import_reports_failures_that_cannot_be_written(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", INVALID)
    Reader(tmp_path / "fifo", size=0)

    done = transfer(http_account, "import", file, "--failures", str(tmp_path / "fifo"))

    assert done.returncode == ExitCode.ROWS_FAILED
    assert "2 rows: 1 created, 0 updated, 0 skipped, 1 failed." in done.stdout
    assert "listed in" not in done.stdout
    assert f"cannot be listed: {tmp_path}/fifo cannot be written" in done.stderr
    assert not (tmp_path / "people.ndjson.roster-import").exists()


@pytest.mark.parametrize("exists", [True, False], ids=["existing target", "no target"])
def test_target_of_a_symbolic_link_is_replaced(
    http_account: Account, tmp_path: Path, exists: bool
) -> None:
    file, real, link = (
        write_ndjson(tmp_path / "people.ndjson", INVALID),
        tmp_path / "real.csv",
        tmp_path / "l",
    )
    if exists:
        real.write_text("before")
        real.chmod(0o640)
    link.symlink_to("real.csv")

    done = transfer(http_account, "import", file, "--failures", str(link))

    assert done.returncode == 1
    assert link.is_symlink()
    assert failed(real.read_bytes()) == ["invalid"]
    assert not exists or stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["l", "people.ndjson", "real.csv"]


@pytest.mark.parametrize("name", ["-", pytest.param("/dev/fd/1", marks=pytest.mark.verify)])
def test_failures_on_standard_output_are_not_mixed_with_messages(
    http_account: Account, tmp_path: Path, name: str
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", INVALID)

    done = shell(http_account, f"$ROSTER import {file} --url $URL --failures {name}")

    assert done.returncode == 1
    assert failed(done.stdout) == ["invalid"]
    assert "2 rows: 1 created" in done.stderr


def test_failures_of_an_incomplete_import_are_in_a_partial_file(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", [{"email": "invalid"}, *people(3_000)])
    listed = tmp_path / "failures.csv"
    listed.write_text("before")
    flags = ("--stream", "--failures", str(listed))

    with interrupting(http_account.service.http, after=80_000) as proxy:
        first = transfer(http_account, "import", file, *flags, url=proxy.url)
        half = listed.read_text()
        second = transfer(http_account, "import", file, *flags, url=proxy.url)

    assert (first.returncode, half) == (8, "before")
    assert f"listed in {listed}.part" in first.stderr
    assert second.returncode == 1
    assert failed(listed.read_bytes()) == ["invalid"]
    assert sorted(os.listdir(tmp_path)) == ["failures.csv", "people.ndjson"]


def test_import_from_a_fifo_creates_no_files(http_account: Account) -> None:
    before = set(os.listdir())

    done = shell(http_account, "$ROSTER import --url $URL <(echo email; echo invalid)")

    assert (done.returncode, done.stderr) == (1, "")
    assert "1 row: 0 created, 0 updated, 0 skipped, 1 failed." in done.stdout
    assert set(os.listdir()) == before


class FailingService(BaseHTTPRequestHandler):
    """A service that ends its response with an error after the last result."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._respond(b'{"total": 0, "subscribers": []}')

    def do_POST(self) -> None:
        lines = 0
        while size := int(self.rfile.readline(), 16):
            lines += self.rfile.read(size).count(b"\n")
            self.rfile.readline()
        self.rfile.readline()
        records: list[dict[str, Any]] = [
            {"line": number, "outcome": "CREATED", "id": "x"} for number in range(1, lines + 1)
        ]
        records.append({"error": {"code": "Unavailable", "message": "The server is stopping."}})
        self._respond(b"".join(json.dumps(record).encode() + b"\n" for record in records))

    def _respond(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Disables logging."""


@contextmanager
def failing_service() -> Iterator[str]:
    """Returns the URL of a FailingService."""
    with ThreadingHTTPServer(("127.0.0.1", 0), FailingService) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{service.server_port}"
        service.shutdown()


def test_import_is_complete_if_the_service_fails_after_the_last_result(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(20))

    with failing_service() as url:
        counts = counts_of(transfer(http_account, "import", file, "--stream", "--json", url=url))

    assert counts["created"] == 20
    assert os.listdir(tmp_path) == ["people.ndjson"]


# Exports


def test_export_to_a_fifo_is_compressed_by_its_name(http_account: Account, tmp_path: Path) -> None:
    http_account.ok("CreateSubscriber", email="ada@example.com")
    fifo = tmp_path / "all.ndjson.gz"
    reader = Reader(fifo)

    done = transfer(http_account, "export", str(fifo))

    assert done.returncode == 0
    assert is_fifo(fifo)
    assert json.loads(gzip.decompress(reader.read()))["email"] == "ada@example.com"


def test_incomplete_export_does_not_change_the_file(http_account: Account, tmp_path: Path) -> None:
    http_account.ok("BulkCreateSubscribers", subscribers=people(100))
    file = tmp_path / "all.csv"
    file.write_text("before")

    with interrupting(http_account.service.http, after=3_000) as proxy:
        done = transfer(http_account, "export", str(file), url=proxy.url)

    assert (done.returncode, file.read_text()) == (8, "before")


def test_export_to_the_file_of_standard_output_is_appended(
    http_account: Account, tmp_path: Path
) -> None:
    http_account.ok("CreateSubscriber", email="ada@example.com")

    done = shell(
        http_account,
        f"{{ echo before; $ROSTER export /dev/fd/1 --url $URL; echo after; }} > {tmp_path}/all",
    )

    assert done.stderr == ""
    first, row, last = (tmp_path / "all").read_text().splitlines()
    assert (first, json.loads(row)["email"], last) == ("before", "ada@example.com", "after")


def test_full_disk_of_standard_output_is_reported(http_account: Account, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(2))

    imported = shell(http_account, f"$ROSTER import {file} --url $URL > /dev/full")
    exported = shell(http_account, "$ROSTER export --url $URL > /dev/full")
    helped, versioned = (
        shell(http_account, f"$ROSTER {flag} > /dev/full") for flag in ("-h", "--version")
    )

    assert total(http_account) == 2
    for done in (imported, exported, helped, versioned):
        line = error_line(done, ExitCode.INCOMPLETE)
        assert "Standard output cannot be written: No space left on device." in line
    assert os.listdir(tmp_path) == ["people.ndjson"]


def test_command_without_a_standard_output_succeeds(http_account: Account) -> None:
    done = shell(http_account, "$ROSTER settings >&-")

    assert (done.returncode, done.stderr) == (0, "")


def test_export_that_waits_for_the_reader_of_a_fifo_can_be_interrupted(
    http_account: Account, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    os.mkfifo(tmp_path / "fifo")
    words, settings = command(http_account, "export", str(tmp_path / "fifo"))
    program = "import os, sys; from rosterd.server.cli import main; real = os.open\n"
    program += "def announce(*args):\n    print('waiting', flush=True)\n    return real(*args)\n"
    program += "import rosterd.server.storage.output_file as file; file.os = type(os)('os')\n"
    program += "file.os.__dict__.update(vars(os), open=announce)\nmain()"

    process = run_command(*words[2:], log=log, env=settings, code=program)
    assert process.stdout is not None
    with process.stdout, limited(process):
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=TIMEOUT) == ExitCode.INTERRUPTED

    assert "Traceback" not in log.read_text()
    assert is_fifo(tmp_path / "fifo")


# Backups


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with an account, in its folder."""
    path = tmp_path / "data" / "roster.db"
    with unit_of_work(f"sqlite:///{path}") as tx:
        store.create_account("ada@example.com", tx, verified=True)
    return path


def test_backup_is_written_to_a_fifo(database: Path, tmp_path: Path) -> None:
    fifo, copy = tmp_path / "fifo", tmp_path / "copy.db"
    reader = Reader(fifo)

    done = roster("backup", str(fifo), ROSTER_DATABASE_URL=f"sqlite:///{database}")

    assert done.returncode == 0, done.stderr
    copy.write_bytes(reader.read())
    assert accounts(copy) == ["ada@example.com"]
    assert is_fifo(fifo)
    assert {item.name for item in tmp_path.iterdir()} == {"data", "fifo", "copy.db"}


def test_backup_on_standard_output_is_not_mixed_with_messages(
    database: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rosterd.server", "backup", "-"],
        env=environment(ROSTER_DATABASE_URL=f"sqlite:///{database}", TMPDIR=str(tmp_path)),
        capture_output=True,
        timeout=TIMEOUT,
    )

    assert done.returncode == 0
    (tmp_path / "copy.db").write_bytes(done.stdout)
    assert accounts(tmp_path / "copy.db") == ["ada@example.com"]
    assert b"Backed up " in done.stderr
    assert {item.name for item in tmp_path.iterdir()} == {"data", "copy.db"}


def test_target_of_a_link_is_replaced_by_a_backup(database: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.db", tmp_path / "link.db"
    real.write_text("before")
    link.symlink_to(real)
    url = f"sqlite:///{database}"

    refused = roster("backup", str(link), ROSTER_DATABASE_URL=url)
    before = real.read_text()
    done = roster("backup", str(link), "--replace", ROSTER_DATABASE_URL=url)

    assert "--replace" in error_line(refused, ExitCode.USAGE)
    assert (before, done.returncode) == ("before", 0)
    assert link.is_symlink()
    assert accounts(real) == ["ada@example.com"]


def test_backup_to_a_link_to_the_database_is_rejected(database: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(database)

    done = roster("backup", str(link), "--replace", ROSTER_DATABASE_URL=f"sqlite:///{database}")

    assert "is reserved for files of the database" in error_line(done, ExitCode.USAGE)
    assert accounts(database) == ["ada@example.com"]


# Partial files


def test_partial_file_of_another_process_is_locked(tmp_path: Path) -> None:
    part = AtomicFile(tmp_path / "one")

    with pytest.raises(OSError, match="another process"):
        AtomicFile(tmp_path / "one")

    part.discard()
    AtomicFile(tmp_path / "one").discard()
    assert os.listdir(tmp_path) == []


def test_partial_file_must_not_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    (tmp_path / "one.part").symlink_to(tmp_path / "other")

    with pytest.raises(OSError, match="symbolic links"):
        AtomicFile(tmp_path / "one")

    assert (tmp_path / "other").read_text() == "other"
