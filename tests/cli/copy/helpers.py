"""Databases of both kinds with rows in every table, and helpers that copy them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.accounts import store_keys
from rosterd.server.features.audit.store import record_command
from rosterd.server.features.imports.jobs import store as import_jobs
from rosterd.server.features.imports.jobs.rules import State
from rosterd.server.features.imports.jobs.store import FailedRow, ImportRow
from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations.rules import BatchRequest, ReplayRequest
from rosterd.server.features.operations.store_filters import OperationFilters
from rosterd.server.features.segments import store as segments
from rosterd.server.features.sessions import store as sessions
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.query.syntax import parse
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.suppressions.rules import NewSuppression, Reason
from rosterd.server.features.tags import store as tags
from rosterd.server.features.webhooks import store as webhooks
from rosterd.server.features.webhooks.delivery import store_replays
from rosterd.server.features.webhooks.delivery.store_replays import ReplayStore
from rosterd.server.features.webhooks.delivery.store_results import (
    FinishedAttempt,
    record_attempts,
    run_cycle,
)
from rosterd.server.features.webhooks.endpoints.signing import Secrets, make_secret
from rosterd.server.features.webhooks.store import NewWebhook
from rosterd.server.rpc.idempotency.store import StoredResponseRow, put
from rosterd.server.serving.secret_key import DataKeys, encrypt_keys
from rosterd.server.storage.copy.copy import Copied, Copy, ReportProgress
from rosterd.server.storage.copy.opening import open_endpoints
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.databases import reading, unit_of_work
from rosterd.server.storage.installation import save_keys
from rosterd.server.storage.migrate import FILE_TABLES, OWN_TABLES
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.database_url import PostgresUrl, parse_database_url

from ...citus.cluster import Cluster
from ...features.webhooks.replays import everything
from ...postgres import Postgres
from ...storage.helpers import ENCRYPTION, SUBSCRIBERS, SUPPRESSIONS, field, new, select
from ..commands import roster

PEOPLE = 300
# A batch size that splits a few hundred rows into many batches.
BATCH = 64
SECRET, OLD_SECRET = make_secret(), make_secret()
TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
}
TEXTS = (
    "a\tb",
    "line\nbreak\r",
    "\\N",
    "\\.",
    '"quoted", and ;',
    "'",
    "ﬀ é 漢 \U0001f600",
)


class Databases:
    """Creates empty databases: files, or databases on a server."""

    def __init__(self, folder: Path, server: Postgres | Cluster) -> None:
        self._folder, self._server, self._number = folder, server, 0

    def new(self, kind: str, *, migrated: bool = True) -> str:
        """Creates a file, which has no tables yet, or a database on the server."""
        if kind == "postgres":
            return self._server.new_roster() if migrated else self._server.new_database()
        self._number += 1
        return f"sqlite:///{self._folder}/{self._number}.db"

    def copy_of(self, file: str) -> str:
        """Returns an unlocked copy of the file."""
        other = self.new("sqlite")
        shutil.copy(*(url.removeprefix("sqlite:///") for url in (file, other)))
        return other


def create_everything(
    tx: Transaction, people: int = PEOPLE, hook: str = "https://example.com/hook"
) -> str:
    """Creates rows in every table, and returns the ID of an account.

    `hook` is the URL of its webhook, which has unfinished deliveries.
    """
    save_keys(encrypt_keys(bytes(32), DataKeys(bytes(range(32)))), tx)
    account_id = accounts.create_account("ada@example.com", tx, verified=True).id
    other = accounts.create_account("bob@example.com", tx, verified=False, display_name="Bob").id
    accounts.set_logo(account_id, "image/png", bytes(range(256)), tx)
    store_keys.create_key(account_id, "permanent", "admin", "hash", tx)
    store_keys.create_key(account_id, "temporary", "read", "other hash", tx, expires_at=2**41)
    sessions.create_session(account_id, TEXTS[0], "admin", "token hash", tx)
    sessions.create_link(account_id, TEXTS[0], "read", "link hash", 2**41, tx)
    for key in ("city", "note"):
        field(account_id, tx, key)
    for first in range(0, people, 100):
        texts = {n: {"note": text} for n, text in enumerate(TEXTS)} if first == 0 else {}
        rows = {
            n: new(f"ada{first + n}", "vip", f"tag {n % 7}", values=texts.get(n, {"city": "Turin"}))
            for n in range(100)
        }
        SUBSCRIBERS.create_many(account_id, rows, tx)
    SUBSCRIBERS.create(other, new("Ada", status=Status.COMPLAINED), tx)
    changed, gone = (SUBSCRIBERS.create(other, new(name), tx) for name in ("changed", "gone"))
    change_status(other, changed.id, Status.UNSUBSCRIBED, tx, by_admin=True)
    SUBSCRIBERS.delete(other, gone.id, tx)
    tags.create(account_id, "by an older version", "\x01\x7f", tx)
    SUPPRESSIONS.add(account_id, [NewSuppression("gone@example.com", Reason.BOUNCED)], tx)
    tree = parse("tags:vip")
    segments.create(account_id, "VIPs", "tags:vip", tree, "", tx)
    message = {"action": {"delete": True}, "filter": "tags:vip", "dryRun": True}
    request = BatchRequest(message, ["tags:vip"], by_admin=True)
    operations.create(account_id, request, None, people, tx)
    OperationFilters().change_segment(account_id, tx)
    create_import(account_id, tx)
    record_command(account_id, "tag.created", tx, after={"id": account_id, "name": TEXTS[0]})
    put(account_id, "key", StoredResponseRow("fingerprint", bytes(range(256))), tx)
    create_deliveries(account_id, hook, tx)
    return account_id


def create_import(account_id: str, tx: Transaction) -> None:
    """Creates an import that has ended, with a failed row."""
    row = ImportRow(
        id=tx.new_id(),
        state=State.SUCCEEDED,
        name=TEXTS[0],
        size=2**31,
        received=2**31,
        sha256="hash",
        file_id="",
        options="{}",
        inspection="{}",
        progress="{}",
        error="",
        operation_id=tx.new_id(),
        erased="",
        actor='["command", "", ""]',
        created_at=tx.now,
        started_at=tx.now,
        ended_at=None,
    )
    import_jobs.insert(account_id, row, tx)
    failed = FailedRow(2, "VALIDATION_ERROR", "email", TEXTS)
    import_jobs.add_failures(account_id, row.id, [failed], tx)


def create_deliveries(account_id: str, hook: str, tx: Transaction) -> None:
    """Creates a webhook with an event in each state: sent, failed, leased, and not expanded.

    A replay covers all events except the last.
    """
    new = NewWebhook(hook, "", ("tag.*",), enabled=True)
    webhook = webhooks.create(account_id, new, partial(encrypted, account_id, OLD_SECRET), tx)
    webhooks.rotate(account_id, webhook.id, partial(encrypted, account_id, SECRET), tx)
    for name in ("sent", "failed"):
        tags.create(account_id, name, "", tx)
    sent, failed = (leased.delivery for leased in run_cycle(account_id, [], 2, tx)[1].deliveries)
    finished = [
        FinishedAttempt(sent, tx.now, 5, 200, "", "ok", None, 0.5, hook),
        FinishedAttempt(failed, tx.now, 5, 503, "HTTP 503", "\\x00", None, 0.5, hook),
    ]
    record_attempts(account_id, finished, tx)
    tags.create(account_id, "leased", "", tx)
    run_cycle(account_id, [], 1, tx)
    replay = store_replays.create(account_id, everything(webhook.id), tx)
    request = replay.content
    assert isinstance(request, ReplayRequest)
    ReplayStore().deliver(account_id, replay.id, request, 0, request.until_sequence, tx)
    tags.create(account_id, "not expanded", "", tx)


def encrypted(account_id: str, secret: str, webhook_id: str) -> bytes:
    return Secrets(ENCRYPTION).encrypt(account_id, webhook_id, secret)


def copy(
    source: str, target: str, report_progress: ReportProgress = lambda *_: None
) -> list[Copied]:
    """Copies a database in this process."""
    locations = [parse_database_url(url) for url in (source, target)]
    urls = [
        location.url if isinstance(location, PostgresUrl) else location for location in locations
    ]
    with open_endpoints(*urls) as endpoints:
        return Copy(*endpoints, str(locations[0]), report_progress).run()


def command(source: str, target: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return roster("copy", "--from", source, "--to", target, *flags)


def copy_error(source: str, target: str) -> str:
    """Returns the error of a rejected copy."""
    with pytest.raises(StorageError) as caught:
        copy(source, target)
    return str(caught.value)


class InterruptedCopy(Exception):
    """Stops a copy."""


def interrupted_copy(source: str, target: str, rows: int) -> None:
    """Copies until this number of rows is read."""

    def report_progress(read: int, _: int) -> None:
        if read >= rows:
            raise InterruptedCopy

    with pytest.raises(InterruptedCopy):
        copy(source, target, report_progress)


def all_rows(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Returns the rows of every table, in the same form from both kinds of databases."""
    with reading(url) as tx:
        names = select(TABLES[url.partition(":")[0]], tx)
        tables = sorted({name for (name,) in names} - {*OWN_TABLES, *FILE_TABLES})
        return {
            name: sorted(
                tuple(int(value) if isinstance(value, bool) else value for value in row)
                for row in select(f'SELECT * FROM "{name}"', tx)
            )
            for name in tables
        }


def change(url: str, work: Callable[[Transaction], object]) -> None:
    with unit_of_work(url) as tx:
        work(tx)
