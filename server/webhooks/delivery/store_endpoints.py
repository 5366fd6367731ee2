"""The endpoints of an account, as its deliveries go to them: what is due, what is on its way."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from peewee import fn

from ...events.rules import EventType
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..endpoints.store_reading import COLUMNS, IN_ACCOUNT, WebhookRow, row_of
from ..models import SENDING, Delivery, Webhook

_OF_IT = (Delivery.account_id == param("account_id")) & (Delivery.webhook_id == Webhook.id)
_ENDPOINTS = Statement(
    lambda _: (
        Webhook.select(
            *COLUMNS,
            Webhook.after_sequence,
            Delivery.select(fn.MIN(Delivery.due_at)).where(_OF_IT & Delivery.due_at.is_null(False)),
        )
        .where(IN_ACCOUNT)
        .order_by(Webhook.account_id, Webhook.id)
    ),
    without_account_lock=True,
)
_IN_FLIGHT = Statement(
    lambda _: (
        Delivery.select(Delivery.webhook_id, fn.COUNT(Delivery.id))
        .where(
            (Delivery.account_id == param("account_id"))
            & (Delivery.status == SENDING)
            & (Delivery.due_at > param("now"))
            # A test is no burden that others are to bear.
            & (Delivery.kind != param("but"))
        )
        .group_by(Delivery.account_id, Delivery.webhook_id)
    ),
    without_account_lock=True,
)


class Endpoint(NamedTuple):
    """Where deliveries go, while it is enabled: one that hears of events after `after_sequence`.

    The next delivery is due at `due_at`, if there is any.
    """

    webhook: WebhookRow
    after_sequence: int
    due_at: int | None


def endpoints_of(account_id: str, tx: Transaction) -> list[Endpoint]:
    """Returns the endpoints of an account, oldest first."""
    width = len(COLUMNS)
    rows = tx.all(_ENDPOINTS, account_id=account_id)
    return [Endpoint(row_of(row[:width]), *row[width:]) for row in rows]


def in_flight_counts(account_id: str, tx: Transaction) -> dict[str, int]:
    """Returns how many deliveries are on their way to each webhook, also to those that are gone."""
    rows = tx.all(_IN_FLIGHT, account_id=account_id, now=tx.now, but=EventType.WEBHOOK_TEST)
    return dict(rows)


def with_new_deliveries(
    endpoints: Sequence[Endpoint], webhook_ids: Collection[str], now: int
) -> list[Endpoint]:
    """Returns endpoints of which some have got deliveries that are due now."""
    return [
        each._replace(due_at=now if each.due_at is None else min(each.due_at, now))
        if each.webhook.id in webhook_ids
        else each
        for each in endpoints
    ]
