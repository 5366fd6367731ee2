"""roster import: what becomes of rows, what it prints, and how it goes on when it broke off."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from server.accounts.rules import make_secret
from server.cli.transfer.compression import Decompressor, detect_compression
from server.cli.transfer.files import CHUNK_BYTES

from ..conftest import Account, new_account
from ..processes import start
from .interruption import interrupting
from .transfers import (
    command,
    counts_of,
    emails,
    first_account,
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


def failure_rows(path: Path) -> list[tuple[str, ...]]:
    """Returns the rows of a table of failures, after a look at its header."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["line", "email", "reason", "field"]
    return [tuple(row) for row in rows]


def file_next_to(file: str, ending: str) -> Path:
    """Returns a file that belongs to an import."""
    return Path(f"{file}.{ending}")


@pytest.fixture
def unused_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


# What it does and says


def test_import_takes_every_row_and_leaves_nothing_behind(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1_200))

    done = transfer(http_account, "import", file)

    assert (done.returncode, done.stderr) == (0, "")
    assert "1,200 rows: 1,200 created, 0 updated, 0 skipped, 0 failed." in done.stdout
    assert emails(http_account) == [row["email"] for row in people(1_200)]
    assert os.listdir(tmp_path) == ["people.ndjson"]


def test_rows_that_fail_are_counted_and_listed_and_the_others_stay(
    http_account: Account, tmp_path: Path
) -> None:
    rows = [*people(2), {"email": "p1@example.com"}, {"email": "é, nobody"}, {"firstName": "x"}]
    rows.append({"email": "a@example.com", "firstName": 'so "much"' * 20})
    file = write_ndjson(tmp_path / "people.jsonl", rows)

    done = transfer(http_account, "import", file)

    assert done.returncode == 1
    assert "6 rows: 2 created, 0 updated, 0 skipped, 4 failed." in done.stdout
    assert "1 ALREADY_EXISTS" in done.stdout
    assert f"{file}.failures.csv" in done.stdout
    assert failure_rows(file_next_to(file, "failures.csv")) == [
        ("3", "p1@example.com", "ALREADY_EXISTS", "email"),
        ("4", "é, nobody", "INVALID_EMAIL", "email"),
        ("5", "", "MISSING_EMAIL", "email"),
        ("6", "a@example.com", "INVALID_FIELD", "firstName"),
    ]
    assert total(http_account) == 2
    assert not file_next_to(file, "roster-import").exists()


