"""Reads the stored data of one account, from either database."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw

from rosterd.server.features.accounts import store
from rosterd.server.features.subscribers.counters.store_counting import BUCKET, GROUP, OPEN_BUCKET
from rosterd.server.storage.databases import bring_up_to_date, reading
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.database_url import PostgresUrl, parse_database_url

from ...storage.helpers import select

# Rows that one transaction writes for a subscriber, with queries of their email addresses. All
# queries must return the same addresses as the first.
SUBSCRIBER_ROWS = {
    "subscriber": "SELECT email FROM subscriber WHERE account_id = '{account}'",
    "tag on the subscriber": (
        "SELECT email FROM subscriber_tag JOIN subscriber"
        " ON subscriber.account_id = subscriber_tag.account_id AND id = subscriber_id"
        " WHERE subscriber_tag.account_id = '{account}'"
    ),
}
_IDS = (
    "SELECT email, id FROM subscriber WHERE account_id = '{account}' UNION ALL"
    " SELECT name, id FROM api_key WHERE account_id = '{account}'"
)
_WEBHOOKS = "SELECT COUNT(*) FROM webhook WHERE account_id = '{account}'"
_CREATED = (
    "SELECT envelope FROM event"
    " WHERE account_id = '{account}' AND event_type = 'subscriber.created'"
)
_IDEMPOTENCY_KEYS = "SELECT key FROM idempotent_response WHERE account_id = '{account}'"
_TOTALS = (
    "SELECT coalesce(sum(CASE WHEN level IN ({levels}) THEN total END), 0)"
    " FROM subscriber_bucket WHERE account_id = '{account}'"
)


@dataclass(frozen=True)
class Contents:
    """The stored names with their counts and ids, and the idempotency keys with a stored response.

    `inconsistent` counts rows that one transaction should have written together but that differ.
    `integrity_errors` are those that the database reports.
    """

    names: Counter[str]
    ids: dict[str, str]
    idempotency_keys: set[str]
    inconsistent: int
    integrity_errors: list[str]

    @classmethod
    def unreadable(cls, error: Exception) -> Contents:
        """Returns the contents of a database that cannot be read."""
        return cls(Counter(), {}, set(), 0, [str(error)])


def account_in(database_url: str) -> str:
    """Returns the only account of a database, or an empty string if there is none yet."""
    bring_up_to_date(database_url)
    with reading(database_url) as tx:
        return next((account.id for account in store.list_accounts(tx)), "")


def read(database_url: str, account: str) -> Contents:
    """Reads everything in one transaction, while a service may use the database."""
    integrity_errors = find_integrity_errors(database_url)
    bring_up_to_date(database_url)
    with reading(database_url) as tx:
        rows = [(name.removesuffix("@example.com"), i) for name, i in _rows(_IDS, account, tx)]
        return Contents(
            Counter(name for name, _ in rows),
            dict(rows),
            {key for (key,) in _rows(_IDEMPOTENCY_KEYS, account, tx)},
            _count_inconsistent(account, tx),
            integrity_errors,
        )


def _count_inconsistent(account: str, tx: Transaction) -> int:
    first, *others = (Counter(_rows(sql, account, tx)) for sql in SUBSCRIBER_ROWS.values())
    ((webhooks,),) = _rows(_WEBHOOKS, account, tx)
    if int(webhooks):
        others.append(Counter(_event_addresses(account, tx)))
    count = sum((first - other).total() + (other - first).total() for other in others)
    for level in (BUCKET, GROUP):
        sql = _TOTALS.replace("{levels}", f"{level}, {OPEN_BUCKET}")
        ((total,),) = _rows(sql, account, tx)
        count += abs(int(total) - first.total())
    return count


def _event_addresses(account: str, tx: Transaction) -> list[tuple[str, ...]]:
    """Returns the addresses in the subscriber.created events."""
    rows = _rows(_CREATED, account, tx)
    return [(json.loads(envelope)["data"]["subscriber"]["email"],) for (envelope,) in rows]


def _rows(sql: str, account: str, tx: Transaction) -> list[tuple[str, ...]]:
    return select(sql.replace("{account}", account), tx)


def find_integrity_errors(database_url: str) -> list[str]:
    """Returns the integrity errors of a SQLite file. PostgreSQL has no such check."""
    database = parse_database_url(database_url)
    if isinstance(database, PostgresUrl):
        return []
    return find_file_integrity_errors(database)


def find_file_integrity_errors(path: Path) -> list[str]:
    with closing(apsw.Connection(str(path))) as connection:
        errors = [str(line) for (line,) in connection.execute("PRAGMA integrity_check")]
        orphans = [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
    return [line for line in errors if line != "ok"] + orphans
