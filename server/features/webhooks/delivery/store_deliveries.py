"""Reads deliveries to existing webhooks with their attempts, and retries them.

Each attempt of an account has a position, assigned under the lock of the queue. So positions
become visible in ascending order, and a reader that continues after the last position it has
read misses no attempt.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from peewee import SQL, Case, ModelSelect, fn

from ....rpc.errors import WebhookDeliveryNotFound
from ....storage.statements import Dialect, Statement, param, params
from ....storage.transaction import Transaction
from ...events import store_reading as events
from ...events.store_subscriber import select_about
from ..endpoints import store_reading as webhooks
from ..models import PENDING, SENDING, Delivery, DeliveryAttempt, DeliveryQueue, Webhook
from ..rules import DeliveryState
from .store_queue import IN_ACCOUNT, OF_WEBHOOK, ONE, ids_of_any_account_with_queue, wake

# Attempts that are returned with a delivery; each has at most 8 KiB of a response.
MAX_ATTEMPTS = 100


class DeliveryRow(NamedTuple):
    """A stored delivery. Times are in milliseconds; `replay_id` is empty outside of replays.

    `next_attempt_at` is the earliest time of the next attempt of a pending delivery, not before
    the end of the webhook's pause. It is None while the webhook is disabled.
    """

    id: str
    webhook_id: str
    event_id: str
    event_type: str
    status: int
    attempts: int
    next_attempt_at: int | None
    replay_id: str
    created_at: int
    finished_at: int | None


class AttemptRow(NamedTuple):
    """A stored attempt. `http_status` is None without a response, `error` empty on success.

    `request_headers` is a JSON object; it is empty, or None, if the headers are not stored.
    """

    number: int
    started_at: int
    duration_ms: int
    http_status: int | None
    error: str
    response_body: str
    request_headers: str | None
    next_attempt_at: int | None


class TailRecord(NamedTuple):
    """A finished attempt, and its delivery as it is now."""

    delivery: DeliveryRow
    attempt: AttemptRow


class TailBatch(NamedTuple):
    """Attempts in order, and the position to continue after."""

    records: list[TailRecord]
    position: int


_LATER = Case(
    None, [(Webhook.paused_until > Delivery.due_at, Webhook.paused_until)], Delivery.due_at
)
_NEXT_ATTEMPT_AT = Webhook.select(_LATER).where(
    OF_WEBHOOK & Webhook.enabled & (Delivery.status == PENDING)
)
COLUMNS = tuple(
    _NEXT_ATTEMPT_AT if name == "next_attempt_at" else getattr(Delivery, name)
    for name in DeliveryRow._fields
)
_ATTEMPT_COLUMNS = tuple(getattr(DeliveryAttempt, name) for name in AttemptRow._fields)
_ATTEMPT_IN_ACCOUNT = DeliveryAttempt.account_id == param("account_id")

_FIND = Statement(lambda _: Delivery.select(*COLUMNS).join(Webhook, on=OF_WEBHOOK).where(ONE))
_ATTEMPTS = Statement(
    lambda _: (
        DeliveryAttempt.select(*_ATTEMPT_COLUMNS)
        .where(_ATTEMPT_IN_ACCOUNT & (DeliveryAttempt.delivery_id == param("id")))
        .order_by(
            DeliveryAttempt.account_id.desc(),
            DeliveryAttempt.delivery_id.desc(),
            DeliveryAttempt.number.desc(),
        )
        .limit(param("limit"))
    )
)
_RETRY = Statement(
    lambda _: Delivery.update(
        params(Delivery.status, Delivery.step, Delivery.due_at, Delivery.finished_at)
    ).where(ONE & (Delivery.status != SENDING))
)
_NEWEST = Statement(lambda _: Delivery.select(fn.MAX(Delivery.id)).where(IN_ACCOUNT))


def _of_event(dialect: Dialect) -> ModelSelect[Delivery]:
    return (
        Delivery.select(*COLUMNS)
        .where(
            IN_ACCOUNT
            & (Delivery.sequence == param("sequence"))
            & (Delivery.id > param("after"))
            & dialect.within(Delivery.webhook_id, webhooks.IDS)
        )
        .order_by(Delivery.id)
    )


def _receivers(dialect: Dialect) -> ModelSelect[Delivery]:
    return (
        Delivery.select(Webhook.id, Webhook.url, fn.COUNT(Delivery.sequence.distinct()))
        .join(Webhook, on=OF_WEBHOOK)
        .where(
            IN_ACCOUNT
            & dialect.within(Delivery.sequence, select_about())
            & ((Delivery.attempts > SQL("0")) | (Delivery.status == SENDING))
        )
        .group_by(Webhook.id, Webhook.url)
        .order_by(Webhook.id)
    )


def _attempts_after() -> ModelSelect[Any]:
    return (
        DeliveryAttempt.select(DeliveryAttempt.position, *COLUMNS, *_ATTEMPT_COLUMNS)
        .join(Delivery, on=IN_ACCOUNT & (Delivery.id == DeliveryAttempt.delivery_id))
        .join(Webhook, on=OF_WEBHOOK)
        .where(
            _ATTEMPT_IN_ACCOUNT
            & (DeliveryAttempt.position > param("position"))
            & (DeliveryAttempt.position <= param("last_position"))
        )
        .order_by(DeliveryAttempt.account_id, DeliveryAttempt.position)
        .limit(param("limit"))
    )


_OF_EVENT = Statement(_of_event)
_RECEIVERS = Statement(_receivers)
_REMOVE_REQUESTS_AND_RESPONSES = Statement(
    lambda dialect: DeliveryAttempt.update(
        params(DeliveryAttempt.response_body, DeliveryAttempt.request_headers)
    ).where(_ATTEMPT_IN_ACCOUNT & dialect.any_of(DeliveryAttempt.delivery_id, "ids"))
)
_LAST_POSITION = Statement(
    lambda _: DeliveryQueue.select(DeliveryQueue.attempts).where(
        DeliveryQueue.account_id == param("account_id")
    )
)
_ATTEMPTS_AFTER = Statement(lambda _: _attempts_after())
_ATTEMPTS_OF_WEBHOOK_AFTER = Statement(
    lambda _: _attempts_after().where(DeliveryAttempt.webhook_id == param("webhook_id"))
)


def find(account_id: str, delivery_id: str, tx: Transaction) -> DeliveryRow:
    """Returns one delivery. Raises WebhookDeliveryNotFound."""
    row = tx.one(_FIND, account_id=account_id, id=delivery_id)
    if row is None:
        raise WebhookDeliveryNotFound
    return DeliveryRow._make(row)


def attempts_of(account_id: str, delivery_id: str, tx: Transaction) -> list[AttemptRow]:
    """Returns the last MAX_ATTEMPTS attempts of a delivery, oldest first."""
    rows = tx.all(_ATTEMPTS, account_id=account_id, id=delivery_id, limit=MAX_ATTEMPTS)
    return [AttemptRow._make(row) for row in reversed(rows)]


def retry(account_id: str, delivery_id: str, tx: Transaction) -> DeliveryRow:
    """Makes a delivery due now, restarts its retry schedule, and returns it.

    A delivery that is being sent is not changed. Raises WebhookDeliveryNotFound.
    """
    find(account_id, delivery_id, tx)
    wake(account_id, tx)
    tx.run(
        _RETRY,
        account_id=account_id,
        id=delivery_id,
        status=DeliveryState.PENDING,
        step=0,
        due_at=tx.now,
        finished_at=None,
    )
    return find(account_id, delivery_id, tx)


def deliveries_of(
    account_id: str, sequence: int, tx: Transaction, after: str = ""
) -> list[DeliveryRow]:
    """Returns the deliveries of an event with a greater ID, in the order of IDs."""
    rows = tx.all(_OF_EVENT, account_id=account_id, sequence=sequence, after=after)
    return [DeliveryRow._make(row) for row in rows]


def receivers_of(
    account_id: str, subscriber_id: str, tx: Transaction
) -> list[tuple[str, str, int]]:
    """Returns the webhooks that were sent events about a subscriber: ID, URL, number of events."""
    rows = tx.all(_RECEIVERS, account_id=account_id, subscriber_id=subscriber_id)
    return [(webhook_id, url, events) for webhook_id, url, events in rows]


def remove_requests_and_responses(account_id: str, sequence: int, tx: Transaction) -> None:
    """Removes the responses to the deliveries of an event, and its signatures, from attempts."""
    ids = [row.id for row in deliveries_of(account_id, sequence, tx)]
    if ids:
        removed = {"response_body": "", "request_headers": None}
        tx.run(_REMOVE_REQUESTS_AND_RESPONSES, account_id=account_id, ids=ids, **removed)


def last_position(account_id: str, tx: Transaction) -> int:
    """Returns the position of the last finished attempt, or 0."""
    return tx.scalar(_LAST_POSITION, account_id=account_id) or 0


def attempts_after(
    account_id: str, webhook_id: str, position: int, limit: int, tx: Transaction
) -> TailBatch:
    """Returns the next attempts after a position, of one webhook unless `webhook_id` is empty.

    One statement if there are none, otherwise two.
    """
    last = last_position(account_id, tx)
    if last <= position:
        return TailBatch([], position)
    rows = tx.all(
        _ATTEMPTS_OF_WEBHOOK_AFTER if webhook_id else _ATTEMPTS_AFTER,
        account_id=account_id,
        webhook_id=webhook_id,
        position=position,
        last_position=last,
        limit=limit,
    )
    split = 1 + len(COLUMNS)
    records = [
        TailRecord(DeliveryRow._make(row[1:split]), AttemptRow._make(row[split:])) for row in rows
    ]
    return TailBatch(records, rows[-1][0] if len(rows) == limit else last)


def newest_id_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest ID of events and deliveries, or None. Runs when the service starts.

    Both tables are ordered by account, so each account that has or had a webhook is read
    separately, by an index.
    """
    newest = (
        newest_id
        for account_id in ids_of_any_account_with_queue(tx)
        for newest_id in (
            events.newest_id(account_id, tx),
            tx.scalar(_NEWEST, account_id=account_id),
        )
    )
    return max(filter(None, newest), default=None)
