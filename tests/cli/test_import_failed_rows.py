"""Failed rows that `roster import` lists, corrected and imported again."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from ..conftest import Account
from .interruption import interrupting
from .transfers import (
    CSV,
    counts_of,
    emails,
    failed_import,
    file_next_to,
    people,
    total,
    transfer,
)

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


@pytest.mark.parametrize("way", [[], ["--stream"]], ids=["job", "stream"])
def test_opt_out_with_several_addresses_is_listed_once(
    http_account: Account, tmp_path: Path, way: list[str]
) -> None:
    """With its failure, if one of the addresses has one."""
    http_account.ok("CreateSubscriber", email="c@b.io")
    file = tmp_path / "people.csv"
    rows = ['"a@b.io; b@b.io",unsubscribed', '"c@b.io; d@b.io",unsubscribed', "e@b.io,active"]
    file.write_text("\n".join(["email,status", *rows]), encoding="utf-8")

    done = transfer(http_account, "import", str(file), *way)

    assert done.returncode == 1
    listed = file_next_to(str(file), "failures.csv").read_text(encoding="utf-8").splitlines()
    assert listed == [
        "email,status,line,reason,field",
        "a@b.io; b@b.io,unsubscribed,2,DROPPED_CELLS,email",
        "c@b.io; d@b.io,unsubscribed,3,ALREADY_EXISTS,email",
    ]


def test_failed_rows_with_other_cells_than_the_header_are_listed_as_they_are(
    http_account: Account,
) -> None:
    text = (
        'email,firstName\na@example.com,"A" x\nb@example.com,B,C\n'
        'c@example.com,"open\nd@example.com,D\n'
    )

    done = transfer(http_account, "import", "-", "--failures", "-", stdin=text.encode())

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


@pytest.mark.parametrize("after", [40_000, 40_110])  # One of them is between the results of a line.
def test_resumed_import_counts_every_result_of_a_line_with_several_addresses(
    http_account: Account, tmp_path: Path, after: int
) -> None:
    lines = [f"a{number}@b.io c{number}@b.io,UNSUBSCRIBED" for number in range(1_000, 2_000)]
    file = tmp_path / "people.csv"
    file.write_text("\n".join(["email,status", *lines]))

    with interrupting(http_account.service.http, after=after) as proxy:
        first = transfer(http_account, "import", str(file), "--stream", url=proxy.url)
        second = transfer(http_account, "import", str(file), "--stream", url=proxy.url)

    assert (first.returncode, second.returncode) == (8, 0)
    assert second.stdout.startswith("2,000 rows: ")


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
    done = transfer(http_account, "import", "-", "--json", stdin=zipped("a.csv", CSV))

    assert counts_of(done)["created"] == 2


def test_archive_that_cannot_be_read_is_a_usage_error(
    http_account: Account, tmp_path: Path
) -> None:
    file = tmp_path / "people.zip"
    file.write_bytes(zipped("xl/workbook.xml", b""))

    code, line = failed_import(http_account, str(file))

    assert (code, f"{file} is an Excel workbook. Save the sheet as CSV" in line) == (2, True)
