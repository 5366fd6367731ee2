"""What a database holds of one account, as it says itself, whichever database it is."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw

from server.accounts import store
from server.config import PostgresUrl, parse_database_url
from server.storage.databases import bring_up_to_date, reading
from server.storage.transaction import Transaction
from server.subscribers.counters.store_buckets import BUCKET, GROUP, OPEN_BUCKET

from ...storage.helpers import select

# What is written for each subscriber in one transaction, and the query that gives the address
# of whom it is about. The first is the subscriber; all others have to tell of the same.
OF_SUBSCRIBERS = {
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
    "SELECT envelope FROM event WHERE account_id = '{account}' AND kind = 'subscriber.created'"
)
_KEPT = "SELECT key FROM has_stored_response WHERE account_id = '{account}'"
_TOTALS = (
    "SELECT coalesce(sum(CASE WHEN level IN ({levels}) THEN total END), 0)"
    " FROM subscriber_block WHERE account_id = '{account}'"
)


@dataclass(frozen=True)
class Contents:
    """What there is by its name, how often, and with which id; the keys of kept answers.

    `unequal` is how much of what is written together tells of different subscribers, or
    counts them differently; `damages` what the database finds wrong with itself.
    """

    made: Counter[str]
    ids: dict[str, str]
    kept: set[str]
    unequal: int
    damages: list[str]

    @classmethod
    def damaged(cls, error: Exception) -> Contents:
        """Returns what is left of a database that cannot be read."""
        return cls(Counter(), {}, set(), 0, [str(error)])


def account_in(database_url: str) -> str:
    """Returns the only account of a database; empty if there is none yet."""
    bring_up_to_date(database_url)
    with reading(database_url) as tx:
        return next((account.id for account in store.list_accounts(tx)), "")


def read(database_url: str, account: str) -> Contents:
    """Reads everything in one transaction beside whatever serves the database."""
    damages = damages_of(database_url)
    bring_up_to_date(database_url)
    with reading(database_url) as tx:
        rows = [(name.removesuffix("@example.com"), i) for name, i in _rows(_IDS, account, tx)]
        return Contents(
            Counter(name for name, _ in rows),
            dict(rows),
            {key for (key,) in _rows(_KEPT, account, tx)},
            _unequal(account, tx),
            damages,
        )


def _unequal(account: str, tx: Transaction) -> int:
    first, *others = (Counter(_rows(sql, account, tx)) for sql in OF_SUBSCRIBERS.values())
    ((webhooks,),) = _rows(_WEBHOOKS, account, tx)
    if int(webhooks):
        others.append(Counter(_told(account, tx)))
    count = sum((first - other).total() + (other - first).total() for other in others)
    for level in (BUCKET, GROUP):
        sql = _TOTALS.replace("{levels}", f"{level}, {OPEN_BUCKET}")
        ((total,),) = _rows(sql, account, tx)
        count += abs(int(total) - first.total())
    return count


def _told(account: str, tx: Transaction) -> list[tuple[str, ...]]:
    """Returns the addresses of the events that tell of a new subscriber."""
    rows = _rows(_CREATED, account, tx)
    return [(json.loads(envelope)["data"]["subscriber"]["email"],) for (envelope,) in rows]


def _rows(sql: str, account: str, tx: Transaction) -> list[tuple[str, ...]]:
    return select(sql.replace("{account}", account), tx)


def damages_of(database_url: str) -> list[str]:
    """Returns what SQLite finds wrong with a file. A PostgreSQL does not look for it."""
    place = parse_database_url(database_url)
    if isinstance(place, PostgresUrl):
        return []
    return damages_of_file(place)


def damages_of_file(path: Path) -> list[str]:
    """Returns what SQLite finds wrong with a file."""
    with closing(apsw.Connection(str(path))) as connection:
        told = [str(line) for (line,) in connection.execute("PRAGMA integrity_check")]
        orphans = [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
    return [line for line in told if line != "ok"] + orphans
