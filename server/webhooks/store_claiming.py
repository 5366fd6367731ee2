"""Taking on what is due: which deliveries are sent next, and by whom.

Whoever takes on a delivery has it for a minute. When that has passed without a word, the
delivery is due again for anyone; its fence has risen by then, so that what the first one
tells later is not heard. An endpoint has few on their way at the same time, and so has an
account: one that hangs holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from peewee import SQL, fn

from ..events.models import Event
from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .models import SENDING, Delivery, Webhook
from .rules import IN_FLIGHT_AN_ACCOUNT, LEASE, DeliveryStatus
from .store_expanding import expand
from .store_queue import lock_beside, lock_if_free, put
from .store_reading import COLUMNS, WebhookRow, row_of
from .store_replays import advance

_OWN = Delivery.account_id == param("account_id")
_ENDPOINTS = Statement(
    lambda _: Webhook.select(
        *COLUMNS,
        Delivery.select(fn.MIN(Delivery.due_at)).where(
            _OWN & (Delivery.webhook_id == Webhook.id) & Delivery.due_at.is_null(False)
        ),
    ).where((Webhook.account_id == param("account_id")) & (Webhook.enabled == param("enabled"))),
    beside=True,
)
_ON_THEIR_WAY = Statement(
    lambda _: (
        Delivery.select(Delivery.webhook_id, fn.COUNT(Delivery.id))
        .where(_OWN & (Delivery.status == SENDING) & (Delivery.due_at > param("now")))
        .group_by(Delivery.webhook_id)
    ),
    beside=True,
)
_DUE = Statement(
    lambda _: (
        Delivery.select(
            Delivery.id,
            Delivery.webhook_id,
            Delivery.event_id,
            Delivery.attempts,
            Delivery.step,
            Delivery.fence,
        )
        .where(
            _OWN
            & (Delivery.webhook_id == param("webhook_id"))
            & Delivery.due_at.is_null(False)
            & (Delivery.due_at <= param("now"))
        )
        .order_by(Delivery.account_id, Delivery.webhook_id, Delivery.due_at, Delivery.id)
        .limit(param("limit"))
    ),
    beside=True,
)
_TAKE_ON = Statement(
    lambda dialect: Delivery.update(
        {
            Delivery.status: param("status"),
            Delivery.fence: Delivery.fence + SQL("1"),
            Delivery.due_at: param("due_at"),
        }
    ).where(_OWN & dialect.any_of(Delivery.id, "ids")),
    beside=True,
)
_LET_GO = Statement(
    lambda dialect: Delivery.update(
        {Delivery.status: param("status"), Delivery.due_at: param("due_at")}
    ).where(_OWN & (Delivery.status == SENDING) & dialect.any_of(Delivery.id, "ids")),
    beside=True,
)
_BEING_SENT = Statement(
    lambda _: Delivery.select(Delivery.id).where(_OWN & (Delivery.status == SENDING)), beside=True
)
_ENVELOPES = Statement(
    lambda dialect: Event.select(Event.id, Event.envelope).where(
        (Event.account_id == param("account_id")) & dialect.any_of(Event.id, "ids")
    ),
    beside=True,
)


class Endpoint(NamedTuple):
    """Where deliveries go, and when the next one is due, if any."""

    webhook: WebhookRow
    due_at: int | None


class Due(NamedTuple):
    """A delivery that was taken on. What `attempts` and `step` are is from before."""

    id: str
    webhook_id: str
    event_id: str
    attempts: int
    step: int
    fence: int


class Taken(NamedTuple):
    """A delivery that was taken on, with all that it takes to send it."""

    delivery: Due
    webhook: WebhookRow
    envelope: str


class Claim(NamedTuple):
    """What was taken on, and whether there was more than is looked at in one transaction."""

    taken: list[Taken]
    more: bool


NOTHING = Claim([], more=False)


def claim(account_id: str, tx: Transaction) -> Claim:
    """Takes on deliveries of an account, as many as there is room for.

    Makes deliveries of what has happened meanwhile first. Nothing if another process is
    about it.
    """
    before = lock_if_free(account_id, tx)
    if before is None:
        return NOTHING
    queue = expand(account_id, before, tx)
    more = advance(account_id, tx)
    endpoints = _endpoints(account_id, tx)
    flying = dict(tx.all(_ON_THEIR_WAY, account_id=account_id, now=tx.now))
    left = IN_FLIGHT_AN_ACCOUNT - sum(flying.values())
    taken: list[Due] = []
    due_at: list[int] = []
    for endpoint in _longest_waiting_first(endpoints):
        webhook = endpoint.webhook
        free = min(webhook.health.room - flying.get(webhook.id, 0), left - len(taken))
        own, later = _take_of(account_id, endpoint, free, tx)
        taken += own
        due_at += later
    queue = queue._replace(due_at=min(due_at, default=None))
    if queue != before:
        put(account_id, queue, tx)
    webhooks = {endpoint.webhook.id: endpoint.webhook for endpoint in endpoints}
    return Claim(_taken(account_id, taken, webhooks, tx), more or queue.expanded != before.expanded)


def _take_of(
    account_id: str, endpoint: Endpoint, free: int, tx: Transaction
) -> tuple[list[Due], list[int]]:
    """Returns what is to be sent to an endpoint now, and when to look again, if at all."""
    if endpoint.due_at is None:
        return [], []
    start = max(endpoint.due_at, endpoint.webhook.paused_until)
    if start > tx.now:
        return [], [start]
    # Whoever ends one that is on its way has somebody look again; or its time ends.
    again = [tx.now + LEASE]
    if free <= 0:
        return [], again
    rows = tx.all(
        _DUE, account_id=account_id, webhook_id=endpoint.webhook.id, now=tx.now, limit=free
    )
    return [Due._make(row)._replace(fence=row[-1] + 1) for row in rows], again


def _taken(
    account_id: str, due: Sequence[Due], webhooks: Mapping[str, WebhookRow], tx: Transaction
) -> list[Taken]:
    if not due:
        return []
    tx.run(
        _TAKE_ON,
        account_id=account_id,
        ids=[delivery.id for delivery in due],
        status=DeliveryStatus.SENDING,
        due_at=tx.now + LEASE,
    )
    ids = [delivery.event_id for delivery in due]
    envelopes = dict(tx.all(_ENVELOPES, account_id=account_id, ids=ids))
    return [
        Taken(delivery, webhooks[delivery.webhook_id], envelopes[delivery.event_id])
        for delivery in due
        # An event goes with its deliveries; between the two there is nothing to send.
        if delivery.event_id in envelopes
    ]


def let_go(account_id: str, ids: Sequence[str], tx: Transaction) -> None:
    """Makes deliveries that were taken on, and are not going to be sent, due for others."""
    if ids:
        queue = lock_beside(account_id, tx)
        pending = DeliveryStatus.PENDING
        tx.run(_LET_GO, account_id=account_id, ids=list(ids), status=pending, due_at=tx.now)
        put(account_id, queue._replace(due_at=tx.now), tx)


def being_sent(account_id: str, tx: Transaction) -> list[str]:
    """Returns the deliveries of an account that somebody has taken on."""
    return [delivery_id for (delivery_id,) in tx.all(_BEING_SENT, account_id=account_id)]


def _endpoints(account_id: str, tx: Transaction) -> list[Endpoint]:
    rows: list[tuple[Any, ...]] = tx.all(_ENDPOINTS, account_id=account_id, enabled=True)
    return [Endpoint(row_of(row[:-1]), row[-1]) for row in rows]


def _longest_waiting_first(endpoints: Sequence[Endpoint]) -> list[Endpoint]:
    return sorted(endpoints, key=lambda endpoint: endpoint.due_at or 0)
