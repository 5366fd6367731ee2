"""Files that commands write: what is replaced, what is written to, and what stays as it was."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import apsw
import pytest

from server.accounts import store
from server.console import ExitCode
from server.output_file import AtomicFile
from server.storage.databases import unit_of_work

from ..conftest import Account
from ..processes import environment
from .cut import cut
from .test_commands import complaint, roster
from .transfers import command, counted, people, total, transfer, written

LONG = 60.0
BAD = [{"email": "ada@example.com"}, {"email": "nobody"}]


class Reader:
    """The reader of a FIFO, in a thread of its own, which reads so many bytes (-1 for all)."""

    def __init__(self, path: Path, size: int = -1) -> None:
        os.mkfifo(path)
        self._path, self._size = path, size
        self._read = b""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def read(self) -> bytes:
        """Returns all that was written, once the writer has closed the FIFO."""
        self._thread.join(LONG)
        assert not self._thread.is_alive()
        return self._read

    def _run(self) -> None:
        with self._path.open("rb", buffering=0) as file:
            if self._size:
                self._read = file.readall()


def is_fifo(path: Path) -> bool:
    return stat.S_ISFIFO(path.lstat().st_mode)


def failed(table: str | bytes) -> list[str]:
    """Returns the addresses in a table of failures."""
    text = table if isinstance(table, str) else table.decode()
    return [row["email"] for row in csv.DictReader(io.StringIO(text))]


def shell(account: Account, script: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in which "$ROSTER" starts a command for an account."""
    words, settings = command(account)
    program = f"{sys.executable} -m server"
    return subprocess.run(
        ["bash", "-c", script],
        env={**settings, "ROSTER": program, "URL": words[-1]},
        capture_output=True,
        encoding="utf-8",
        timeout=LONG,
    )


# Rows that failed


def test_failures_are_written_to_a_fifo_which_stays(http_account: Account, tmp_path: Path) -> None:
    file = written(tmp_path / "people.ndjson", BAD)
    reader = Reader(tmp_path / "fifo")

    done = transfer(http_account, "import", file, "--failures", str(tmp_path / "fifo"))

    assert (done.returncode, done.stderr) == (1, "")
    assert failed(reader.read()) == ["nobody"]
    assert is_fifo(tmp_path / "fifo")
    assert sorted(os.listdir(tmp_path)) == ["fifo", "people.ndjson"]


def test_import_without_failures_writes_nothing(http_account: Account, tmp_path: Path) -> None:
    file = written(tmp_path / "people.ndjson", people(2))
    reader = Reader(tmp_path / "fifo")

    done = transfer(http_account, "import", file, "--failures", str(tmp_path / "fifo"))

    assert (done.returncode, reader.read()) == (0, b"")
    assert is_fifo(tmp_path / "fifo")


def test_complete_import_whose_failures_cannot_be_listed_reports_both(
    http_account: Account, tmp_path: Path
) -> None:
    file = written(tmp_path / "people.ndjson", BAD)
    Reader(tmp_path / "fifo", size=0)

    done = transfer(http_account, "import", file, "--failures", str(tmp_path / "fifo"))

    assert done.returncode == ExitCode.ROWS_FAILED
    assert "2 rows: 1 created, 0 updated, 0 skipped, 1 failed." in done.stdout
    assert "listed in" not in done.stdout
    assert f"cannot be listed: {tmp_path}/fifo cannot be written" in done.stderr
    assert not (tmp_path / "people.ndjson.roster-import").exists()


