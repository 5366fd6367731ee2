"""Reads the deliveries of one event to existing webhooks, and removes their responses."""

from __future__ import annotations

from peewee import ModelSelect

from ....storage.statements import Dialect, Statement, param
from ....storage.transaction import Transaction
from ..models import Delivery, DeliveryAttempt, Webhook
from .store_deliveries import COLUMNS, DeliveryRow

_OF_EVENT = (
    (Delivery.account_id == param("account_id"))
    & (Delivery.sequence == param("sequence"))
    & (Delivery.id > param("after"))
)


def _webhook_ids() -> ModelSelect[Webhook]:
    """Selects the webhooks of the account, at most 20: deliveries are indexed by webhook."""
    return Webhook.select(Webhook.id).where(Webhook.account_id == param("account_id"))


def _of_event(dialect: Dialect) -> ModelSelect[Delivery]:
    query = Delivery.select(*COLUMNS).where(_OF_EVENT)
    return query.where(dialect.within(Delivery.webhook_id, _webhook_ids())).order_by(Delivery.id)


_DELIVERIES = Statement(_of_event)
_REMOVE_RESPONSES = Statement(
    lambda dialect: DeliveryAttempt.update({DeliveryAttempt.answer: param("answer")}).where(
        (DeliveryAttempt.account_id == param("account_id"))
        & dialect.any_of(DeliveryAttempt.delivery_id, "ids")
    )
)


def deliveries_of(
    account_id: str, sequence: int, tx: Transaction, after: str = ""
) -> list[DeliveryRow]:
    """Returns the deliveries of an event with a greater ID, in the order of IDs."""
    rows = tx.all(_DELIVERIES, account_id=account_id, sequence=sequence, after=after)
    return [DeliveryRow._make(row) for row in rows]


def remove_responses(account_id: str, sequence: int, tx: Transaction) -> None:
    """Removes the responses of endpoints to the deliveries of an event."""
    ids = [row.id for row in deliveries_of(account_id, sequence, tx)]
    if ids:
        tx.run(_REMOVE_RESPONSES, account_id=account_id, ids=ids, answer="")
