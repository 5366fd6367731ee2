"""Tests of `roster export`."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rosterd.server.cli.transfer.compression import detect_compression
from rosterd.server.serving.console import ExitCode

from ..conftest import Account, new_account
from ..processes import limited
from .commands import error_line
from .interruption import interrupting
from .transfers import command, counts_of, emails, people, transfer

ROWS: list[dict[str, Any]] = [
    {"email": "ada@example.com", "firstName": 'Ada "Countess"', "tags": ["a,b", "c;d", "vip"]},
    {"email": "bo@example.com", "firstName": "  two words", "lastName": "O'Brien, Jr", "tags": []},
    {
        "email": "zoë@exämple.com",
        "firstName": "Zoë",
        "lastName": "日本\u3000語",
        "tags": ["[x]"],
        "customFields": {"age": 36.5, "vip": True, "born": "1815-12-10", "note": 'a "b",\r\nc'},
    },
]


ENDINGS = ["csv", "ndjson", "csv.gz", "ndjson.zst"]


@pytest.fixture
def other(http_account: Account) -> Account:
    """Another account with the same custom fields."""
    return with_fields(new_account(http_account.service, http_account.front))


def with_fields(account: Account) -> Account:
    """Creates custom fields and returns the account."""
    types = {"Age": "NUMBER", "VIP": "BOOLEAN", "Born": "DATE", "Note": "TEXT"}
    for label, data_type in types.items():
        account.ok("CreateCustomField", label=label, dataType=data_type)
    return account


def with_subscribers(account: Account, count: int) -> Account:
    """Creates subscribers and returns the account."""
    rows = people(count)
    for first in range(0, count, 100):
        account.ok("BulkCreateSubscribers", subscribers=rows[first : first + 100])
    return account


def id_of(account: Account, email: str) -> str:
    return str(account.ok("GetSubscriber", id=email)["subscriber"]["id"])


def subscribers_of(account: Account) -> list[dict[str, Any]]:
    """Returns the subscribers of an account, without their IDs and timestamps."""
    listed = account.ok("ListSubscribers", limit=100)["subscribers"]
    return [
        {name: value for name, value in item.items() if name not in ("id", "createdAt")}
        for item in listed
    ]


def ids(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".csv":
        return [row["id"] for row in csv.DictReader(text.splitlines())]
    return [json.loads(line)["id"] for line in text.splitlines()]


@pytest.mark.parametrize("ending", ENDINGS)
def test_import_of_an_export_is_equal(
    http_account: Account, other: Account, tmp_path: Path, ending: str
) -> None:
    first = with_fields(http_account)
    for row in ROWS:
        first.ok("CreateSubscriber", **row)
    file = tmp_path / f"all.{ending}"

    done = transfer(first, "export", str(file))
    counts = counts_of(transfer(other, "import", str(file), "--json"))

    assert (done.returncode, done.stderr) == (0, "")
    assert f"{file} contains 3 subscribers." in done.stdout
    assert os.listdir(tmp_path) == [file.name]
    assert counts["created"] == 3
    assert subscribers_of(other) == subscribers_of(first)
    compression = detect_compression(file.read_bytes())
    assert (compression.suffix if compression else "") == ending.removeprefix("csv").removeprefix(
        "ndjson"
    )


def test_table_for_excel_starts_with_a_byte_order_mark_and_can_be_resumed(
    http_account: Account, tmp_path: Path
) -> None:
    account = with_subscribers(http_account, 2_000)
    whole, file = tmp_path / "whole.csv", tmp_path / "all.csv"
    options = ("--bom", "--no-escape-formulas")
    transfer(account, "export", str(whole), *options)

    with interrupting(account.service.http, after=100_000) as proxy:
        first = transfer(
            account, "export", str(file), "--bom", "--no-escape-formulas", url=proxy.url
        )
        second = transfer(
            account, "export", str(file), "--bom", "--no-escape-formulas", url=proxy.url
        )

    assert (first.returncode, second.returncode) == (8, 0)
    assert "Resuming after" in second.stderr
    assert file.read_bytes() == whole.read_bytes()
    assert whole.read_bytes().startswith(b"\xef\xbb\xbfid,")


@pytest.mark.parametrize(
    ("command", "name", "formats"),
    [
        ("export", "out.xlsx", ".csv .ndjson .jsonl, also with .gz or .zst, or --format"),
        ("export", "out.txt.gz", ".csv .ndjson .jsonl, also with .gz or .zst, or --format"),
        ("export", "out.tsv", ".csv .ndjson .jsonl, also with .gz or .zst, or --format"),
        ("suppressions export", "out.xlsx", ".csv .ndjson .jsonl, or --format"),
        ("suppressions export", "out.csv.gz", ".csv .ndjson .jsonl, or --format"),
    ],
)
def test_file_with_an_unknown_suffix_is_not_written(
    http_account: Account, tmp_path: Path, command: str, name: str, formats: str
) -> None:
    done = transfer(http_account, *command.split(), str(tmp_path / name))

    assert done.returncode == 2
    assert f"Use {formats}." in " ".join(done.stderr.split())
    assert os.listdir(tmp_path) == []
    assert (
        transfer(http_account, *command.split(), str(tmp_path / name), "--format", "csv").returncode
        == 0
    )


class KeepAliveService(BaseHTTPRequestHandler):
    """A service that sends blank lines between records to keep the connection alive."""

    rows = (b'{"id": "a"}\n', b'{"id": "b"}\n')
    bodies: ClassVar = {
        "/api/subscribers": b'{"total": 2, "subscribers": [{"id": "a"}]}',
        "/api/subscribers/export": b"\n" + b"\n\n".join(rows) + b"\n",
    }

    def do_GET(self) -> None:
        body = self.bodies[self.path.partition("?")[0]]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Disables logging."""


