"""Reads the endpoints of an account with the due time and number of their deliveries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from peewee import fn

from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ...events.rules import EventType
from ..endpoints.store_reading import COLUMNS, IN_ACCOUNT, WebhookRow, row_of
from ..models import SENDING, Delivery, Webhook
from . import store_conditions as deliveries

_FIRST_DUE_AT = Delivery.select(fn.MIN(Delivery.due_at)).where(
    deliveries.IN_ACCOUNT & (Delivery.webhook_id == Webhook.id) & deliveries.HAS_DUE_TIME
)
_ENDPOINTS = Statement(
    lambda _: (
        Webhook.select(Webhook.after_sequence, _FIRST_DUE_AT, *COLUMNS)
        .where(IN_ACCOUNT)
        .order_by(Webhook.account_id, Webhook.id)
    ),
    without_account_lock=True,
)
_IN_FLIGHT = Statement(
    lambda _: (
        Delivery.select(Delivery.webhook_id, fn.COUNT(Delivery.id))
        .where(
            deliveries.IN_ACCOUNT
            & (Delivery.status == SENDING)
            & (Delivery.due_at > param("now"))
            # Test deliveries do not use the capacity of other deliveries.
            & (Delivery.kind != param("excluded_event_type"))
        )
        .group_by(Delivery.account_id, Delivery.webhook_id)
    ),
    without_account_lock=True,
)


class Endpoint(NamedTuple):
    """A webhook that receives events after `after_sequence` while it is enabled.

    `due_at` is the due time of its next delivery; None if it has none.
    """

    webhook: WebhookRow
    after_sequence: int
    due_at: int | None


def endpoints_of(account_id: str, tx: Transaction) -> list[Endpoint]:
    """Returns the endpoints of an account, oldest first."""
    return [
        Endpoint(row_of(webhook), after_sequence, due_at)
        for after_sequence, due_at, *webhook in tx.all(_ENDPOINTS, account_id=account_id)
    ]


def in_flight_counts(account_id: str, tx: Transaction) -> dict[str, int]:
    """Returns the number of deliveries being sent per webhook, including deleted webhooks."""
    excluded = EventType.WEBHOOK_TEST
    return dict(tx.all(_IN_FLIGHT, account_id=account_id, now=tx.now, excluded_event_type=excluded))


def with_new_deliveries(
    endpoints: Sequence[Endpoint], webhook_ids: Collection[str], now: int
) -> list[Endpoint]:
    """Returns the endpoints, with deliveries due now for the given webhooks."""
    return [
        endpoint._replace(due_at=min(endpoint.due_at or now, now))
        if endpoint.webhook.id in webhook_ids
        else endpoint
        for endpoint in endpoints
    ]
