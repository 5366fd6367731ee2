"""Stores the history of subscribers."""

from __future__ import annotations

from collections.abc import Iterable

from ..storage.statements import Statement
from ..storage.transaction import Transaction
from .history import Entry
from .models import SubscriberHistory

_ADD = Statement(
    lambda dialect: dialect.insert_all(
        SubscriberHistory.account_id,
        (
            SubscriberHistory.subscriber_id,
            SubscriberHistory.id,
            SubscriberHistory.type,
            SubscriberHistory.source,
            SubscriberHistory.actor,
            SubscriberHistory.changes,
        ),
        "rows",
    )
)


def add_history(
    account_id: str, subscriber_id: str, entries: Iterable[Entry], tx: Transaction
) -> None:
    """Adds entries to the history of a subscriber. One statement."""
    rows = [(subscriber_id, tx.new_id(), *entry) for entry in entries]
    if rows:
        tx.run(_ADD, account_id=account_id, rows=rows)