def test_keep_alive_lines_are_not_written(http_account: Account, tmp_path: Path) -> None:
    file = tmp_path / "everyone.ndjson"
    with ThreadingHTTPServer(("127.0.0.1", 0), KeepAliveService) as slow:
        threading.Thread(target=slow.serve_forever, daemon=True).start()
        done = transfer(
            http_account, "export", str(file), url=f"http://127.0.0.1:{slow.server_port}"
        )
        slow.shutdown()

    assert f"{file} contains 2 subscribers." in done.stdout
    assert file.read_bytes() == b"".join(KeepAliveService.rows)


class SilentService(KeepAliveService):
    """A service that closes connections without a response, as a port does that requires TLS."""

    def do_GET(self) -> None:
        self.close_connection = True


def test_connection_that_is_closed_without_a_response_may_need_tls(http_account: Account) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), SilentService) as silent:
        threading.Thread(target=silent.serve_forever, daemon=True).start()
        done = transfer(http_account, "export", "-", url=f"http://127.0.0.1:{silent.server_port}")
        silent.shutdown()

    assert "lost. If the port requires TLS, use a URL with https://." in error_line(
        done, ExitCode.INCOMPLETE
    )


def test_csv_on_standard_output_can_be_imported_from_a_pipe(
    http_account: Account, other: Account
) -> None:
    with_subscribers(http_account, 3)

    table = transfer(http_account, "export", "-", "--format", "CSV").stdout
    done = transfer(other, "import", "-", stdin=table.encode())

    assert table.startswith("id,email,firstName,")
    assert "3 created" in done.stdout
    assert emails(other) == emails(http_account)


def test_closed_pipe_ends_an_export_without_a_message(http_account: Account) -> None:
    with_subscribers(http_account, 2_000)
    words, settings = command(http_account, "export")

    running = subprocess.Popen(words, env=settings, stdout=-1, stderr=-1)
    assert running.stdout is not None
    assert running.stderr is not None
    with limited(running):
        running.stdout.readline()
        running.stdout.close()

        assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait(timeout=60) == 1


