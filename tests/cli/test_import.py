"""Tests of `roster import`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.cli.common.files import CHUNK_BYTES
from rosterd.server.cli.transfer.compression import Decompressor, detect_compression
from rosterd.server.features.accounts.rules import make_secret

from ..behavior.helpers import create_subscriber
from ..conftest import Account, new_account
from .interruption import interrupting
from .transfers import (
    command,
    counts_of,
    emails,
    people,
    total,
    transfer,
    write_ndjson,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TAB = "Email\tFirst name\tTags\nada@example.com\tAda\tvip;early\n"


def failure_rows(file: str) -> list[dict[str, Any]]:
    """Returns the failed rows of a file in NDJSON."""
    text = file_next_to(file, "failures.ndjson").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def file_next_to(file: str, ending: str) -> Path:
    return Path(f"{file}.{ending}")


@pytest.fixture
def unused_port() -> int:
    """A port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


# Results


def test_import_creates_every_row_and_leaves_no_files(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1_200))

    done = transfer(http_account, "import", file)

    assert (done.returncode, done.stderr) == (0, "")
    assert "1,200 rows: 1,200 created, 0 updated, 0 skipped, 0 failed." in done.stdout
    assert emails(http_account) == [row["email"] for row in people(1_200)]
    assert os.listdir(tmp_path) == ["people.ndjson"]


def test_failed_rows_are_counted_and_listed(http_account: Account, tmp_path: Path) -> None:
    rows = [*people(2), {"email": "p1@example.com"}, {"email": "é, invalid"}, {"firstName": "x"}]
    rows.append({"email": "a@example.com", "firstName": 'so "much"' * 20})
    file = write_ndjson(tmp_path / "people.jsonl", rows)

    done = transfer(http_account, "import", file)

    assert done.returncode == 1
    assert "6 rows: 2 created, 0 updated, 0 skipped, 4 failed." in done.stdout
    assert "  1 ALREADY_EXISTS: line 3\n" in done.stdout
    assert f"{file}.failures.ndjson" in done.stdout
    reasons = ["ALREADY_EXISTS", "INVALID_EMAIL", "MISSING_EMAIL", "INVALID_FIELD"]
    assert failure_rows(file) == [
        {**row, "line": line, "reason": reason, "field": "email" if line < 6 else "firstName"}
        for line, (row, reason) in enumerate(zip(rows[2:], reasons, strict=True), 3)
    ]
    assert total(http_account) == 2
    assert not file_next_to(file, "roster-import").exists()


