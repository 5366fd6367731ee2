"""roster check"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..config import Settings
from ..features.accounts import store as accounts
from ..features.suppressions.store import Suppressions
from ..maintenance.check import Report, check_database
from ..security.encryption import Encryption
from ..serving.console import CommandError, ExitCode, echo, pluralized
from ..serving.secret_key import available_data_keys, check_secret_key
from ..storage.databases import Begin, transactions
from ..storage.findings import REPAIRABLE, Finding
from ..values.database_url import DatabaseLocation
from .common.endings import interruptible
from .common.options import database_url_option, json_option, secret_key_option
from .common.output import print_json


@click.command()
@click.option(
    "--account", default="", metavar="ID", help="Check this account only. Default: all accounts."
)
@click.option(
    "--repair", is_flag=True, help="Recount counters and totals, and delete orphaned files."
)
@database_url_option
@secret_key_option
@json_option
def check(account: str, repair: bool, database_url: str, secret_key: str, json: bool) -> None:
    """Compare the stored data with itself. Works while the service runs.

    Counts subscribers again and compares the counters and statistics, revisions, histories,
    references between rows, types of values, files, events and deliveries. Changes nothing without
    --repair. Also lists exports and imports without their file and, with the secret key, deleted
    subscribers who had opted out and are not suppressed. These are not errors. Exit codes: 1 if
    something differs, 4 if the database cannot be used, 5 if the account does not exist.
    """
    location = Settings.database_url.parse(database_url)
    check_secret_key(secret_key)
    began = time.monotonic()
    with interruptible("Interrupted."), transactions(database_url) as begin:
        with begin(read_only=True) as tx:
            if account and accounts.find_account(account, tx) is None:
                raise CommandError(f"Account {account} does not exist.", ExitCode.NOT_FOUND)
        suppressions = _suppressions(begin, secret_key, location)
        report = check_database(begin, location, account, suppressions, repairs=repair)
    seconds = time.monotonic() - began
    if json:
        print_json({**as_json(report), "seconds": round(seconds, 3)})
    else:
        echo("\n".join([*lines(report), _summary(report, seconds)]))
    if report.errors:
        raise SystemExit(ExitCode.DIFFERENCES)


def _suppressions(begin: Begin, setting: str, location: DatabaseLocation) -> Suppressions | None:
    """Returns None if the secret key is not available. Raises StorageError for another key."""
    with begin(read_only=True) as tx:
        keys = available_data_keys(setting, location, tx)
    return None if keys is None else Suppressions(Encryption(*keys))


def lines(report: Report) -> Iterator[str]:
    """Yields what was found, in words."""
    for account_id, findings in report.repaired.items():
        yield from _lines(f"account {account_id}: repaired", findings)
    yield from _lines("database", report.findings)
    for checked in report.differing:
        yield from _lines(f"account {checked.account_id}", checked.findings)


def _lines(subject: str, findings: Sequence[Finding]) -> Iterator[str]:
    for check, number, examples in findings:
        more = f"; and {number - len(examples):,} more" if number > len(examples) else ""
        yield f"{subject}: {check}: {'; '.join(examples)}{more}"


def _summary(report: Report, seconds: float) -> str:
    read = ", ".join(
        pluralized(count, noun)
        for count, noun in (
            (report.accounts, "account"),
            (report.subscribers, "subscriber"),
            (report.events, "event"),
        )
    )
    text = f"Checked {read} in {seconds:.1f} s: {pluralized(report.errors, 'difference')}."
    found = {each.check for checked in report.differing for each in checked.findings}
    if found & REPAIRABLE:
        text += (
            " To recount counters and totals, and delete orphaned files, run: roster check --repair"
        )
    return text


def as_json(report: Report) -> dict[str, Any]:
    return {
        "accounts": report.accounts,
        "subscribers": report.subscribers,
        "events": report.events,
        "differences": report.errors,
        "findings": [
            *_findings(None, report.findings),
            *(
                each
                for checked in report.differing
                for each in _findings(checked.account_id, checked.findings)
            ),
        ],
        "repaired": [
            each
            for account_id, findings in report.repaired.items()
            for each in _findings(account_id, findings)
        ],
    }


def _findings(account_id: str | None, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "accountId": account_id,
            "check": each.check,
            "isError": each.is_error,
            "total": each.total,
            "examples": each.examples,
        }
        for each in findings
    ]
