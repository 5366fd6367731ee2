"""Tests of `roster import`: results, formats, dry runs and options."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rosterd.server.cli.common.files import CHUNK_BYTES
from rosterd.server.cli.transfer import import_source
from rosterd.server.cli.transfer.compression import Decompressor, detect_compression

from ..behavior.helpers import create_subscriber
from ..conftest import Account
from .transfers import (
    CSV,
    counts_of,
    emails,
    failed_import,
    failure_rows,
    file_next_to,
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


@pytest.mark.parametrize(
    "name",
    ["zstd", *(pytest.param(n, marks=pytest.mark.verify) for n in COMPRESSED if n != "zstd")],
)
def test_compression_of_a_pipe_is_detected(http_account: Account, name: str) -> None:
    # The first byte alone does not identify the compression.
    done = transfer(http_account, "import", "-", "--json", stdin=COMPRESSED[name])

    assert counts_of(done)["created"] == 2


@pytest.mark.parametrize("content", COMPRESSED.values(), ids=COMPRESSED)
def test_compression_is_detected_if_the_first_bytes_arrive_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(import_source, "CHUNK_BYTES", 1)
    file = tmp_path / "people"
    file.write_bytes(content)

    async def read() -> bytes:
        source = import_source.Source(str(file))
        try:
            return b"".join([chunk async for chunk in source.chunks()])
        finally:
            source.close()

    assert asyncio.run(read()) == CSV


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("fault", ["truncated", pytest.param("corrupt", marks=pytest.mark.verify)])
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
