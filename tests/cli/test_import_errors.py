"""Errors of `roster import`, and imports that are resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rosterd.server.features.accounts.rules import make_secret

from ..cases import each
from ..components import wait_until
from ..conftest import Account, new_account
from .interruption import interrupting
from .transfers import (
    command,
    counts_of,
    failed_import,
    failure_rows,
    file_next_to,
    people,
    total,
    transfer,
    write_ndjson,
)

# No program listens on this port.
UNREACHABLE = "http://127.0.0.1:1"


def test_missing_file_and_missing_key_are_reported(http_account: Account, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))

    missing = failed_import(http_account, f"{tmp_path}/nothing.csv")
    without_key = failed_import(http_account.with_key(""), file)

    assert (missing[0], f"{tmp_path}/nothing.csv" in missing[1]) == (2, True)
    assert (without_key[0], "ROSTER_API_KEY" in without_key[1]) == (2, True)


def test_wrong_key_and_insufficient_scope_have_different_messages(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))

    wrong = failed_import(http_account.with_key(make_secret()), file)
    small = failed_import(http_account.with_key(http_account.new_key("read")), file)

    assert (wrong[0], "does not accept this API key" in wrong[1]) == (7, True)
    assert (small[0], "scope" in small[1]) == (7, True)
    assert os.listdir(tmp_path) == ["people.ndjson"]


def test_failures_stay_until_another_import_has_failures(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", [{"email": "invalid"}])
    listed = file_next_to(file, "failures.ndjson")
    transfer(http_account, "import", file)
    before = listed.read_bytes()

    failed_import(http_account.with_key(http_account.new_key("read")), file)
    after_rejection = listed.read_bytes()
    write_ndjson(Path(file), people(1))
    transfer(http_account, "import", file)

    assert after_rejection == before
    assert listed.read_bytes() == before


@each("url", ["127.0.0.1:8080", "http://", "http://127.0.0.1:99999", "ftp://x", UNREACHABLE])
def test_malformed_url_and_unreachable_service_are_reported(
    http_account: Account, tmp_path: Path, url: str
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))

    code, line = failed_import(http_account, file, url=url)

    assert (code, url in line) == (6 if url == UNREACHABLE else 2, True)
    assert os.listdir(tmp_path) == ["people.ndjson"]


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        (200, 7, "is not Roster"),
        (404, 7, "HTTP 404"),
        (413, 7, "client_max_body_size"),
        (502, 8, "HTTP 502"),
    ],
)
def test_server_that_is_not_roster_is_reported(
    http_account: Account, tmp_path: Path, status: int, code: int, text: str
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))
    server = type("Server", (WebServer,), {"status": status})
    with ThreadingHTTPServer(("127.0.0.1", 0), server) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        failed = failed_import(http_account, file, url=f"http://127.0.0.1:{other.server_port}")
        other.shutdown()

    assert (failed[0], text in failed[1]) == (code, True), failed


HEADER = "Who,Where,Blog\na@example.com,x,y\n"
UNKNOWN = (
    "The header row is not valid. Unknown columns: Who (#1), Where (#2), Blog (#3). Use"
    ' --map "#1=FIELD", --unknown-columns ignore, or a preset such as --preset mailchimp. email is'
    " a required column."
)
CONSENT = (
    "Columns look like consent: Accepts Marketing. Map each to status, optedIn or optedOut with"
    ' --map, such as --map "COLUMN=optedOut", or list it in --ignore-column if it says nothing'
    " about permission to send mail."
)


@pytest.mark.parametrize(
    ("content", "arguments", "text"),
    [
        (HEADER, [], UNKNOWN),
        ("email,Accepts Marketing\na@example.com,x\n", [], CONSENT),
        (HEADER, ["--map", "Who"], "--map 'Who' must be COLUMN=FIELD, such as"),
        (HEADER, ["--map", "Who=email", "--map", "#2="], f"{UNKNOWN[:45]} Blog (#3). Use"),
        ("email\n", ["--ignore-column", "x"], "--ignore-column 'x' names a column that is missing"),
        ("email\n", ["--status-map", "x"], "--status-map 'x' must be WORD=STATUS, such as"),
        ("email\n", ["--add-tag", ""], "--add-tag '' must be a tag name"),
        ("email\n", ["--consent-source", "x" * 201], "--consent-source "),
        ("email\n", ["--charset", "x"], "--charset must be"),
        ("email\n", ["--filter", "x"], "--filter "),
    ],
)
def test_error_names_the_flag_instead_of_the_field_of_the_request(
    http_account: Account, tmp_path: Path, content: str, arguments: list[str], text: str
) -> None:
    file = tmp_path / "people.csv"
    file.write_text(content)

    code, line = failed_import(http_account, str(file), *arguments)

    assert code == 7
    assert line.startswith(f"roster: {text}")


class WebServer(BaseHTTPRequestHandler):
    """A server that responds with a page to every POST, and does not log."""

    status = 200

    def do_POST(self) -> None:
        # Nothing of the body is left unread, which would reset the connection.
        size = self.headers["Content-Length"]
        self.rfile.read(int(size)) if size else self.rfile.readline()
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b"<html></html>\n")

    def log_message(self, *_: object) -> None:
        """Disables logging."""


def test_error_in_the_middle_of_a_file_reports_the_imported_rows(
    http_account: Account, tmp_path: Path
) -> None:
    lines = ["email", *(f"p{number}@example.com" for number in range(1_500)), "é"]
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="latin-1")

    code, line = failed_import(http_account, f"{tmp_path}/people.csv", "--stream")

    assert (
        code,
        "set another encoding, such as --charset windows-1252 (line 1502" in line,
        "Up to line 1,501, 1,500 rows were accepted and 0 failed." in line,
    ) == (7, True, True)
    assert total(http_account) == 1_500


# Resuming


@pytest.mark.parametrize(
    ("on_conflict", "outcome"), [("fail", "skipped"), ("skip", "skipped"), ("update", "updated")]
)
def test_resumed_import_counts_rows_stored_without_a_result_as_existing(
    http_account: Account, tmp_path: Path, on_conflict: str, outcome: str
) -> None:
    rows = people(3_000)
    rows[100]["email"] = rows[2_500]["email"] = "invalid"
    file, checkpoint = (
        write_ndjson(tmp_path / "people.ndjson", rows),
        tmp_path / "people.ndjson.roster-import",
    )
    flags = ("--stream", "--on-conflict", on_conflict)

    with interrupting(http_account.service.http, after=80_000) as proxy:
        first = transfer(http_account, "import", file, *flags, url=proxy.url)
        line = json.loads(checkpoint.read_bytes())["tally"]["line"]
        stored = total(http_account)
        second = transfer(http_account, "import", file, *flags, url=proxy.url)

    assert first.returncode == 8
    assert f"resume after line {line:,}" in first.stderr
    assert 100 < line < 2_500
    assert stored == 2_998
    assert second.returncode == 1
    assert f"Resuming after line {line:,}" in second.stderr
    assert f"{line - 1:,} created" in second.stdout
    assert f"{3_000 - line - 1:,} {outcome}" in second.stdout
    assert f"stored before the interruption without a received result are counted as {outcome}" in (
        second.stdout
    )
    assert failure_rows(file) == [
        {**rows[line - 1], "line": line, "reason": "INVALID_EMAIL", "field": "email"}
        for line in (101, 2_501)
    ]
    assert total(http_account) == stored
    assert not checkpoint.exists()


def test_changed_file_another_account_and_no_resume_start_over(
    http_account: Account, tmp_path: Path
) -> None:
    other = new_account(http_account.service, http_account.front)
    file = write_ndjson(tmp_path / "people.ndjson", people(2))
    checkpoint = file_next_to(file, "roster-import")
    with interrupting(http_account.service.http, after=2_000) as proxy:
        write_ndjson(Path(file), people(1_000))
        assert transfer(http_account, "import", file, "--stream", url=proxy.url).returncode == 8
        left = checkpoint.read_bytes()

        by_other = transfer(other, "import", file, "--stream", url=proxy.url)
        checkpoint.write_bytes(left)
        restarted = transfer(
            http_account,
            *("import", file, "--stream", "--no-resume", "--on-conflict", "Skip"),
            url=proxy.url,
        )
        checkpoint.write_bytes(left)
        write_ndjson(Path(file), people(1_001))
        changed = transfer(
            http_account, "import", file, "--stream", "--on-conflict", "skip", url=proxy.url
        )

    assert "The API key changed since the last run. Starting over." in by_other.stderr
    assert "1,000 created" in by_other.stdout
    assert (restarted.stderr, "1,000 skipped" in restarted.stdout) == ("", True)
    assert "The file changed since the last run. Starting over." in changed.stderr
    assert "1 created, 0 updated, 1,000 skipped" in changed.stdout


def has_read_all(address: str) -> bool:
    """Whether the clients of an address have read what they received."""
    port = f":{int(address.rpartition(':')[2]):04X}"
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    received = [queues for _, _, remote, _, queues, *_ in sockets if remote.endswith(port)]
    return all(queues.endswith(":00000000") for queues in received)


def test_interrupted_import_writes_a_checkpoint_and_a_hint(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(5_000))
    running: list[subprocess.Popen[str]] = []

    def interrupt() -> None:
        wait_until(lambda: has_read_all(proxy.address), "the results were not read")
        running[0].send_signal(signal.SIGINT)
        running[0].wait(timeout=60)

    with interrupting(http_account.service.http, after=200_000, then=interrupt) as proxy:
        words, settings = command(http_account, "import", file, "--stream", url=proxy.url)
        running.append(subprocess.Popen(words, env=settings, stderr=subprocess.PIPE, text=True))
        errors = running[0].communicate(timeout=30)[1]
        again = transfer(http_account, "import", file, "--stream", "--json", url=proxy.url)
        counts = counts_of(again)

    assert running[0].returncode == 130
    assert errors.startswith(
        "roster: Interrupted. Run the same command again to resume after line "
    )
    assert "Traceback" not in errors
    assert counts["created"] + counts["skipped"] == total(http_account) == 5_000
    assert counts["resumedAfterLine"] > 0


def test_stream_of_a_file_with_the_name_of_a_list_of_opt_outs_is_refused(
    http_account: Account, tmp_path: Path
) -> None:
    file = tmp_path / "unsubscribed.csv"
    file.write_text("email,Why\nada@example.com,moved\n")

    code, line = failed_import(http_account, str(file), "--stream", "--unknown-columns", "ignore")

    assert (code, "Import it without --stream" in line) == (2, True)
    assert total(http_account) == 0
    flags = ("--stream", "--map", "Why=optedout")
    assert transfer(http_account, "import", str(file), *flags).returncode == 0
