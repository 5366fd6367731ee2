"""Reads the newest ID of events and deliveries; new IDs start after it.

Both tables are ordered by account, so each account that has or had a webhook is read
separately, by an index.
"""

from __future__ import annotations

from peewee import fn

from ....storage.statements import Statement
from ....storage.transaction import Transaction
from ...events import store_reading as events
from ..models import Delivery
from .store_conditions import IN_ACCOUNT
from .store_queue import ids_of_any_account_with_queue

_NEWEST = Statement(lambda _: Delivery.select(fn.MAX(Delivery.id)).where(IN_ACCOUNT))


def newest_id_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest ID of all accounts, or None. Runs when the service starts."""
    newest = (
        newest_id
        for account_id in ids_of_any_account_with_queue(tx)
        for newest_id in (
            events.newest_id(account_id, tx),
            tx.scalar(_NEWEST, account_id=account_id),
        )
    )
    return max(filter(None, newest), default=None)
