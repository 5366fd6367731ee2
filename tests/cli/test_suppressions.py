"""Tests of `roster suppressions`."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

from rosterd.server.serving.console import ExitCode

from ..conftest import Account
from .transfers import transfer


def reason(account: Account, email: str) -> str:
    return str(account.ok("GetSuppression", id=email)["suppression"]["reason"])


def test_added_addresses_are_suppressed(http_account: Account) -> None:
    account = http_account
    account.ok("CreateSubscriber", email="ada@example.com")

    done = transfer(
        account, "suppressions", "add", "ada@example.com", "b@example.com", "--reason", "bounced"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Suppressed: 2. Suppressed before: 0. Failed: 0. Subscribers opted out: 1.\n"
    )
    assert reason(account, "b@example.com") == "BOUNCED"


def test_invalid_address_is_printed_and_the_others_are_suppressed(http_account: Account) -> None:
    done = transfer(http_account, "suppressions", "add", "ada@example.com", "unknown", "")

    assert done.returncode == ExitCode.ROWS_FAILED
    assert done.stderr.splitlines() == [
        "roster: unknown: INVALID_EMAIL.",
        "roster: no address: MISSING_EMAIL.",
    ]
    assert done.stdout == (
        "Suppressed: 1. Suppressed before: 0. Failed: 2. Subscribers opted out: 0.\n"
    )


def test_list_is_imported_and_failed_rows_are_printed(
    http_account: Account, tmp_path: Path
) -> None:
    path = tmp_path / "list.csv.gz"
    path.write_bytes(
        gzip.compress(b"Email Address,Reason,Origin\na@example.com,spam,x\nunknown,,\n,,\n")
    )

    done = transfer(http_account, "suppressions", "import", str(path))

    assert done.returncode == ExitCode.ROWS_FAILED
    assert done.stderr.splitlines() == [
        "roster: Line 3, unknown: INVALID_EMAIL (email).",
        "roster: Line 4, no address: MISSING_EMAIL (email).",
    ]
    assert done.stdout.splitlines() == [
        "Suppressed: 1. Suppressed before: 0. Failed: 2. Subscribers opted out: 0.",
        "Columns ignored: Origin.",
    ]
    assert reason(http_account, "a@example.com") == "COMPLAINED"


def test_columns_and_cells_of_a_list_are_read_as_the_options_say(
    http_account: Account, tmp_path: Path
) -> None:
    path = tmp_path / "list.csv"
    path.write_text("Contact,When\nX <x@b.io>,31.12.2023\ny@b.io,n/a\nz@b.io,12/31/2023\n")
    words = ("--map", "Contact=email", "--map", "#2=createdAt", "--null-token", "n/a")

    done = transfer(
        http_account, "suppressions", "import", str(path), *words, "--date-format", "dmy"
    )

    assert done.returncode == 0, done.stderr
    assert "Suppressed: 3." in done.stdout
    assert "column When: 1, such as '12/31/2023'. There is no such day" in done.stdout
    assert "with --date-format dmy" in done.stdout
    found = http_account.ok("GetSuppression", id="x@b.io")["suppression"]
    assert found["createdAt"] == "2023-12-31T00:00:00.000Z"


def test_unknown_column_that_may_have_the_reasons_is_an_error_before_any_row_is_sent(
    http_account: Account, tmp_path: Path
) -> None:
    path = tmp_path / "list.csv"
    path.write_text("E-Mail;Anlass;Datum\na@b.io;Beschwerde;2024-03-01\n")
    words = ("suppressions", "import", str(path))

    refused = transfer(http_account, *words)

    assert refused.returncode == ExitCode.USAGE
    assert "Unknown columns: Anlass. Nothing was sent." in refused.stderr
    assert '--map "Anlass=reason"' in refused.stderr
    assert http_account.ok("ListSuppressions")["total"] == 0
    done = transfer(http_account, *words, "--map", "Anlass=reason")
    assert (done.returncode, done.stderr) == (0, "")
    assert reason(http_account, "a@b.io") == "COMPLAINED"


def test_list_that_is_not_read_to_its_end_reports_the_stored_addresses(
    http_account: Account, tmp_path: Path
) -> None:
    path = tmp_path / "list.csv"
    lines = ["email", *(f"p{number}@b.io" for number in range(1_500)), "é"]
    path.write_text("\n".join(lines), encoding="latin-1")

    done = transfer(http_account, "suppressions", "import", str(path))

    assert done.returncode == ExitCode.REJECTED
    assert "such as --charset windows-1252 (line 1502, byte 1)" in done.stderr
    assert "Up to line 1,501, 1,500 rows were accepted and 0 failed." in done.stderr


def test_counts_are_printed_as_json(http_account: Account, tmp_path: Path) -> None:
    path = tmp_path / "list.ndjson"
    path.write_text('{"email": "a@example.com"}\n', encoding="utf-8")

    done = transfer(http_account, "suppressions", "import", str(path), "--json")

    assert json.loads(done.stdout)["added"] == 1


def test_suppressions_are_exported_to_a_file(http_account: Account, tmp_path: Path) -> None:
    http_account.ok("AddSuppressions", emails=["a@example.com", "b@example.com"])
    path = tmp_path / "out.csv"
    path.write_text("before", encoding="utf-8")

    done = transfer(http_account, "suppressions", "export", str(path))

    assert (done.returncode, done.stderr) == (0, "")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows == http_account.ok("ListSuppressions")["suppressions"]
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]


def test_suppressions_are_exported_to_standard_output(http_account: Account) -> None:
    http_account.ok("AddSuppressions", emails=["a@example.com"])

    done = transfer(http_account, "suppressions", "export")

    assert [json.loads(line) for line in done.stdout.splitlines()] == (
        http_account.ok("ListSuppressions")["suppressions"]
    )


def test_folder_is_not_a_target(http_account: Account, tmp_path: Path) -> None:
    done = transfer(http_account, "suppressions", "export", str(tmp_path))

    assert done.returncode == ExitCode.USAGE
    assert "cannot be written" in done.stderr