@pytest.mark.parametrize(
    ("on_conflict", "code", "outcome"),
    [("fail", 1, "failed"), ("skip", 0, "skipped"), ("update", 0, "updated")],
)
def test_on_conflict_determines_the_result_of_a_row_with_an_existing_address(
    http_account: Account, tmp_path: Path, on_conflict: str, code: int, outcome: str
) -> None:
    http_account.ok("CreateSubscriber", email="P0@example.com", firstName="Old")
    file, listed = write_ndjson(tmp_path / "people.ndjson", people(2)), tmp_path / "elsewhere.csv"
    flags = ("--on-conflict", on_conflict, "--failures", str(listed), "--json")

    counts = counts_of(transfer(http_account, "import", file, *flags), code)

    nothing = dict.fromkeys(("created", "updated", "skipped", "failed"), 0)
    failed = outcome == "failed"
    summary = counts.pop("summary")
    assert (summary["created"], summary[outcome], summary["statuses"]) == (1, 1, {"UNCONFIRMED": 1})
    assert counts == {
        **nothing,
        "rowsWithDroppedCells": 0,
        "created": 1,
        outcome: 1,
        "reasons": [{"reason": "ALREADY_EXISTS", "total": 1, "examples": ["1"]}] if failed else [],
        "failures": str(listed) if failed else None,
        "resumedAfterLine": 0,
    }
    assert listed.exists() == failed
    first_name = http_account.ok("GetSubscriber", id="p0@example.com")["subscriber"]["firstName"]
    assert first_name == ("P0" if on_conflict == "update" else "Old")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.tsv", TAB),
        ("people.csv", TAB.replace(";", "|").replace("\t", ";")),
        ("people.txt", '\ufeff"Email",Tags\nada@example.com,"vip,early"\n'),
        ("people", ' \n{"email": "ada@example.com", "tags": ["vip", "early"]}'),
    ],
    ids=["tab by suffix", "semicolon", "CSV by first character", "NDJSON by first character"],
)
def test_format_is_detected_by_the_suffix_or_the_first_character(
    http_account: Account, tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")

    assert (
        counts_of(transfer(http_account, "import", str(tmp_path / name), "--json"))["created"] == 1
    )

    ada = http_account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert ada["tags"] == ["early", "vip"]


def test_format_flag_takes_precedence_over_the_suffix(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.csv", people(1))

    assert counts_of(transfer(http_account, "import", file, "--format", "ndjson", "--json"))[
        "created"
    ]


CSV = b"email\nada@example.com\nbo@example.com\n"
COMPRESSED = {
    "gzip": gzip.compress(CSV),
    "gzip in two members and padding": gzip.compress(CSV[:20])
    + gzip.compress(CSV[20:])
    + bytes(100),
    "zstd": zstd.compress(CSV),
    "zstd in two frames after a skippable one": b"\x50\x2a\x4d\x18\x02\x00\x00\x00hi"
    + zstd.compress(CSV[:20])
    + zstd.compress(CSV[20:]),
    "uncompressed": CSV,
}


@pytest.mark.parametrize("content", COMPRESSED.values(), ids=COMPRESSED)
@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.csv.zst"])
def test_compression_is_detected_by_content(
    http_account: Account, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)

    done = transfer(http_account, "import", str(tmp_path / name), "--json")

    assert counts_of(done)["created"] == 2


@pytest.mark.parametrize("content", COMPRESSED.values(), ids=COMPRESSED)
def test_compression_of_a_pipe_is_detected(http_account: Account, content: bytes) -> None:
    words, settings = command(http_account, "import", "-", "--json")

    with subprocess.Popen(words, env=settings, stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        # The first byte alone does not identify the compression.
        process.stdin.write(content[:1])
        process.stdin.flush()
        printed, _ = process.communicate(content[1:], timeout=60)

    assert (process.returncode, json.loads(printed)["created"]) == (0, 2)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("fault", ["truncated", "corrupt"])
def test_rows_before_damaged_data_are_imported_and_counted(
    http_account: Account, tmp_path: Path, pack: Callable[[bytes], bytes], fault: str
) -> None:
    rows = "".join(f"{n}{random.randbytes(9).hex()}@example.com,n{n}\n" for n in range(20_000))
    packed = bytearray(pack(f"email,firstName\n{rows}".encode()))
    if fault == "truncated":
        del packed[len(packed) // 2 :]
    else:
        packed[len(packed) // 2 :] = random.randbytes(len(packed) // 2)
    file = tmp_path / "people.csv"
    file.write_bytes(packed)

    done = transfer(http_account, "import", str(file))

    assert done.returncode == 2
    assert f"{file} cannot be read: it is damaged: " in done.stderr
    counts = re.search(
        r"Up to line ([\d,]+), ([\d,]+) rows were accepted and 0 failed\.", done.stderr
    )
    assert counts is not None, done.stderr
    line, accepted = (int(number.replace(",", "")) for number in counts.groups())
    assert (line, accepted) == (total(http_account) + 1, total(http_account))
    assert 0 < accepted < 20_000
    # The incomplete row was not imported.
    last = http_account.ok("ListSubscribers", limit=1, order="desc")["subscribers"][0]
    assert f"{last['email']},{last['firstName']}\n" in rows


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_line_of_unlimited_length_is_rejected(
    http_account: Account, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "people.csv"
    # More than the service discards of a rejected request.
    bomb = pack(b"x" * (1 << 26))
    file.write_bytes(pack(b"email\nada@example.com\n") + bomb * 8)

    code, line = failed_import(http_account, str(file))

    assert code == 2
    assert "line 3 has more than 4,194,304 bytes. A row can have at most 1,048,576." in line
    assert total(http_account) == 1


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_decompressed_chunks_are_bounded(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(bytes(1 << 26))
    compression = detect_compression(packed)
    assert compression is not None
    decompressor = Decompressor(compression)

    sizes = [len(chunk) for chunk in decompressor.decompress(packed)]
    decompressor.finish()

    assert (sum(sizes), max(sizes)) == (1 << 26, CHUNK_BYTES)


# Failed rows

TABLE = [
    ["Email", "First name", "Note", "reason"],
    ["ada@example.com", "Ada", "", ""],
    ["bob", 'Bob "B"', "=1+1;\r\n2", "why"],
    ["zoe", "Zoë", " x ", ""],
]


def table_text(table: list[list[str]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows(table)
    return text.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "charset", "encoding", "delimiter"),
    [
        (table_text(TABLE).encode(), "", "utf-8", ","),
        (table_text(TABLE, ";").encode("cp1252"), "windows-1252", "cp1252", ";"),
        (table_text(TABLE, ";").encode("utf-8-sig"), "windows-1252", "utf-8-sig", ";"),
        (f"sep=|\r\n{table_text(TABLE, '|')}".encode("utf-16"), "", "utf-16", "|"),
        (zipped("a/people.csv", table_text(TABLE).encode()), "", "utf-8", ","),
        (gzip.compress(table_text(TABLE).encode()), "", "utf-8", ","),
    ],
    ids=["commas", "semicolons", "UTF-8 with mark", "UTF-16", "ZIP", "gzip"],
)
def test_failed_rows_of_a_table_can_be_corrected_and_imported(
    http_account: Account,
    tmp_path: Path,
    content: bytes,
    charset: str,
    encoding: str,
    delimiter: str,
) -> None:
    """The file has the encoding, byte order mark and delimiter of the imported one."""
    for label in ("Note", "Reason"):
        http_account.ok("CreateCustomField", label=label, dataType="TEXT")
    file, listed = tmp_path / "people", tmp_path / "people.failures.csv"
    file.write_bytes(content)
    flags = ("--charset", charset) if charset else ()

    first = transfer(http_account, "import", str(file), *flags)

    assert (first.returncode, str(listed) in first.stdout) == (1, True)
    with listed.open(encoding=encoding, newline="") as text:
        failed = list(csv.reader(text, delimiter=delimiter))
    marked = delimiter == "|"  # A first line names the delimiter.
    assert failed[:marked] == [["sep=", ""]][:marked]
    assert failed[marked:] == [
        [*TABLE[0], "line", "reason", "field"],
        [*TABLE[2], str(4 + marked), "INVALID_EMAIL", "email"],
        [*TABLE[3], str(5 + marked), "INVALID_EMAIL", "email"],
    ]
    # The file of failed rows of such a file has its columns once.
    corrected = listed.read_bytes().decode(encoding).replace("zoe", "zoe@example.com")
    listed.write_bytes(corrected.encode(encoding))
    second = transfer(http_account, "import", str(listed), *flags)
    again = tmp_path / "people.failures.csv.failures.csv"
    assert "2 rows: 1 created, 0 updated, 0 skipped, 1 failed." in second.stdout
    with again.open(encoding=encoding, newline="") as lines:
        (*start, last) = csv.reader(lines, delimiter=delimiter)
    assert start == failed[: 1 + marked]
    assert last == [*TABLE[2], str(3 + marked), "INVALID_EMAIL", "email"]
    zoe = http_account.ok("GetSubscriber", id="zoe@example.com")["subscriber"]
    assert (zoe["firstName"], zoe["customFields"]) == ("Zoë", {"note": " x "})


def test_opt_outs_stored_without_some_cells_are_named_and_listed(
    http_account: Account, tmp_path: Path
) -> None:
    file = tmp_path / "people.csv"
    rows = ["email;firstName;status", f"a@b.io;{'A' * 300};unsubscribed", "b@b.io;B;;cleaned"]
    file.write_text("\n".join([*rows, "c@b.io;C;active"]), encoding="utf-8")

    done = transfer(http_account, "import", str(file))

    assert done.returncode == 0
    assert "Opt-outs stored without some cells: 2 (lines 2, 3)." in done.stdout
    listed = file_next_to(str(file), "failures.csv")
    assert f"the rows of these opt-outs are listed in {listed}." in done.stdout
    assert listed.read_text(encoding="utf-8").splitlines() == [
        "email;firstName;status;line;reason;field",
        f"{rows[1]};2;DROPPED_CELLS;firstName",
        "b@b.io;B;;cleaned;3;DROPPED_CELLS;firstName",
    ]
    corrected = listed.read_text(encoding="utf-8").replace("A" * 300, "Ada")
    listed.write_text(corrected.replace(";;", ";"), encoding="utf-8")
    again = transfer(http_account, "import", str(listed), "--on-conflict", "update")
    assert "2 rows: 0 created, 2 updated, 0 skipped, 0 failed." in again.stdout
    ada = http_account.ok("GetSubscriber", id="a@b.io")["subscriber"]
    assert (ada["firstName"], ada["status"]) == ("Ada", "UNSUBSCRIBED")


def test_failed_rows_with_other_cells_than_the_header_are_listed_as_they_are(
    http_account: Account,
) -> None:
    text = (
        'email,firstName\na@example.com,"A" x\nb@example.com,B,C\n'
        'c@example.com,"open\nd@example.com,D\n'
    )

    done = transfer(http_account, "import", "-", "--failures", "-", stdin=text)

    assert done.stdout.splitlines() == [
        "email,firstName,line,reason,field",
        'a@example.com,"""A"" x",2,INVALID_ROW,',
        "b@example.com,B,C,3,INVALID_ROW,",
        'c@example.com,"""open",4,INVALID_ROW,',
    ]
    assert emails(http_account) == ["d@example.com"]


@pytest.mark.parametrize("form", ["lines", "array", "ZIP"])
def test_failed_objects_can_be_corrected_and_imported(
    http_account: Account, tmp_path: Path, form: str
) -> None:
    rows = ['{"email": "ada@example.com"}', '{"email": "bob",\n "tags": ["a", "b"]}', "5", "{}"]
    text = "\n".join(row.replace("\n", "") for row in rows)
    if form != "lines":
        text = f"[{', '.join(rows)}]"
    file = tmp_path / ("people.zip" if form == "ZIP" else "people.json")
    file.write_bytes(zipped("people.json", text.encode()) if form == "ZIP" else text.encode())

    first = transfer(http_account, "import", str(file))

    listed = Path(f"{file}.failures.ndjson")
    assert "4 rows: 1 created, 0 updated, 0 skipped, 3 failed." in first.stdout
    bob, number, empty = listed.read_text().splitlines()
    assert bob.startswith('{"email": "bob", ')
    assert bob.endswith('"tags": ["a", "b"],"line":2,"reason":"INVALID_EMAIL","field":"email"}')
    assert number == '{"text":"5","line":3,"reason":"INVALID_ROW","field":""}'
    assert empty == '{"line":4,"reason":"MISSING_EMAIL","field":"email"}'
    listed.write_text(bob.replace("bob", "bob@example.com") + "\n" + empty)
    second = transfer(http_account, "import", str(listed))
    assert "2 rows: 1 created, 0 updated, 0 skipped, 1 failed." in second.stdout
    assert Path(f"{listed}.failures.ndjson").read_text() == empty.replace("4,", "2,") + "\n"
    row = http_account.ok("GetSubscriber", id="bob@example.com")["subscriber"]
    assert row["tags"] == ["a", "b"]


def test_failed_rows_of_a_resumed_import_of_a_table_are_listed_once(
    http_account: Account, tmp_path: Path
) -> None:
    rows = [[f"p{number}@example.com", f"line\n{number}"] for number in range(3_000)]
    rows[100][0] = rows[2_500][0] = "invalid"
    file = tmp_path / "people.csv"
    file.write_text(table_text([["email", "firstName"], *rows]), newline="")

    with interrupting(http_account.service.http, after=80_000) as proxy:
        first = transfer(http_account, "import", str(file), "--stream", url=proxy.url)
        second = transfer(http_account, "import", str(file), "--stream", url=proxy.url)

    assert (first.returncode, second.returncode) == (8, 1)
    with (tmp_path / "people.csv.failures.csv").open(newline="") as lines:
        assert list(csv.reader(lines)) == [
            ["email", "firstName", "line", "reason", "field"],
            ["invalid", "line\n100", "203", "INVALID_EMAIL", "email"],
            ["invalid", "line\n2500", "5003", "INVALID_EMAIL", "email"],
        ]


def test_array_on_one_line_is_incomplete_until_its_last_result(
    http_account: Account, tmp_path: Path
) -> None:
    file = tmp_path / "people.json"
    file.write_text(json.dumps(people(3_000)))

    with interrupting(http_account.service.http, after=80_000) as proxy:
        first = transfer(http_account, "import", str(file), "--stream", url=proxy.url)
        second = transfer(http_account, "import", str(file), "--stream", url=proxy.url)

    assert (first.returncode, second.returncode) == (8, 0)
    assert "3,000 rows: " in second.stdout
    assert total(http_account) == 3_000


def test_archive_is_read_from_a_pipe(http_account: Account) -> None:
    words, settings = command(http_account, "import", "-", "--json")

    done = subprocess.run(
        words, env=settings, input=zipped("a.csv", CSV), capture_output=True, timeout=60
    )

    assert (done.returncode, json.loads(done.stdout)["created"]) == (0, 2)


def test_archive_that_cannot_be_read_is_a_usage_error(
    http_account: Account, tmp_path: Path
) -> None:
    file = tmp_path / "people.zip"
    file.write_bytes(zipped("xl/workbook.xml", b""))

    code, line = failed_import(http_account, str(file))

    assert (code, f"{file} is an Excel workbook. Save the sheet as CSV" in line) == (2, True)


# Errors


def failed_import(account: Account, *arguments: str, url: str = "") -> tuple[int, str]:
    """Returns the exit code and the error line of an import."""
    done = transfer(account, "import", *arguments, url=url)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("roster: ")
    return done.returncode, line


def test_missing_file_is_reported(http_account: Account, tmp_path: Path) -> None:
    code, line = failed_import(http_account, f"{tmp_path}/nothing.csv")

    assert (code, f"{tmp_path}/nothing.csv" in line) == (2, True)


def test_api_key_is_required(http_account: Account, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))

    code, line = failed_import(http_account.with_key(""), file)

    assert (code, "ROSTER_API_KEY" in line) == (2, True)


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


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "http://", "http://127.0.0.1:99999", "ftp://x"])
def test_malformed_url_is_a_usage_error(http_account: Account, tmp_path: Path, url: str) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))

    code, line = failed_import(http_account, file, url=url)

    assert (code, url in line) == (2, True)


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


def test_unreachable_service_is_reported(
    http_account: Account, tmp_path: Path, unused_port: int
) -> None:
    file, url = (
        write_ndjson(tmp_path / "people.ndjson", people(1)),
        f"http://127.0.0.1:{unused_port}",
    )

    code, line = failed_import(http_account, file, url=url)

    assert (code, url in line) == (6, True)
    assert os.listdir(tmp_path) == ["people.ndjson"]


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


def test_interrupted_import_writes_a_checkpoint_and_a_hint(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(5_000))
    running: list[subprocess.Popen[str]] = []

    def interrupt() -> None:
        running[0].send_signal(signal.SIGINT)
        running[0].wait(timeout=30)

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


MAILCHIMP = (
    "Email Address,Name,UNSUB_TIME,LEID,EUID,Rating\n"
    "P0@example.com,Zoë Lee,2023-06-07 08:09:10,1,a,5\n"
    "P1@example.com,,last June,2,b,4\n"
)


def test_dry_run_reports_the_summary_and_stores_nothing(
    http_account: Account, tmp_path: Path
) -> None:
    file = tmp_path / "unsubscribed.csv"
    file.write_text(MAILCHIMP)

    result = transfer(http_account, "import", str(file), "--dry-run")

    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "2 rows: 2 created, 0 updated, 0 skipped, 0 failed.",
        "Preset: mailchimp.",
        "Statuses: 2 UNSUBSCRIBED.",
        "Columns ignored: LEID, EUID, Rating.",
        "Values not recognized in column UNSUB_TIME: 1, such as 'last June'.",
        "This was a dry run. Nothing was stored.",
    ]
    assert http_account.ok("ListSubscribers")["total"] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["unsubscribed.csv"]


def test_dry_run_lists_the_failed_rows(http_account: Account, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", [*people(1), {"email": "invalid"}])

    counts = counts_of(transfer(http_account, "import", file, "--dry-run", "--json"), 1)

    assert (counts["created"], counts["failed"]) == (1, 1)
    assert counts["failures"] == f"{file}.failures.ndjson"
    assert [(row["line"], row["reason"]) for row in failure_rows(file)] == [(2, "INVALID_EMAIL")]
    assert total(http_account) == 0


def test_options_of_an_import_reach_the_service(http_account: Account, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes("Contact;Who;Town\nP0@example.com;Lee, Zoë;Rome\n".encode("cp1252"))
    flags = (
        *("--map", "Contact=email", "--map", "Who=lastName+firstName", "--preset", "roster"),
        *("--unknown-columns", "create-fields", "--add-tag", "a", "--add-tag", "b"),
        *("--charset", "windows-1252", "--json"),
    )

    counts = counts_of(transfer(http_account, "import", str(file), *flags))

    assert counts["summary"]["createdFields"] == ["town"]
    (row,) = http_account.ok("ListSubscribers")["subscribers"]
    assert (row["firstName"], row["lastName"], row["tags"]) == ("Zoë", "Lee", ["a", "b"])
    assert row["customFields"] == {"town": "Rome"}


@pytest.mark.parametrize("way", [[], ["--stream"]], ids=["job", "stream"])
def test_consent_of_new_people_is_stated_by_flags(
    http_account: Account, tmp_path: Path, way: list[str]
) -> None:
    create_subscriber(http_account, "old@example.com")
    file = tmp_path / "people.csv"
    file.write_text("email\nold@example.com\nnew@example.com\n")
    flags = ("--on-conflict", "update", "--confirmed", "--consent-source", "Paper form", *way)

    counts = counts_of(transfer(http_account, "import", str(file), *flags, "--json"))

    assert counts["summary"]["statuses"] == {"CONFIRMED": 1}
    old, new = http_account.ok("ListSubscribers", view="FULL")["subscribers"]
    assert (old["status"], "consent" in old) == ("UNCONFIRMED", False)
    assert (new["status"], new["consent"]["source"]) == ("CONFIRMED", "Paper form")


def test_rows_can_be_filtered(http_account: Account, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("email,tags\nada@example.com,vip\nbob@example.com,\n")
    segment = http_account.ok("CreateSegment", name="VIPs", filter="tags:vip")["segment"]["id"]

    dry_run = transfer(http_account, "import", str(file), "--filter", "tags:vip", "--dry-run")
    result = transfer(http_account, "import", str(file), "--segment", segment)

    assert dry_run.returncode == result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[:2] == [
        "2 rows: 1 created, 0 updated, 1 skipped, 0 failed.",
        "  1 FILTERED: line 3",
    ]
    assert dry_run.stdout.splitlines()[:2] == result.stdout.splitlines()[:2]
    assert emails(http_account) == ["ada@example.com"]
