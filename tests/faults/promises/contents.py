"""Reads the stored data of one account, from either database."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from rosterd.server.features.accounts import store
from rosterd.server.storage.databases import bring_up_to_date, reading
from rosterd.server.storage.transaction import Transaction

from ...storage.helpers import differences, select

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


@dataclass(frozen=True)
class Contents:
    """The stored names with their counts and ids, and the idempotency keys with a stored response.

    `inconsistent` counts rows that one transaction should have written together but that differ.
    `integrity_errors` are what `roster check` finds.
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
    integrity_errors = differences(database_url)
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
    return sum((first - other).total() + (other - first).total() for other in others)


def _event_addresses(account: str, tx: Transaction) -> list[tuple[str, ...]]:
    """Returns the addresses in the subscriber.created events."""
    rows = _rows(_CREATED, account, tx)
    return [(json.loads(envelope)["data"]["subscriber"]["email"],) for (envelope,) in rows]


def _rows(sql: str, account: str, tx: Transaction) -> list[tuple[str, ...]]:
    return select(sql.replace("{account}", account), tx)