@pytest.mark.parametrize(
    ("on_conflict", "code", "outcome"),
    [("fail", 1, "failed"), ("skip", 0, "skipped"), ("update", 0, "updated")],
)
def test_row_whose_address_is_taken_becomes_what_was_asked(
    http_account: Account, tmp_path: Path, on_conflict: str, code: int, outcome: str
) -> None:
    http_account.ok("CreateSubscriber", email="P0@example.com", firstName="Old")
    file, listed = write_ndjson(tmp_path / "people.ndjson", people(2)), tmp_path / "elsewhere.csv"
    flags = ("--on-conflict", on_conflict, "--failures", str(listed), "--json")

    counts = counts_of(transfer(http_account, "import", file, *flags), code)

    nothing = dict.fromkeys(("created", "updated", "skipped", "failed"), 0)
    failed = outcome == "failed"
    assert counts == {
        **nothing,
        "created": 1,
        outcome: 1,
        "reasons": {"ALREADY_EXISTS": 1} if failed else {},
        "failures": str(listed) if failed else None,
        "resumedAfterLine": 0,
    }
    assert listed.exists() == failed
    kept = http_account.ok("GetSubscriber", id="p0@example.com")["subscriber"]["firstName"]
    assert kept == ("P0" if on_conflict == "update" else "Old")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.tsv", TAB),
        ("people.csv", TAB.replace(";", "|").replace("\t", ";")),
        ("people.txt", '\ufeff"Email",Tags\nada@example.com,"vip,early"\n'),
        ("people", ' \n{"email": "ada@example.com", "tags": ["vip", "early"]}'),
    ],
    ids=["tab by ending", "semicolon", "table by its first character", "json by its first"],
)
def test_form_is_found_by_the_ending_or_the_first_character(
    http_account: Account, tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")

    assert (
        counts_of(transfer(http_account, "import", str(tmp_path / name), "--json"))["created"] == 1
    )

    ada = http_account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert ada["tags"] == ["early", "vip"]


def test_format_flag_is_stronger_than_the_ending(http_account: Account, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "people.csv", people(1))

    assert counts_of(transfer(http_account, "import", file, "--format", "ndjson", "--json"))[
        "created"
    ]


TABLE = b"email\nada@example.com\nbo@example.com\n"
PACKED = {
    "gzip": gzip.compress(TABLE),
    "gzip in two members and a filled block": gzip.compress(TABLE[:20])
    + gzip.compress(TABLE[20:])
    + bytes(100),
    "zstd": zstd.compress(TABLE),
    "zstd in two frames after a skipped one": b"\x50\x2a\x4d\x18\x02\x00\x00\x00hi"
    + zstd.compress(TABLE[:20])
    + zstd.compress(TABLE[20:]),
    "not at all": TABLE,
}


@pytest.mark.parametrize("content", PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.csv.zst"])
def test_file_is_unpacked_by_its_content_whatever_its_name(
    http_account: Account, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)

    done = transfer(http_account, "import", str(tmp_path / name), "--json")

    assert counts_of(done)["created"] == 2


@pytest.mark.parametrize("content", PACKED.values(), ids=PACKED)
def test_pipe_is_unpacked_by_its_content(http_account: Account, content: bytes) -> None:
    words, settings = command(http_account, "import", "-", "--json")

    with subprocess.Popen(words, env=settings, stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        # The first byte alone does not say how the rest is packed.
        process.stdin.write(content[:1])
        process.stdin.flush()
        printed, _ = process.communicate(content[1:], timeout=60)

    assert (process.returncode, json.loads(printed)["created"]) == (0, 2)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("fault", ["truncated", "corrupt"])
def test_damaged_file_is_named_and_the_rows_before_the_damage_are_counted(
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
    said = re.search(
        r"Up to line ([\d,]+), ([\d,]+) rows were accepted and 0 failed\.", done.stderr
    )
    assert said is not None, done.stderr
    line, taken = (int(number.replace(",", "")) for number in said.groups())
    assert (line, taken) == (total(http_account) + 1, total(http_account))
    assert 0 < taken < 20_000
    # The row that was cut off is not taken for a shorter one.
    last = http_account.ok("ListSubscribers", limit=1, order="desc")["subscribers"][0]
    assert f"{last['email']},{last['firstName']}\n" in rows


def test_damage_before_the_first_row_is_named(http_account: Account, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(gzip.compress(TABLE)[:12])

    code, line = failed_import(http_account, str(file))

    assert (code, total(http_account)) == (2, 0)
    assert f"{file} cannot be read: it is damaged: the gzip data is truncated." in line


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_file_that_unpacks_to_a_line_without_end_is_refused(
    http_account: Account, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(pack(b"email\n" + bytes(b"x" * (1 << 26))))

    code, line = failed_import(http_account, str(file))

    assert (code, "1,048,576 bytes" in line) == (7, True)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_what_is_unpacked_comes_in_short_pieces(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(bytes(1 << 26))
    compression = detect_compression(packed)
    assert compression is not None
    decompressor = Decompressor(compression)

    sizes = [len(chunk) for chunk in decompressor.decompress(packed)]
    decompressor.finish()

    assert (sum(sizes), max(sizes)) == (1 << 26, CHUNK_BYTES)


def test_standard_input_is_read_and_leaves_no_file(http_account: Account) -> None:
    before = set(os.listdir())
    text = "email,firstName\nada@example.com,Ada\nnobody,\n"

    counts = counts_of(transfer(http_account, "import", "-", "--json", stdin=text), 1)

    assert (counts["created"], counts["failed"], counts["failures"]) == (1, 1, None)
    assert set(os.listdir()) == before


# What it cannot do


def failed_import(account: Account, *arguments: str, url: str = "") -> tuple[int, str]:
    """Returns the code and the one line with which an import ended."""
    done = transfer(account, "import", *arguments, url=url)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("roster: ")
    return done.returncode, line


def test_missing_file_is_named(http_account: Account, tmp_path: Path) -> None:
    code, line = failed_import(http_account, f"{tmp_path}/nothing.csv")

    assert (code, f"{tmp_path}/nothing.csv" in line) == (2, True)


def test_key_is_needed(http_account: Account, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))

    code, line = failed_import(http_account.with_key(""), file)

    assert (code, "ROSTER_API_KEY" in line) == (2, True)


def test_wrong_key_is_told_apart_from_a_key_of_too_small_a_scope(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))

    wrong = failed_import(http_account.with_key(make_secret()), file)
    small = failed_import(http_account.with_key(http_account.new_key("read")), file)

    assert (wrong[0], "does not accept this API key" in wrong[1]) == (7, True)
    assert (small[0], "scope" in small[1]) == (7, True)
    assert os.listdir(tmp_path) == ["people.ndjson"]


def test_list_of_failures_stays_while_nothing_new_is_known(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", [{"email": "nobody"}])
    listed = file_next_to(file, "failures.csv")
    transfer(http_account, "import", file)
    before = listed.read_bytes()

    failed_import(http_account.with_key(http_account.new_key("read")), file)
    after_refusal = listed.read_bytes()
    write_ndjson(Path(file), people(1))
    transfer(http_account, "import", file)

    assert after_refusal == before
    assert listed.read_bytes() == before


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "http://", "http://127.0.0.1:99999", "ftp://x"])
def test_malformed_address_is_a_fault_of_usage(
    http_account: Account, tmp_path: Path, url: str
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))

    code, line = failed_import(http_account, file, url=url)

    assert (code, url in line) == (2, True)


def test_other_program_that_answers_is_told_from_roster(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(1))
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "subscribers").write_text("<html></html>")
    handler = partial(QuietFiles, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        code, line = failed_import(http_account, file, url=f"http://127.0.0.1:{other.server_port}")
        other.shutdown()

    assert (code, "is not Roster" in line) == (7, True)


class QuietFiles(SimpleHTTPRequestHandler):
    """Another program: serves files."""

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def test_service_that_is_not_there_is_named(
    http_account: Account, tmp_path: Path, unused_port: int
) -> None:
    file, url = (
        write_ndjson(tmp_path / "people.ndjson", people(1)),
        f"http://127.0.0.1:{unused_port}",
    )

    code, line = failed_import(http_account, file, url=url)

    assert (code, url in line) == (6, True)
    assert os.listdir(tmp_path) == ["people.ndjson"]


def test_unknown_column_is_named(http_account: Account, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("email,shoe size\nada@example.com,7\n")

    code, line = failed_import(http_account, f"{tmp_path}/people.csv")

    assert (code, "shoe size" in line) == (7, True)
    assert os.listdir(tmp_path) == ["people.csv"]


def test_fault_in_the_middle_of_a_file_says_what_is_in_and_how_to_begin_again(
    http_account: Account, tmp_path: Path
) -> None:
    lines = ["email", *(f"p{number}@example.com" for number in range(1_500)), '"open']
    (tmp_path / "people.csv").write_text("\n".join(lines))

    code, line = failed_import(http_account, f"{tmp_path}/people.csv")

    assert (
        code,
        "line 1502" in line,
        "Up to line 1,501, 1,500 rows were accepted and 0 failed." in line,
    ) == (7, True, True)
    assert total(http_account) == 1_500


# Going on


def test_run_that_goes_on_tells_every_row_once_though_rows_were_stored_without_a_word(
    http_account: Account, tmp_path: Path
) -> None:
    for number in (1, 700, 2_900):
        http_account.ok("CreateSubscriber", email=f"p{number}@example.com")
    rows = people(3_000)
    rows[800]["email"] = rows[300]["email"]
    rows[2_000]["email"] = rows[1_999]["email"]
    rows[2_500]["email"] = "nobody"
    file, place = (
        write_ndjson(tmp_path / "people.ndjson", rows),
        tmp_path / "people.ndjson.roster-import",
    )

    with interrupting(http_account.service.http, after=80_000) as proxy:
        first = transfer(http_account, "import", file, url=proxy.url)
        told = json.loads(place.read_bytes())["tally"]["line"]
        stored = total(http_account)
        second = transfer(http_account, "import", file, "--json", url=proxy.url)

    assert first.returncode == 8
    assert f"resume after line {told:,}" in first.stderr
    assert told < stored == 2_997
    assert f"Resuming after line {told:,}" in second.stderr
    counts = counts_of(second, 1)
    assert (counts["created"], counts["failed"]) == (2_994, 6)
    assert counts["resumedAfterLine"] == told
    listed = failure_rows(file_next_to(file, "failures.csv"))
    assert [int(line) for line, *_ in listed] == [2, 701, 801, 2_001, 2_501, 2_901]
    assert [reason for _, _, reason, _ in listed].count("ALREADY_EXISTS") == 5
    assert total(http_account) == stored
    assert not place.exists()


@pytest.mark.parametrize(("on_conflict", "outcome"), [("skip", "skipped"), ("update", "updated")])
def test_rows_in_doubt_count_as_created_and_others_as_what_they_are(
    http_account: Account, tmp_path: Path, on_conflict: str, outcome: str
) -> None:
    http_account.ok("CreateSubscriber", email="p1400@example.com")
    file = write_ndjson(tmp_path / "people.ndjson", people(1_500))

    with interrupting(http_account.service.http, after=30_000) as proxy:
        flags = ("--on-conflict", on_conflict, "--json")
        assert transfer(http_account, "import", file, *flags, url=proxy.url).returncode == 8
        counts = counts_of(transfer(http_account, "import", file, *flags, url=proxy.url))

    assert (counts["created"], counts[outcome]) == (1_499, 1)


@pytest.mark.verify
def test_import_of_a_large_file_goes_on_after_the_service_was_killed(tmp_path: Path) -> None:
    rows = people(10_000)
    rows[7_000]["email"] = "nobody"
    file = write_ndjson(tmp_path / "people.ndjson", rows)
    killed = start(tmp_path)
    account = first_account(killed)
    with interrupting(
        killed.http, after=300_000, then=lambda: killed.stop(signal.SIGKILL)
    ) as proxy:
        first = transfer(account, "import", file, url=proxy.url)
        assert (first.returncode, "Run the same command again" in first.stderr) == (8, True)

        service = start(tmp_path, ROSTER_HTTP_ADDRESS=killed.http)
        try:
            half = total(account)
            counts = counts_of(transfer(account, "import", file, "--json", url=proxy.url), 1)
            stored = total(account)
        finally:
            service.stop()

    assert 0 < half < 9_999
    assert (counts["created"], counts["failed"], stored) == (9_999, 1, 9_999)
    assert counts["reasons"] == {"INVALID_EMAIL": 1}
    assert [line for line, *_ in failure_rows(file_next_to(file, "failures.csv"))] == ["7001"]


def test_changed_file_another_account_and_no_resume_start_over_and_say_why(
    http_account: Account, tmp_path: Path
) -> None:
    other = new_account(http_account.service, http_account.front)
    file = write_ndjson(tmp_path / "people.ndjson", people(2))
    place = file_next_to(file, "roster-import")
    with interrupting(http_account.service.http, after=2_000) as proxy:
        write_ndjson(Path(file), people(1_000))
        assert transfer(http_account, "import", file, url=proxy.url).returncode == 8
        left = place.read_bytes()

        by_other = transfer(other, "import", file, url=proxy.url)
        place.write_bytes(left)
        asked = transfer(
            http_account, "import", file, "--no-resume", "--on-conflict", "Skip", url=proxy.url
        )
        place.write_bytes(left)
        write_ndjson(Path(file), people(1_001))
        changed = transfer(http_account, "import", file, "--on-conflict", "skip", url=proxy.url)

    assert "The API key changed since the last run. Starting over." in by_other.stderr
    assert "1,000 created" in by_other.stdout
    assert (asked.stderr, "1,000 skipped" in asked.stdout) == ("", True)
    assert "The file changed since the last run. Starting over." in changed.stderr
    assert "1 created, 0 updated, 1,000 skipped" in changed.stdout


def test_interrupted_import_keeps_its_place_and_says_how_to_go_on(
    http_account: Account, tmp_path: Path
) -> None:
    file = write_ndjson(tmp_path / "people.ndjson", people(5_000))
    running: list[subprocess.Popen[str]] = []

    def interrupt() -> None:
        running[0].send_signal(signal.SIGINT)
        running[0].wait(timeout=30)

    with interrupting(http_account.service.http, after=200_000, then=interrupt) as proxy:
        words, settings = command(http_account, "import", file, url=proxy.url)
        running.append(subprocess.Popen(words, env=settings, stderr=subprocess.PIPE, text=True))
        said = running[0].communicate(timeout=30)[1]
        counts = counts_of(transfer(http_account, "import", file, "--json", url=proxy.url))

    assert running[0].returncode == 130
    assert said.startswith("roster: Interrupted. Run the same command again to resume after line ")
    assert "Traceback" not in said
    assert counts["created"] == 5_000
