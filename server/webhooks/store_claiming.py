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
from ..events.rules import Kind
from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .models import SENDING, Delivery, Webhook
from .rules import IN_FLIGHT_AN_ACCOUNT, LEASE, DeliveryStatus
from .store_expanding import SMALLEST_PIECE, expand
from .store_queue import lock_beside, lock_if_free, put
from .store_reading import COLUMNS, WebhookRow, row_of
from .store_replays import advance

# How soon, in milliseconds, it is looked again for what a process had no room for.
LOOK_AGAIN = 1_000

_OWN = Delivery.account_id == param("account_id")
_ENDPOINTS = Statement(
    lambda _: (
        Webhook.select(
            *COLUMNS,
            Delivery.select(fn.MIN(Delivery.due_at)).where(
                _OWN & (Delivery.webhook_id == Webhook.id) & Delivery.due_at.is_null(False)
            ),
        )
        .where((Webhook.account_id == param("account_id")) & (Webhook.enabled == param("enabled")))
        .order_by(Webhook.account_id, Webhook.id)
    ),
    beside=True,
)
_ON_THEIR_WAY = Statement(
    lambda _: (
        Delivery.select(Delivery.webhook_id, fn.COUNT(Delivery.id))
        .where(
            _OWN
            & (Delivery.status == SENDING)
            & (Delivery.due_at > param("now"))
            # A test is no burden that others are to bear.
            & (Delivery.kind != param("but"))
        )
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
            Delivery.kind,
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
    lambda _: Delivery.update(
        {Delivery.status: param("status"), Delivery.due_at: param("due_at")}
    ).where(
        _OWN
        & (Delivery.id == param("id"))
        & (Delivery.fence == param("fence"))
        & (Delivery.status == SENDING)
    ),
    beside=True,
)
_BEING_SENT = Statement(
    lambda _: Delivery.select(Delivery.id, Delivery.fence).where(
        _OWN & (Delivery.status == SENDING)
    ),
    beside=True,
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
    """A delivery that was taken on, with all that it takes to send it.

    What becomes of the test of a webhook says nothing of how the endpoint does.
    """

    delivery: Due
    webhook: WebhookRow
    envelope: str
    is_test: bool = False


class Held(NamedTuple):
    """A delivery that somebody has taken on, and the fence by which it is his."""

    id: str
    fence: int


class _Found(NamedTuple):
    delivery: Due
    is_test: bool


class Claim(NamedTuple):
    """What was taken on, and whether there may be more than one transaction looks at."""

    taken: list[Taken]
    more: bool


NOTHING = Claim([], more=False)


def claim(account_id: str, tx: Transaction, room: int = IN_FLIGHT_AN_ACCOUNT) -> Claim:
    """Takes on deliveries of an account, as many as there is room for, here and in all.

    Makes deliveries of what has happened meanwhile first. Nothing if another process is
    about it.
    """
    before = lock_if_free(account_id, tx)
    if before is None:
        return NOTHING
    queue = expand(account_id, before, tx)
    more = advance(account_id, tx)
    endpoints = _endpoints(account_id, tx)
    flying = dict(tx.all(_ON_THEIR_WAY, account_id=account_id, now=tx.now, but=Kind.WEBHOOK_TEST))
    left = min(room, IN_FLIGHT_AN_ACCOUNT - sum(flying.values()))
    # Whoever ends a delivery that is on its way has somebody look again; or its time ends.
    # Where it is this process that has no room, that may be over sooner.
    again = tx.now + (LEASE if room >= IN_FLIGHT_AN_ACCOUNT else LOOK_AGAIN)
    taken: list[_Found] = []
    due_at: list[int] = []
    # Those that have the fewest on their way come first: an endpoint that takes its time
    # must not have every place that becomes free, however long its queue has waited.
    for endpoint in sorted(
        endpoints, key=lambda each: (flying.get(each.webhook.id, 0), each.due_at or 0)
    ):
        webhook = endpoint.webhook
        free = min(webhook.health.room - flying.get(webhook.id, 0), left - len(taken))
        if endpoint.due_at is None:
            continue
        start = max(endpoint.due_at, webhook.paused_until)
        due_at.append(start if start > tx.now else again)
        if start <= tx.now and free > 0:
            taken += _due(account_id, webhook.id, free, tx)
    queue = queue._replace(due_at=min(due_at, default=None))
    if queue != before:
        put(account_id, queue, tx)
    webhooks = {endpoint.webhook.id: endpoint.webhook for endpoint in endpoints}
    more = more or queue.expanded - before.expanded >= SMALLEST_PIECE
    return Claim(_taken(account_id, taken, webhooks, tx), more)


def _due(account_id: str, webhook_id: str, most: int, tx: Transaction) -> list[_Found]:
    """Returns the deliveries to an endpoint that have been due for longest."""
    rows = tx.all(_DUE, account_id=account_id, webhook_id=webhook_id, now=tx.now, limit=most)
    return [_Found(Due._make(row[:-1]), row[-1] == Kind.WEBHOOK_TEST) for row in rows]


def _taken(
    account_id: str, found: Sequence[_Found], webhooks: Mapping[str, WebhookRow], tx: Transaction
) -> list[Taken]:
    if not found:
        return []
    tx.run(
        _TAKE_ON,
        account_id=account_id,
        ids=[delivery.id for delivery, _ in found],
        status=DeliveryStatus.SENDING,
        due_at=tx.now + LEASE,
    )
    ids = [delivery.event_id for delivery, _ in found]
    envelopes = dict(tx.all(_ENVELOPES, account_id=account_id, ids=ids))
    return [
        Taken(
            delivery._replace(fence=delivery.fence + 1),
            webhooks[delivery.webhook_id],
            envelopes[delivery.event_id],
            is_test,
        )
        for delivery, is_test in found
        # An event goes with its deliveries; between the two there is nothing to send.
        if delivery.event_id in envelopes
    ]


def let_go(account_id: str, held: Sequence[Held], tx: Transaction) -> None:
    """Makes deliveries that are not going to be sent by whoever has them due for others.

    Those that somebody else has by now are left to him.
    """
    if not held:
        return
    queue = lock_beside(account_id, tx)
    for own_id, fence in held:
        tx.run(
            _LET_GO,
            account_id=account_id,
            id=own_id,
            fence=fence,
            status=DeliveryStatus.PENDING,
            due_at=tx.now,
        )
    put(account_id, queue._replace(due_at=tx.now), tx)


def being_sent(account_id: str, tx: Transaction) -> list[Held]:
    """Returns the deliveries of an account that somebody has taken on."""
    return [Held._make(row) for row in tx.all(_BEING_SENT, account_id=account_id)]


def _endpoints(account_id: str, tx: Transaction) -> list[Endpoint]:
    rows: list[tuple[Any, ...]] = tx.all(_ENDPOINTS, account_id=account_id, enabled=True)
    return [Endpoint(row_of(row[:-1]), row[-1]) for row in rows]