@pytest.mark.parametrize("exists", [True, False], ids=["to a file", "to nothing"])
def test_link_stays_and_the_file_behind_it_is_replaced(
    http_account: Account, tmp_path: Path, exists: bool
) -> None:
    file, real, link = (
        written(tmp_path / "people.ndjson", BAD),
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
    assert failed(real.read_bytes()) == ["nobody"]
    assert not exists or stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["l", "people.ndjson", "real.csv"]


def test_list_of_failures_stays_while_nothing_is_written_to_it(
    http_account: Account, tmp_path: Path
) -> None:
    file, listed = written(tmp_path / "people.ndjson", people(2)), tmp_path / "failures.csv"
    listed.write_text("before")

    refused = transfer(
        http_account.with_key(http_account.new_key("read")),
        *("import", file, "--failures", str(listed)),
    )
    done = transfer(http_account, "import", file, "--failures", str(listed))

    assert (refused.returncode, done.returncode) == (7, 0)
    assert listed.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["failures.csv", "people.ndjson"]


@pytest.mark.parametrize("name", ["-", "/dev/fd/1"])
def test_failures_on_standard_output_are_alone_there(
    http_account: Account, tmp_path: Path, name: str
) -> None:
    file = written(tmp_path / "people.ndjson", BAD)

    done = shell(http_account, f"$ROSTER import {file} --url $URL --failures {name}")

    assert done.returncode == 1
    assert failed(done.stdout) == ["nobody"]
    assert "2 rows: 1 created" in done.stderr


def test_failures_of_an_import_that_broke_off_are_kept_beside_the_file(
    http_account: Account, tmp_path: Path
) -> None:
    file = written(tmp_path / "people.ndjson", [{"email": "nobody"}, *people(3_000)])
    listed = tmp_path / "failures.csv"
    listed.write_text("before")
    flags = ("--failures", str(listed))

    with cut(http_account.service.http, after=80_000) as between:
        first = transfer(http_account, "import", file, *flags, url=between.url)
        half = listed.read_text()
        second = transfer(http_account, "import", file, *flags, url=between.url)

    assert (first.returncode, half) == (8, "before")
    assert f"listed in {listed}.part" in first.stderr
    assert second.returncode == 1
    assert failed(listed.read_bytes()) == ["nobody"]
    assert sorted(os.listdir(tmp_path)) == ["failures.csv", "people.ndjson"]


def test_import_from_a_fifo_leaves_nothing_beside_it(http_account: Account) -> None:
    before = set(os.listdir())

    done = shell(http_account, "$ROSTER import --url $URL <(echo email; echo nobody)")

    assert (done.returncode, done.stderr) == (1, "")
    assert "1 row: 0 created, 0 updated, 0 skipped, 1 failed." in done.stdout
    assert set(os.listdir()) == before


class Ending(BaseHTTPRequestHandler):
    """A service that stops after the last result."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(b'{"total": 0, "subscribers": []}')

    def do_POST(self) -> None:
        lines = 0
        while size := int(self.rfile.readline(), 16):
            lines += self.rfile.read(size).count(b"\n")
            self.rfile.readline()
        self.rfile.readline()
        records: list[dict[str, Any]] = [
            {"line": number, "outcome": "CREATED", "id": "x"} for number in range(1, lines + 1)
        ]
        records.append({"error": {"code": "Unavailable", "message": "It stops."}})
        self._answer(b"".join(json.dumps(record).encode() + b"\n" for record in records))

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def ending() -> Iterator[str]:
    """The address of a service that stops."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Ending) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{service.server_port}"
        service.shutdown()


def test_import_is_complete_when_the_service_stops_after_the_last_result(
    http_account: Account, tmp_path: Path
) -> None:
    file = written(tmp_path / "people.ndjson", people(20))

    with ending() as url:
        counts = counted(transfer(http_account, "import", file, "--json", url=url))

    assert counts["created"] == 20
    assert os.listdir(tmp_path) == ["people.ndjson"]


# Exports


def test_export_is_written_to_a_fifo_which_stays(http_account: Account, tmp_path: Path) -> None:
    http_account.ok("CreateSubscriber", email="ada@example.com")
    fifo = tmp_path / "all.ndjson"
    reader = Reader(fifo)

    done = transfer(http_account, "export", str(fifo))

    assert done.returncode == 0
    assert json.loads(reader.read())["email"] == "ada@example.com"
    assert is_fifo(fifo)
    assert os.listdir(tmp_path) == ["all.ndjson"]


def test_export_to_a_fifo_is_packed_by_its_name(http_account: Account, tmp_path: Path) -> None:
    http_account.ok("CreateSubscriber", email="ada@example.com")
    reader = Reader(tmp_path / "all.ndjson.gz")

    done = transfer(http_account, "export", str(tmp_path / "all.ndjson.gz"))

    assert done.returncode == 0
    assert json.loads(gzip.decompress(reader.read()))["email"] == "ada@example.com"


def test_exported_file_behind_a_link_is_replaced(http_account: Account, tmp_path: Path) -> None:
    http_account.ok("CreateSubscriber", email="ada@example.com")
    real, link = tmp_path / "real", tmp_path / "all.ndjson"
    real.write_text("before")
    link.symlink_to(real)

    assert transfer(http_account, "export", str(link)).returncode == 0

    assert link.is_symlink()
    assert json.loads(real.read_bytes())["email"] == "ada@example.com"


def test_export_that_breaks_off_leaves_the_file_as_it_was(
    http_account: Account, tmp_path: Path
) -> None:
    http_account.ok("BulkCreateSubscribers", subscribers=people(100))
    file = tmp_path / "all.csv"
    file.write_text("before")

    with cut(http_account.service.http, after=3_000) as between:
        done = transfer(http_account, "export", str(file), url=between.url)

    assert (done.returncode, file.read_text()) == (8, "before")


def test_export_to_the_path_of_standard_output_is_appended_there(
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


def test_output_that_is_full_is_named(http_account: Account, tmp_path: Path) -> None:
    file = written(tmp_path / "people.ndjson", people(2))

    imported = shell(http_account, f"$ROSTER import {file} --url $URL > /dev/full")
    exported = shell(http_account, "$ROSTER export --url $URL > /dev/full")

    assert total(http_account) == 2
    for done in (imported, exported):
        line = complaint(done, ExitCode.BROKEN)
        assert "Standard output cannot be written: No space left on device." in line
    assert os.listdir(tmp_path) == ["people.ndjson"]


def test_interrupt_while_a_fifo_waits_for_its_reader_ends_the_export(
    http_account: Account, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    words, settings = command(http_account, "export", str(tmp_path / "fifo"))
    waits = "import os, sys; from server.cli import main; real = os.open\n"
    waits += "def begin(*given):\n    print('waits', flush=True)\n    return real(*given)\n"
    waits += "import server.output_file as file; file.os = type(os)('os')\n"
    waits += "file.os.__dict__.update(vars(os), open=begin)\nmain()"

    with subprocess.Popen(
        [sys.executable, "-c", waits, *words[2:]],
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LONG)

    assert process.returncode == ExitCode.INTERRUPTED
    assert "Traceback" not in said
    assert is_fifo(tmp_path / "fifo")


# Backups


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with an account, alone in its folder."""
    path = tmp_path / "data" / "roster.db"
    with unit_of_work(f"sqlite:///{path}") as tx:
        store.create_account("ada@example.com", tx, verified=True)
    return path


def accounts(path: Path) -> list[str]:
    """Returns the addresses of the accounts in a file."""
    with closing(apsw.Connection(str(path))) as connection:
        return [str(email) for (email,) in connection.execute("SELECT email FROM account")]


def test_backup_is_written_to_a_fifo_which_stays(database: Path, tmp_path: Path) -> None:
    fifo, copy = tmp_path / "fifo", tmp_path / "copy.db"
    reader = Reader(fifo)

    done = roster("backup", str(fifo), ROSTER_DATABASE_URL=f"sqlite:///{database}")

    assert done.returncode == 0, done.stderr
    copy.write_bytes(reader.read())
    assert accounts(copy) == ["ada@example.com"]
    assert is_fifo(fifo)
    assert {each.name for each in tmp_path.iterdir()} == {"data", "fifo", "copy.db"}


def test_backup_on_standard_output_is_alone_there(database: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "server", "backup", "-"],
        env=environment(ROSTER_DATABASE_URL=f"sqlite:///{database}", TMPDIR=str(tmp_path)),
        capture_output=True,
        timeout=LONG,
    )

    assert done.returncode == 0
    (tmp_path / "copy.db").write_bytes(done.stdout)
    assert accounts(tmp_path / "copy.db") == ["ada@example.com"]
    assert b"- is " in done.stderr
    assert {each.name for each in tmp_path.iterdir()} == {"data", "copy.db"}


def test_link_to_a_backup_stays_and_the_backup_is_replaced(database: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.db", tmp_path / "link.db"
    real.write_text("before")
    link.symlink_to(real)
    url = f"sqlite:///{database}"

    refused = roster("backup", str(link), ROSTER_DATABASE_URL=url)
    before = real.read_text()
    done = roster("backup", str(link), "--replace", ROSTER_DATABASE_URL=url)

    assert "--replace" in complaint(refused, ExitCode.USAGE)
    assert (before, done.returncode) == ("before", 0)
    assert link.is_symlink()
    assert accounts(real) == ["ada@example.com"]


def test_link_to_the_database_is_no_place_for_its_backup(database: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(database)

    done = roster("backup", str(link), "--replace", ROSTER_DATABASE_URL=f"sqlite:///{database}")

    assert "belongs to the database" in complaint(done, ExitCode.USAGE)
    assert accounts(database) == ["ada@example.com"]


# Parts


def test_part_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    part = AtomicFile(tmp_path / "one")

    with pytest.raises(OSError, match="another process"):
        AtomicFile(tmp_path / "one")

    part.discard()
    AtomicFile(tmp_path / "one").discard()
    assert os.listdir(tmp_path) == []


def test_part_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    (tmp_path / "one.part").symlink_to(tmp_path / "other")

    with pytest.raises(OSError, match="symbolic links"):
        AtomicFile(tmp_path / "one")

    assert (tmp_path / "other").read_text() == "other"
