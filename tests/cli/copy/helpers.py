"""What the tests of roster copy have in common: databases of both kinds with something in them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from server.accounts import store as accounts
from server.config import PostgresUrl, parse_database_url
from server.idempotency.store import StoredResponseRow, put
from server.ids import first_id_at
from server.storage.copy.copy import Copied, Copy, ReportProgress
from server.storage.copy.opening import both_endpoints
from server.storage.database import StorageError
from server.storage.databases import reading, unit_of_work
from server.storage.installation import save_key_fingerprint
from server.storage.transaction import Transaction
from server.subscribers.fields import Status
from server.tags import store as tags
from server.webhooks import store as webhooks
from server.webhooks.delivery import store_replays
from server.webhooks.delivery.store_leases import lease_due
from server.webhooks.delivery.store_replays import ReplayFilter
from server.webhooks.delivery.store_results import FinishedAttempt, record_attempts
from server.webhooks.endpoints.signing import Secrets, make_secret
from server.webhooks.store import NewWebhook

from ...postgres import Postgres
from ...storage.helpers import ENCRYPTION, SUBSCRIBERS, SUPPRESSIONS, field, new, select
from ..test_commands import roster

PEOPLE = 300
# Rows at a time, so that a few hundred make many batches.
BATCH = 64
SECRET, OLD_SECRET = make_secret(), make_secret()
TEXTS = (
    "a\tb",
    "line\nbreak\r",
    "\\N",
    "\\.",
    '"quoted", and ;',
    "'",
    "ﬀ é 漢 \U0001f600",
)


class Places:
    """Makes databases: a new file or a new database on a server each time."""

    def __init__(self, folder: Path, postgres: Postgres) -> None:
        self._folder, self._postgres, self._number = folder, postgres, 0

    def new(self, kind: str) -> str:
        if kind == "postgres":
            return self._postgres.new_database()
        self._number += 1
        return f"sqlite:///{self._folder}/{self._number}.db"

    def copy_of(self, file: str) -> str:
        """Returns a file with the same contents, that nobody has locked."""
        other = self.new("sqlite")
        shutil.copy(*(url.removeprefix("sqlite:///") for url in (file, other)))
        return other


def fill(tx: Transaction, people: int = PEOPLE, hook: str = "https://example.com/hook") -> str:
    """Stores something of everything, and returns the id of an account.

    What is left of its deliveries goes to `hook`.
    """
    save_key_fingerprint(ENCRYPTION.fingerprint(), tx)
    own = accounts.create_account("ada@example.com", tx, verified=True).id
    other = accounts.create_account("bob@example.com", tx, verified=False).id
    accounts.create_key(own, "for ever", "admin", "hash", tx)
    accounts.create_key(own, "for a while", "read", "other hash", tx, expires_at=2**41)
    for key in ("city", "note"):
        field(own, tx, key)
    for first in range(0, people, 100):
        texts = {n: {"note": text} for n, text in enumerate(TEXTS)} if first == 0 else {}
        rows = {
            n: new(f"ada{first + n}", "vip", f"tag {n % 7}", values=texts.get(n, {"city": "Turin"}))
            for n in range(100)
        }
        SUBSCRIBERS.create_many(own, rows, tx)
    SUBSCRIBERS.create(other, new("Ada", status=Status.COMPLAINED), tx)
    tags.create(own, "by an older version", "\x01\x7f", tx)
    SUPPRESSIONS.add(own, "gone@example.com", 4, tx)
    put(own, "key", StoredResponseRow("fingerprint", bytes(range(256))), tx)
    fill_deliveries(own, hook, tx)
    return own


def fill_deliveries(own: str, hook: str, tx: Transaction) -> None:
    """Stores a webhook and an event of each kind: sent, failed, being sent, and not looked at.

    All but the last are to be delivered once more.
    """
    new = NewWebhook(hook, "", ("tag.*",), enabled=True)
    webhook = webhooks.create(own, new, partial(encrypted, own, OLD_SECRET), tx)
    webhooks.rotate(own, webhook.id, partial(encrypted, own, SECRET), tx)
    for name in ("sent", "failed"):
        tags.create(own, name, "", tx)
    sent, failed = (leased.delivery for leased in lease_due(own, tx).deliveries)
    finished = [
        FinishedAttempt(sent, tx.now, 5, 200, "", "ok", None, 0.5, hook),
        FinishedAttempt(failed, tx.now, 5, 503, "answered 503", "\\x00", None, 0.5, hook),
    ]
    record_attempts(own, finished, tx)
    tags.create(own, "being sent", "", tx)
    lease_due(own, tx)
    everything = ReplayFilter(first_id_at(0), None, [], only_failed=False)
    store_replays.create(own, webhook.id, everything, tx)
    tags.create(own, "not looked at", "", tx)


def encrypted(account_id: str, secret: str, webhook_id: str) -> bytes:
    """Returns a secret as the databases keep it."""
    return Secrets(ENCRYPTION).encrypt(account_id, webhook_id, secret)


def copy(
    source: str, target: str, report_progress: ReportProgress = lambda rows, total: None
) -> list[Copied]:
    """Copies as the command does, in small batches."""
    places = [parse_database_url(url) for url in (source, target)]
    urls = [place.url if isinstance(place, PostgresUrl) else place for place in places]
    with both_endpoints(*urls) as sides:
        return Copy(*sides, str(places[0]), report_progress).run()


def command(source: str, target: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    return roster("copy", "--from", source, "--to", target, *flags)


def error_response(source: str, target: str) -> str:
    """Returns why a copy is refused."""
    with pytest.raises(StorageError) as caught:
        copy(source, target)
    return str(caught.value)


class Broken(Exception):
    """Ends a copy where a test wants it to end."""


def broken_off(source: str, target: str, rows: int) -> None:
    """Copies until so many rows were read."""

    def report_progress(read: int, _: int) -> None:
        if read >= rows:
            raise Broken

    with pytest.raises(Broken):
        copy(source, target, report_progress)


def whole(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Returns every row of every table, in the same form from either kind of database."""
    with reading(url) as tx:
        tables = sorted(set(tx._database.get_tables()) - {"schema_migration"})
        return {
            name: sorted(
                tuple(int(value) if isinstance(value, bool) else value for value in row)
                for row in select(f'SELECT * FROM "{name}"', tx)
            )
            for name in tables
        }


def change(url: str, work: Callable[[Transaction], object]) -> None:
    """Changes a database between two runs."""
    with unit_of_work(url) as tx:
        work(tx)
