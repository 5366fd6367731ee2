"""Tests of `roster import` with imports as jobs: continuing them, and services without them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.cli.transfer import import_upload

from ..conftest import Account
from ..stubs.lossy_proxy import Handler, Proxy, running
from .transfers import command, counts_of, emails, people, total, transfer, write_ndjson

# The upload of this many rows takes two parts.
ROWS = 6_000
PARTS = 2
REQUEST, RESPONSE = "request", "response"


class Requests(ThreadingHTTPServer):
    """Forwards requests to a service, one per connection.

    `lost` is called with the method and path of each. If it returns REQUEST, the connection is
    closed before the request is forwarded, and with RESPONSE, before the response is.
    """

    def __init__(self, service: str, lost: Callable[[str], str | None]) -> None:
        super().__init__(("127.0.0.1", 0), Forwarding)
        self.service, self.lost = service, lost

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Forwarding(BaseHTTPRequestHandler):
    server: Requests

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        lost = self.server.lost(f"{self.command} {self.path}")
        if lost == REQUEST:
            return
        headers = {name: self.headers[name] for name in ("Authorization", "Content-Type")}
        with closing(HTTPConnection(self.server.service, timeout=60)) as connection:
            given = {name: value for name, value in headers.items() if value}
            connection.request(self.command, self.path, body, given)
            response = connection.getresponse()
            content = response.read()
        if lost == RESPONSE:
            return
        self.send_response(response.status)
        self.send_header("Content-Type", response.headers["Content-Type"] or "")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = forward  # noqa: N815 - of the base class

    def log_message(self, *_: object) -> None:
        """Disables logging."""


@contextmanager
def forwarding(account: Account, lost: Callable[[str], str | None]) -> Iterator[str]:
    """Yields the URL of `Requests`."""
    with Requests(account.service.http, lost) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        yield proxy.url
        proxy.shutdown()
        thread.join()


class EarlierVersion(Handler):
    """Has no route to imports."""

    def handle(self) -> None:
        if not self.request.recv(64, socket.MSG_PEEK).startswith(b"POST /api/imports "):
            super().handle()
            return
        self.request.recv(1 << 16)
        body = json.dumps({"error": {"code": "RouteNotFound", "message": "No route."}})
        head = f"HTTP/1.1 404 Not Found\r\nContent-Length: {len(body)}\r\n\r\n"
        self.request.sendall(f"{head}{body}".encode())


def large_file(folder: Path) -> str:
    padding = {"firstName": "x" * 90, "lastName": "y" * 90}
    file = write_ndjson(folder / "people.ndjson", [{**row, **padding} for row in people(ROWS)])
    assert import_upload.PART_BYTES < os.path.getsize(file) < PARTS * import_upload.PART_BYTES
    return file


def imports(account: Account) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = account.ok("ListImports")["imports"]
    return listed


def test_incomplete_upload_is_continued_at_the_next_byte(
    http_account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_upload, "RETRY_TIMEOUT_SECONDS", 0.0)
    file, sent, is_lost = large_file(tmp_path), list[str](), [True]

    def lost(request: str) -> str | None:
        sent.append(request)
        is_second = request.endswith(f"content?offset={import_upload.PART_BYTES}")
        return REQUEST if is_second and is_lost[0] else None

    with forwarding(http_account, lost) as url:
        first = transfer(http_account, "import", file, url=url)
        (left,) = imports(http_account)
        is_lost[0] = False
        sent.clear()
        second = transfer(http_account, "import", file, url=url)

    assert first.returncode == 8
    assert "The connection was lost." in first.stderr
    assert "Run the same command again to continue." in first.stderr
    assert (left["state"], left["received"]) == ("UPLOADING", import_upload.PART_BYTES)
    assert second.returncode == 0
    assert f"Continuing the import {left['id']} of {file}." in second.stderr
    assert sum("content?offset=" in request for request in sent) == PARTS - 1
    assert [each["id"] for each in imports(http_account)] == [left["id"]]
    assert f"{ROWS:,} rows: {ROWS:,} created" in second.stdout
    assert os.listdir(tmp_path) == ["people.ndjson"]


def test_requests_are_repeated_while_connections_are_lost(
    http_account: Account, tmp_path: Path
) -> None:
    losses = {"PUT": [REQUEST] * 2 + [RESPONSE] * 3, "GET": [RESPONSE] * 3}

    def lost(request: str) -> str | None:
        waiting = losses.get(request.partition(" ")[0])
        return waiting.pop() if waiting else None

    with forwarding(http_account, lost) as url:
        done = transfer(http_account, "import", large_file(tmp_path), url=url)

    assert (done.returncode, done.stderr) == (0, "")
    assert losses == {"PUT": [], "GET": []}
    assert total(http_account) == ROWS


def service_call(account: Account, method: str, path: str, body: bytes) -> int:
    """Sends a request directly to the service, and returns the status of the response."""
    with closing(HTTPConnection(account.service.http, timeout=60)) as connection:
        connection.request(method, path, body, {"Authorization": f"Bearer {account.key}"})
        return connection.getresponse().status


def test_upload_goes_on_after_bytes_that_another_request_stored(
    http_account: Account, tmp_path: Path
) -> None:
    file, statuses = large_file(tmp_path), list[int]()

    def lost(request: str) -> None:
        method, _, path = request.partition(" ")
        if method == "PUT" and not statuses:
            part = Path(file).read_bytes()[:1_000]
            statuses.append(service_call(http_account, method, path, part))

    with forwarding(http_account, lost) as url:
        done = transfer(http_account, "import", file, url=url)

    assert (statuses, done.returncode, done.stderr) == ([200], 0, "")
    assert total(http_account) == ROWS


def test_import_that_another_run_started_is_reported_and_kept(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", [*people(3), {"email": "invalid"}])
    statuses = list[int]()

    def lost(request: str) -> None:
        method, _, path = request.partition(" ")
        if path.endswith("/start"):
            statuses.append(service_call(http_account, method, path, b"{}"))

    with forwarding(http_account, lost) as url:
        counts = counts_of(transfer(http_account, "import", file, "--json", url=url), 1)

    (job,) = imports(http_account)
    assert (statuses, job["state"]) == ([202], "SUCCEEDED")
    assert (counts["created"], counts["failed"]) == (3, 1)
    assert Path(counts["failures"]).exists()


def test_file_of_failed_rows_that_cannot_be_written_leaves_no_import(
    http_account: Account, tmp_path: Path
) -> None:
    file, failures = write_ndjson(tmp_path / "people.ndjson", people(1)), tmp_path / "no" / "f"

    done = transfer(http_account, "import", file, "--failures", str(failures))

    assert (done.returncode, "Choose another file with --failures." in done.stderr) == (2, True)
    assert imports(http_account) == []
    assert os.listdir(tmp_path) == ["people.ndjson"]


def test_invalid_checkpoint_is_reported_once(http_account: Account, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))
    Path(f"{file}.roster-import").write_text("{")

    done = transfer(http_account, "import", file)

    assert (done.returncode, done.stderr.count("is not valid. Starting over.")) == (0, 1)


@pytest.mark.parametrize(
    "when", ["PUT", pytest.param("GET", marks=pytest.mark.verify)], ids=["upload", "inspection"]
)
def test_interrupted_import_is_continued_by_the_same_command(
    http_account: Account, tmp_path: Path, when: str
) -> None:
    file = large_file(tmp_path)
    processes: list[subprocess.Popen[str]] = []

    def lost(request: str) -> str | None:
        if request.startswith(when) and processes[0].poll() is None:
            processes[0].send_signal(signal.SIGINT)
            processes[0].wait(timeout=60)
            return REQUEST
        return None

    with forwarding(http_account, lost) as url:
        words, settings = command(http_account, "import", file, url=url)
        processes.append(subprocess.Popen(words, env=settings, stderr=subprocess.PIPE, text=True))
        errors = processes[0].communicate(timeout=30)[1]
        counts = counts_of(transfer(http_account, "import", file, "--json", url=url))

    assert processes[0].returncode == 130
    assert errors == "roster: Interrupted. Run the same command again to continue.\n"
    assert (counts["created"], total(http_account)) == (ROWS, ROWS)
    assert len(imports(http_account)) == 1


def test_finished_import_is_reported_by_the_same_command(
    http_account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service finishes an import without the command that started it."""
    monkeypatch.setattr(import_upload, "RETRY_TIMEOUT_SECONDS", 0.0)
    file = write_ndjson(tmp_path / "people.ndjson", [*people(3), {"email": "invalid"}])
    sent, is_lost = list[str](), [True]

    def lost(request: str) -> str | None:
        sent.append(request)
        return RESPONSE if any("/start" in each for each in sent) and is_lost[0] else None

    with forwarding(http_account, lost) as url:
        first = transfer(http_account, "import", file, url=url)
        is_lost[0] = False
        second = transfer(http_account, "import", file, url=url)

    (job,) = imports(http_account)
    assert first.returncode == 8
    assert "Run the same command again to" in first.stderr
    assert job["state"] == "SUCCEEDED"
    assert second.returncode == 1
    assert "4 rows: 3 created, 0 updated, 0 skipped, 1 failed." in second.stdout
    assert json.loads(Path(f"{file}.failures.ndjson").read_text()) == {
        "email": "invalid",
        "line": 4,
        "reason": "INVALID_EMAIL",
        "field": "email",
    }


def test_dry_runs_and_rejected_files_leave_no_import(http_account: Account, tmp_path: Path) -> None:
    valid, invalid = tmp_path / "valid.csv", tmp_path / "invalid.csv"
    valid.write_text("email\nada@example.com\n")
    invalid.write_text("who\nada@example.com\n")

    dry_run = transfer(http_account, "import", str(valid), "--dry-run")
    rejected = transfer(http_account, "import", str(invalid))

    assert (dry_run.returncode, rejected.returncode) == (0, 7)
    assert "1 row: 1 created" in dry_run.stdout
    assert imports(http_account) == []
    assert sorted(os.listdir(tmp_path)) == ["invalid.csv", "valid.csv"]


def test_file_is_streamed_to_a_service_without_imports_as_jobs(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(2))
    proxy = Proxy(http_account.service.http, handler=EarlierVersion)

    with running(proxy):
        done = transfer(http_account, "import", file, url=f"http://{proxy.address}")

    assert (done.returncode, done.stderr) == (0, "")
    assert emails(http_account) == ["p0@example.com", "p1@example.com"]
    assert imports(http_account) == []