def test_filters_are_applied(http_account: Account) -> None:
    for name in ("a", "b", "c"):
        http_account.ok(
            "CreateSubscriber", email=f"{name}@example.com", isConfirmed=name != "a", tags=[name]
        )
    second = http_account.ok("GetSubscriber", id="b@example.com")["subscriber"]["createdAt"]

    def exported(*flags: str) -> list[str]:
        lines = transfer(http_account, "export", *flags).stdout.splitlines()
        return [json.loads(line)["email"][0] for line in lines]

    assert exported("--status", "confirmed") == ["b", "c"]
    assert exported("--tag", "B") == ["b"]
    assert "b" not in exported("--created-after", second, "--status", "CONFIRMED")
    assert "b" not in exported("--created-before", second)


def test_links_are_included_on_request(http_account: Account) -> None:
    http_account.ok("CreateSubscriber", email="a@example.com")

    rows = [
        json.loads(transfer(http_account, "export", *flags).stdout)
        for flags in ((), ("--include", "links"))
    ]

    assert rows[1].keys() - rows[0].keys() == {"confirmUrl", "unsubscribeUrl"}


@pytest.mark.parametrize("filter_", ["after", "before"])
def test_rejected_filter_is_named_and_leaves_no_file(
    http_account: Account, tmp_path: Path, filter_: str
) -> None:
    flags = (f"--created-{filter_}", "yesterday")

    done = transfer(http_account, "export", f"{tmp_path}/all.csv", *flags)

    assert (done.returncode, f"{flags[0]} must be" in done.stderr) == (7, True)
    assert os.listdir(tmp_path) == []


# Resuming


@pytest.mark.parametrize("ending", ENDINGS)
def test_export_resumes_after_the_last_complete_row(
    http_account: Account, tmp_path: Path, ending: str
) -> None:
    account = with_subscribers(http_account, 2_000)
    account.ok("CreateCustomField", label="Note")
    note = {"note": 'x"y\nz'}
    account.ok("UpdateSubscriber", id=id_of(account, "p5@example.com"), customFields=note)
    whole, file = tmp_path / f"whole.{ending}", tmp_path / f"all.{ending}"
    part = tmp_path / f"all.{ending}.part"
    transfer(account, "export", str(whole))

    with interrupting(account.service.http, after=100_000) as proxy:
        first = transfer(account, "export", str(file), url=proxy.url)
        assert not file.exists()
        # A killed program leaves an incomplete row.
        part.write_bytes(part.read_bytes()[:-7])
        second = transfer(account, "export", str(file), url=proxy.url)

    assert (first.returncode, f"{part} contains the rows so far" in first.stderr) == (8, True)
    assert second.stderr.startswith("roster: Resuming after ")
    assert "contains 2,000 subscribers." in second.stdout
    assert file.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted([whole.name, file.name])


def test_partial_file_of_another_export_is_not_resumed(
    http_account: Account, tmp_path: Path
) -> None:
    account = with_subscribers(http_account, 1_000)
    account.ok("AddSubscriberTags", id=id_of(account, "p7@example.com"), tags=["vip"])
    file = tmp_path / "all.csv"
    with interrupting(account.service.http, after=30_000) as proxy:
        assert transfer(account, "export", str(file), url=proxy.url).returncode == 8

        done = transfer(account, "export", str(file), "--tag", "vip", url=proxy.url)

    assert "belongs to another export. Starting over." in done.stderr
    assert len(ids(file)) == 1


def test_export_with_changed_columns_must_start_over(http_account: Account, tmp_path: Path) -> None:
    account = with_subscribers(http_account, 1_000)
    file = tmp_path / "all.csv"
    with interrupting(account.service.http, after=30_000) as proxy:
        assert transfer(account, "export", str(file), url=proxy.url).returncode == 8
        account.ok("CreateCustomField", label="City")

        rejected = transfer(account, "export", str(file), url=proxy.url)
        done = transfer(account, "export", str(file), "--no-resume", url=proxy.url)

    assert (rejected.returncode, "--no-resume" in rejected.stderr) == (7, True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(ids(file)) == 1_000
