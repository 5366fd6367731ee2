"""Reads how many deliveries are due in the whole database, for the metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from peewee import JOIN, fn

from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ..models import Delivery, Webhook
from .store_conditions import DUE

_DUE_AT_WEBHOOK = (
    (Delivery.account_id == Webhook.account_id) & (Delivery.webhook_id == Webhook.id) & DUE
)
# The outer join makes SQLite start with the enabled webhooks, so deliveries to disabled or
# deleted webhooks are not read.
_BACKLOG = Statement(
    lambda _: (
        Webhook.select(fn.COUNT(Delivery.id), fn.MIN(Delivery.due_at))
        .join(Delivery, JOIN.LEFT_OUTER, on=_DUE_AT_WEBHOOK)
        .where(Webhook.enabled == param("enabled"))
    )
)


class Backlog(NamedTuple):
    """The number of due deliveries, and how many milliseconds ago the oldest became due."""

    deliveries: int
    oldest: int


EMPTY = Backlog(0, 0)


def backlog_of_any_account(tx: Transaction) -> Backlog:
    """Returns the backlog of the enabled webhooks of all accounts.

    A failed delivery counts again when its retry is due.
    """
    rows = tx.all(_BACKLOG, now=tx.now, enabled=True)
    return total(Backlog(count, tx.now - oldest) for count, oldest in rows if count)


def total(backlogs: Iterable[Backlog]) -> Backlog:
    """Returns the sum of backlogs, such as those of several nodes."""
    parts = list(backlogs)
    return Backlog(
        sum(part.deliveries for part in parts), max((part.oldest for part in parts), default=0)
    )
