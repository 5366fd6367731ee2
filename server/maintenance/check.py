"""Compares the stored data of accounts with itself, and repairs what is counted.

Each account is read in one transaction, so that it is consistent while services write. A repair
counts again in transactions with the account lock: one for the counters of the account, and one
for each total. It also deletes orphaned files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..features.accounts import store as accounts
from ..features.accounts.store import AccountRow
from ..features.custom_fields.store_check import check_values
from ..features.subscribers.counters.store_counting import rebuild_counters
from ..features.subscribers.counters.store_recounting import differing_totals, recount_total
from ..features.subscribers.store_check import check_subscribers
from ..features.suppressions.store import Suppressions
from ..features.webhooks.store_check import check_events
from ..storage.account_rows import account_tables
from ..storage.backups.verify import file_errors
from ..storage.databases import Begin
from ..storage.findings import COUNTED, Check, Finding, Findings
from ..storage.migrate import applied_at
from ..storage.transaction import Transaction
from ..values.database_url import DatabaseLocation
from .check_files import check_files, delete_orphaned_files
from .pauses import paused_after

# The migration since which the flows of a day are counted.
_FLOWS_BEGIN = "0007_segments_and_statistics"


class Checked(NamedTuple):
    """The findings of an account, and what was read of it."""

    account_id: str
    subscribers: int
    events: int
    findings: list[Finding]


@dataclass
class Report:
    """The findings of a database, those of its accounts, and what was read and repaired."""

    findings: list[Finding] = field(default_factory=list)
    accounts: int = 0
    subscribers: int = 0
    events: int = 0
    # Without the accounts that have no findings.
    differing: list[Checked] = field(default_factory=list)
    # By account.
    repaired: dict[str, list[Finding]] = field(default_factory=dict)

    @property
    def errors(self) -> int:
        """The number of differences that are errors."""
        found = [*self.findings, *(each for one in self.differing for each in one.findings)]
        return sum(each.total for each in found if each.is_error)


def check_database(
    begin: Begin,
    location: DatabaseLocation,
    account_id: str = "",
    suppressions: Suppressions | None = None,
    *,
    repairs: bool = False,
) -> Report:
    """Checks a database and its accounts, or one account, and repairs what is counted."""
    report = Report()
    if not account_id:
        report.findings = _check_whole(begin, location)
    with begin(read_only=True) as tx:
        rows = [row for row in accounts.list_accounts(tx) if account_id in ("", row.id)]
        flows_begin = applied_at(tx.database, _FLOWS_BEGIN)
    for row in rows:
        has_all_flows = flows_begin is not None and row.created_at >= flows_begin
        check = partial(_check, begin, row, suppressions, has_all_flows=has_all_flows)
        checked = check()
        repaired = repair(begin, checked) if repairs else []
        if repaired:
            report.repaired[row.id] = repaired
            checked = check()
        report.accounts += 1
        report.subscribers += checked.subscribers
        report.events += checked.events
        if checked.findings:
            report.differing.append(checked)
    return report


def _check_whole(begin: Begin, location: DatabaseLocation) -> list[Finding]:
    """Finds damage of a file, and rows of accounts that do not exist."""
    findings = Findings()
    for error in file_errors(location) if isinstance(location, Path) else ():
        findings.add(Check.FILE, error)
    with begin(read_only=True) as tx:
        found = {table.name: table.ids_of_all_accounts(tx) for table in account_tables(tx.database)}
        # Read last, because an account is created before its rows.
        existing = {row.id for row in accounts.list_accounts(tx)}
    for name, ids in sorted(found.items()):
        for account_id in sorted(set(ids) - existing):
            findings.add(Check.ACCOUNTS, f"{name} has rows of the missing account {account_id}")
    return findings.all()


def _check(
    begin: Begin, row: AccountRow, suppressions: Suppressions | None, *, has_all_flows: bool
) -> Checked:
    with begin(read_only=True) as tx:
        return check_account(row.id, tx, suppressions, has_all_flows=has_all_flows)


def check_account(
    account_id: str,
    tx: Transaction,
    suppressions: Suppressions | None = None,
    *,
    has_all_flows: bool = True,
) -> Checked:
    """Checks an account in one transaction.

    `has_all_flows` is whether the account is not older than the statistics of days.
    """
    findings = Findings()
    subscribers = check_subscribers(account_id, tx, findings, has_all_flows=has_all_flows)
    check_values(account_id, tx, findings)
    check_files(account_id, tx, findings)
    events = check_events(account_id, tx, findings, suppressions)
    return Checked(account_id, subscribers, events, findings.all())


def repair(begin: Begin, checked: Checked) -> list[Finding]:
    """Counts again what differs in an account, and deletes its orphaned files.

    Returns the findings that this concerns.
    """
    found = [each for each in checked.findings if each.check in COUNTED]
    account_id, checks = checked.account_id, {each.check for each in found}
    if Check.COUNTERS in checks:
        with begin() as tx:
            rebuild_counters(account_id, tx)
    if checks - {Check.COUNTERS}:
        with begin(read_only=True) as tx:
            names = list(differing_totals(account_id, tx))
        for name in names:
            with paused_after(), begin() as tx:
                recount_total(account_id, name, tx)
    if any(each.check is Check.ORPHANED_FILES for each in checked.findings):
        found += delete_orphaned_files(begin, account_id)
    return found
