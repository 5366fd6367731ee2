"""The check finds every kind of difference, also one that the API cannot cause."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from peewee import SQL

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.exports import store as exports
from rosterd.server.features.files import store as files
from rosterd.server.features.files.store import PartRow
from rosterd.server.features.imports.jobs import store as imports
from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations.rules import JobRequest, State, Type
from rosterd.server.features.subscribers.counters import store_counting
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.tags.rules import distinct
from rosterd.server.features.webhooks import store as webhooks
from rosterd.server.features.webhooks.delivery.store_expansion import endpoints_of, expand
from rosterd.server.features.webhooks.delivery.store_queue import lock
from rosterd.server.maintenance.check import check_account
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.findings import Check
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction

from ..cases import each
from ..cli.commands import json_output, roster
from .helpers import OURS, SUBSCRIBERS, SUPPRESSIONS, email, field, new

EXPORT = JobRequest(
    Type.SUBSCRIBERS_EXPORT, {}, {}, {"action": {}, "filter": ""}, [], by_admin=False
)
WEBHOOK = webhooks.NewWebhook("https://example.com/", "", (), enabled=True)
BOB = "id = (SELECT id FROM subscriber WHERE email = 'bob@example.com')"


@pytest.fixture(autouse=True)
def _small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_counting, "BUCKET_SIZE", 4)
    monkeypatch.setattr(store_counting, "GROUP_SIZE", 2)


@pytest.fixture
def account(tx: Transaction) -> str:
    """An account with subscribers in several buckets, changes, deletions and deliveries."""
    webhooks.create(OURS, WEBHOOK, lambda _: b"secret", tx)
    field(OURS, tx)
    rows = {n: new(f"s{n}", "vip", values={"city": "Bern"}) for n in range(30)}
    SUBSCRIBERS.create_many(OURS, rows, tx)
    for name in ("bob", "eve", "zoe"):
        SUBSCRIBERS.create(OURS, new(name, status=Status.UNCONFIRMED), tx)
    changes = Changes(email=email("Rob"), profile={"first_name": "Rob"}, tags=distinct(["news"]))
    SUBSCRIBERS.update(OURS, email("bob"), changes, tx)
    changes = Changes(email=email("bob"), profile={"first_name": "Bob"})
    SUBSCRIBERS.update(OURS, email("Rob"), changes, tx)
    for status in (Status.CONFIRMED, Status.UNSUBSCRIBED, Status.CONFIRMED):
        change_status(OURS, email("bob"), status, tx, by_admin=True)
    change_status(OURS, email("eve"), Status.COMPLAINED, tx, by_admin=True)
    for name in ("eve", "zoe", "s3", "s4"):
        SUBSCRIBERS.delete(OURS, email(name), tx)
    state = exports.create(OURS, EXPORT, 30, tx)
    for number in range(2):
        part = PartRow(number, 5 * number, 5, "", b"")
        files.put_part(OURS, state.row.file_id, part, 5 * number, tx)
    exports.put_progress(OURS, state.row, "0" * 64, tx)
    operations.end(OURS, state.operation, State.SUCCEEDED, tx)
    uploaded = files.create(OURS, tx.now + 1000, tx)
    imports.insert(OURS, import_of(uploaded.id, tx), tx)
    expand(OURS, lock(OURS, tx), endpoints_of(OURS, tx), tx)
    return OURS


def import_of(file_id: str, tx: Transaction) -> imports.ImportRow:
    """Returns an import of which nothing was received."""
    texts = dict.fromkeys(imports.ImportRow._fields, "")
    times = {"created_at": tx.now, "started_at": None, "ended_at": None}
    values: dict[str, Any] = {"id": tx.new_id(), "state": 1, "size": 9, "received": 0, **times}
    return imports.ImportRow(**{**texts, **values, "file_id": file_id})


@contextmanager
def damaged(sql: str, tx: Transaction) -> Iterator[None]:
    """Changes rows during a block, in which no foreign key is checked."""
    execute: Any = tx.database.execute_sql
    execute("SAVEPOINT damage")
    if tx.database.param == "?":
        execute("PRAGMA defer_foreign_keys = on")
    else:
        execute("SET LOCAL session_replication_role = replica")
    execute(sql)
    yield
    execute("ROLLBACK TO SAVEPOINT damage")


# What was changed, and the checks that find it.
DAMAGE = {
    "UPDATE statistic SET total = total + 1 WHERE name = 'status:2'": {Check.STATUS_TOTALS},
    "DELETE FROM statistic WHERE name = 'status:2'": {Check.STATUS_TOTALS},
    "UPDATE statistic SET total = 1 WHERE name > 'tag:' AND name < 'tag~'": {Check.TAG_TOTALS},
    "INSERT INTO statistic SELECT account_id, 0, 'tag:none:1', 1 FROM event_stream": {
        Check.TAG_TOTALS
    },
    "UPDATE statistic SET total = 1 WHERE name = 'created'": {Check.FLOWS},
    "UPDATE statistic SET total = total + 1 WHERE name = 'growth'": {Check.FLOWS},
    "UPDATE statistic SET total = total + 1 WHERE name = 'deleted' AND day < 0": {Check.FLOWS},
    "UPDATE statistic SET day = day - 1 WHERE name = 'created' AND day < 0": {Check.FLOWS},
    "UPDATE subscriber_bucket SET total = total + 1 WHERE level = 0": {Check.COUNTERS},
    "UPDATE subscriber_bucket SET total = total + 1 WHERE level = 1": {Check.COUNTERS},
    "DELETE FROM subscriber_bucket": {Check.COUNTERS},
    "UPDATE subscriber_bucket SET first_id = '00' WHERE level = 0 AND first_id = ''": {
        Check.COUNTERS
    },
    f"UPDATE subscriber SET revision = 1 WHERE {BOB}": {Check.REVISIONS},
    f"UPDATE subscriber SET revision = 2 * revision WHERE {BOB}": {Check.REVISIONS},
    f"UPDATE subscriber SET status_revision = revision + 1 WHERE {BOB}": {Check.REVISIONS},
    f"UPDATE subscriber SET origin = NULL WHERE {BOB}": {Check.HISTORY},
    f"UPDATE subscriber SET origin = '[]' WHERE {BOB}": {Check.HISTORY},
    f"UPDATE subscriber SET first_name = 'Eve' WHERE {BOB}": {Check.HISTORY},
    f"UPDATE subscriber SET status = 1 WHERE {BOB}": {
        Check.STATUS_TOTALS,
        Check.TAG_TOTALS,
        Check.FLOWS,
        Check.HISTORY,
    },
    f"DELETE FROM subscriber_history WHERE type = 'STATUS_CHANGED' AND subscriber_{BOB}": {
        Check.HISTORY
    },
    "UPDATE tag SET id = '0' WHERE name = 'vip'": {Check.REFERENCES},
    "UPDATE custom_field SET key = 'town'": {Check.REFERENCES},
    "UPDATE subscriber_history SET subscriber_id = '0'": {Check.REFERENCES, Check.HISTORY},
    "UPDATE custom_field SET data_type = 2": {Check.VALUES},
    "UPDATE custom_field SET data_type = 2 + 16": {Check.VALUES},
    "UPDATE custom_value SET value = '1', text_key = NULL, number_key = 1": {Check.VALUES},
    "UPDATE stored_file SET size = size + 1": {Check.FILES},
    "DELETE FROM file_part WHERE part = 0": {Check.FILES},
    "UPDATE file_part SET size = 4 WHERE part = 0": {Check.FILES},
    "DELETE FROM subscriber_export": {Check.ORPHANED_FILES},
    "UPDATE subscriber_export SET sha256 = ''": {Check.FILES},
    "DELETE FROM import_job": {Check.ORPHANED_FILES},
    "UPDATE import_job SET received = 1": {Check.FILES},
    "DELETE FROM stored_file": {Check.MISSING_FILES},
    "DELETE FROM event WHERE sequence = 5": {Check.EVENTS, Check.DELIVERIES},
    "UPDATE event SET event_type = 'tag.created' WHERE sequence = 1": {Check.EVENTS},
    "UPDATE event SET envelope = '{' WHERE sequence = 1": {Check.EVENTS},
    "UPDATE event_stream SET webhook_count = 0": {Check.EVENTS},
    "UPDATE event_stream SET sequence = sequence + 1": {Check.EVENTS},
    "UPDATE delivery_queue SET expanded_sequence = expanded_sequence + 1000": {Check.DELIVERIES},
    "UPDATE delivery SET event_id = '0' WHERE sequence = 1": {Check.DELIVERIES},
    "DELETE FROM suppression": {Check.SUPPRESSIONS},
}


@each(("sql", "checks"), {sql: (sql, checks) for sql, checks in DAMAGE.items()})
def test_every_kind_of_difference_is_found(
    sql: str, checks: set[Check], tx: Transaction, account: str
) -> None:
    assert check_account(account, tx, SUPPRESSIONS).findings == []

    with damaged(sql, tx):
        findings = check_account(account, tx, SUPPRESSIONS).findings

    assert {finding.check for finding in findings} == checks
    assert all(finding.examples for finding in findings)


# What a repair counts again, and what it cannot know.
COUNTED = (
    "UPDATE statistic SET total = total + 1 WHERE day = 0",
    "UPDATE subscriber_bucket SET total = total + 1",
)
NOT_COUNTED = "UPDATE subscriber SET status_revision = revision + 1"


def execute(url: str, sql: str) -> None:
    with unit_of_work(url) as tx:
        tx.run(Statement(lambda _: SQL(sql)))


def test_repair_counts_again_what_differs_and_changes_nothing_else(url: str) -> None:
    with unit_of_work(url) as tx:
        account = accounts.create_account("ada@example.com", tx, verified=True).id
        SUBSCRIBERS.create_many(account, {n: new(f"s{n}", "vip") for n in range(30)}, tx)
    assert json_output(url, "check", "--account", account)["subscribers"] == 30
    for sql in (*COUNTED, NOT_COUNTED):
        execute(url, sql)

    damaged = roster("check", ROSTER_DATABASE_URL=url)
    repaired = roster("check", "--repair", "--json", ROSTER_DATABASE_URL=url)

    assert (damaged.returncode, damaged.stderr) == (1, "")
    assert "CONFIRMED is 31, expected 30" in damaged.stdout
    report = json.loads(repaired.stdout)
    counted = ["counters", "totals by status", "totals by tag"]
    assert [each["check"] for each in report["repaired"]] == counted
    (left,) = report["findings"]
    assert (left["accountId"], left["check"], left["total"]) == (account, "revisions", 30)
    assert (repaired.returncode, report["differences"]) == (1, 30)
    execute(url, "UPDATE subscriber SET status_revision = 0")
    assert json_output(url, "check")["findings"] == []


def test_repair_deletes_orphaned_files_only(url: str) -> None:
    with unit_of_work(url) as tx:
        account = accounts.create_account("ada@example.com", tx, verified=True).id
        used = exports.create(account, EXPORT, 0, tx).row.file_id
        orphaned = files.create(account, tx.now + 60_000, tx).id
        # The next purge deletes it.
        files.create(account, tx.now - 1, tx)

    damaged = roster("check", ROSTER_DATABASE_URL=url)
    report = json_output(url, "check", "--repair")

    assert damaged.returncode == 1
    assert f"the file {orphaned} belongs to no export or import" in damaged.stdout
    assert [each["check"] for each in report["repaired"]] == ["orphaned files"]
    assert report["findings"] == []
    with unit_of_work(url) as tx:
        assert list(files.every(account, tx)) == [used]
    execute(url, "UPDATE stored_file SET size = size + 1")
    differing = roster("check", ROSTER_DATABASE_URL=url)
    assert (differing.returncode, f"the size of the file {used}" in differing.stdout) == (1, True)
    assert "--repair" not in differing.stdout


def test_a_missing_file_is_listed_and_no_error(url: str) -> None:
    """As after the restore of a backup."""
    with unit_of_work(url) as tx:
        account = accounts.create_account("ada@example.com", tx, verified=True).id
        files.delete(account, exports.create(account, EXPORT, 0, tx).row.file_id, tx)

    report = json_output(url, "check", "--repair")

    (found,) = report["findings"]
    assert (found["check"], found["isError"], found["total"]) == ("missing files", False, 1)


def test_rows_of_missing_accounts_are_found(url: str) -> None:
    with unit_of_work(url) as tx:
        SUBSCRIBERS.create(OURS, new("ada"), tx)

    done = roster("check", ROSTER_DATABASE_URL=url)

    assert done.returncode == 1
    assert f"subscriber has rows of the missing account {OURS}" in done.stdout
