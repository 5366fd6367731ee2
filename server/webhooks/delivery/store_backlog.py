"""How much waits to be delivered, in the whole database: a figure for whoever operates it."""

from __future__ import annotations

from typing import NamedTuple

from peewee import JOIN, fn

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..models import Delivery, Webhook

_DUE_AT_WEBHOOK = (
    (Delivery.account_id == Webhook.account_id)
    & (Delivery.webhook_id == Webhook.id)
    & Delivery.due_at.is_null(False)
    & (Delivery.due_at <= param("now"))
)
# What waits for a webhook that is disabled, or was deleted, is not even looked at: an outer
# join has SQLite begin with the webhooks, and one where nothing is due adds nothing.
_BACKLOG = Statement(
    lambda _: (
        Webhook.select(fn.COUNT(Delivery.id), fn.MIN(Delivery.due_at))
        .join(Delivery, JOIN.LEFT_OUTER, on=_DUE_AT_WEBHOOK)
        .where(Webhook.enabled == param("enabled"))
    )
)


class Backlog(NamedTuple):
    """How many deliveries are due, and for how many milliseconds the oldest of them has been."""

    deliveries: int
    oldest: int


EMPTY = Backlog(0, 0)


def backlog_of_any_account(tx: Transaction) -> Backlog:
    """Returns what waits for webhooks that are enabled, of all accounts.

    What has failed counts when it is due again.
    """
    row = tx.one(_BACKLOG, now=tx.now, enabled=True)
    if row is None or row[1] is None:
        return EMPTY
    return Backlog(int(row[0]), tx.now - int(row[1]))
