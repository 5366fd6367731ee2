"""The newest ids of events and of deliveries, from which those of a service go on.

Both lie in the order of each account. So an account that has or had a webhook is asked for
its own, which an index tells at once, and nothing is walked through.
"""

from __future__ import annotations

from peewee import fn

from ...events import store_reading as events
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..models import Delivery
from .store_queue import ids_of_any_account_with_queue

_NEWEST = Statement(
    lambda _: Delivery.select(fn.MAX(Delivery.id)).where(Delivery.account_id == param("account_id"))
)


def newest_id_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest id of all, or None. For the start of the service."""
    found = [
        own_id
        for account_id in ids_of_any_account_with_queue(tx)
        for own_id in (events.newest_id(account_id, tx), _newest_delivery(account_id, tx))
        if own_id is not None
    ]
    return max(found, default=None)


def _newest_delivery(account_id: str, tx: Transaction) -> str | None:
    row = tx.one(_NEWEST, account_id=account_id)
    return row[0] if row else None
