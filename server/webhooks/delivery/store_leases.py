"""Taking on what is due: which deliveries are sent next, and by whom.

Whoever takes on a delivery has it for a minute. When that has passed without a word, the
delivery is due again for anyone; its fence has risen by then, so that what the first one
tells later is not heard. An endpoint has few on their way at the same time, and so has an
account: one that hangs holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from peewee import SQL

from ...events.models import Event
from ...events.rules import EventType
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..endpoints.store_reading import WebhookRow
from ..models import SENDING, Delivery
from ..rules import LEASE, MAX_IN_FLIGHT_PER_ACCOUNT, DeliveryStatus
from .store_endpoints import Endpoint, endpoints_of, in_flight_counts, with_new_deliveries
from .store_expansion import MIN_EVENTS_PER_EXPANSION, expand
from .store_queue import Queue, lock_if_free, lock_queue_only, put
from .store_replays import advance

# How soon, in milliseconds, it is looked again for what a process had no room for.
RECHECK_DELAY = 1_000

_OWN = Delivery.account_id == param("account_id")
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
            # By its place in the sequence, which is the event's own key.
            Event.select(Event.envelope).where(
                (Event.account_id == param("account_id")) & (Event.sequence == Delivery.sequence)
            ),
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
    without_account_lock=True,
)
_LEASE = Statement(
    lambda dialect: Delivery.update(
        {
            Delivery.status: param("status"),
            Delivery.fence: Delivery.fence + SQL("1"),
            Delivery.due_at: param("due_at"),
        }
    ).where(_OWN & dialect.any_of(Delivery.id, "ids")),
    without_account_lock=True,
)
_RELEASE = Statement(
    lambda _: Delivery.update(
        {Delivery.status: param("status"), Delivery.due_at: param("due_at")}
    ).where(
        _OWN
        & (Delivery.id == param("id"))
        & (Delivery.fence == param("fence"))
        & (Delivery.status == SENDING)
    ),
    without_account_lock=True,
)
_BEING_SENT = Statement(
    lambda _: (
        Delivery.select(Delivery.id, Delivery.fence)
        .where(_OWN & (Delivery.status == SENDING))
        .order_by(Delivery.account_id, Delivery.webhook_id, Delivery.id)
    ),
    without_account_lock=True,
)


class Due(NamedTuple):
    """A delivery that was taken on. What `attempts` and `step` are is from before."""

    id: str
    webhook_id: str
    event_id: str
    attempts: int
    step: int
    fence: int


class LeasedDelivery(NamedTuple):
    """A delivery that was taken on, with all that it takes to send it.

    What becomes of the test of a webhook says nothing of how the endpoint does.
    """

    delivery: Due
    webhook: WebhookRow
    envelope: str
    is_test: bool = False


class Lease(NamedTuple):
    """A delivery that somebody has taken on, and the fence by which it is his."""

    id: str
    fence: int


class _DueRow(NamedTuple):
    delivery: Due
    is_test: bool
    envelope: str | None


class LeaseBatch(NamedTuple):
    """What was taken on, and whether there may be more than one transaction looks at."""

    deliveries: list[LeasedDelivery]
    more: bool


NO_LEASES = LeaseBatch([], more=False)


def lease_due(
    account_id: str, tx: Transaction, capacity: int = MAX_IN_FLIGHT_PER_ACCOUNT
) -> LeaseBatch:
    """Takes on deliveries of an account, as many as there is room for, here and in all.

    Makes deliveries of what has happened meanwhile first. Nothing if another process is
    about it.
    """
    before = lock_if_free(account_id, tx)
    if before is None:
        return NO_LEASES
    queue, batch = lease_locked(account_id, before, endpoints_of(account_id, tx), capacity, tx)
    if queue != before:
        put(account_id, queue, tx)
    return batch


def lease_locked(
    account_id: str, before: Queue, endpoints: Sequence[Endpoint], capacity: int, tx: Transaction
) -> tuple[Queue, LeaseBatch]:
    """Leases due deliveries of an account with a locked queue; returns the queue to store."""
    queue, got = expand(account_id, before, endpoints, tx)
    # Replays of disabled webhooks advance too; their deliveries are sent once re-enabled.
    replayed = advance(account_id, tx)
    if replayed is not None:
        got.add(replayed)
    waiting = [
        (each.webhook, each.due_at)
        for each in with_new_deliveries(endpoints, got, tx.now)
        if each.due_at is not None and each.webhook.enabled
    ]
    due_rows: list[_DueRow] = []
    due_at: list[int] = []
    in_flight = in_flight_counts(account_id, tx) if waiting else {}
    left = min(capacity, MAX_IN_FLIGHT_PER_ACCOUNT - sum(in_flight.values()))
    # Whoever ends a delivery that is on its way has somebody look again; or its time ends.
    # Where it is this process that has no room, that may be over sooner.
    again = tx.now + (LEASE if capacity >= MAX_IN_FLIGHT_PER_ACCOUNT else RECHECK_DELAY)
    # Those that have the fewest on their way come first: an endpoint that takes its time
    # must not have every place that becomes free, however long its queue has waited.
    waiting.sort(key=lambda each: (in_flight.get(each[0].id, 0), each[1]))
    for webhook, due in waiting:
        free = min(webhook.health.capacity - in_flight.get(webhook.id, 0), left - len(due_rows))
        start = max(due, webhook.paused_until)
        due_at.append(start if start > tx.now else again)
        if start <= tx.now and free > 0:
            due_rows += _due(account_id, webhook.id, free, tx)
    webhooks = {each.webhook.id: each.webhook for each in endpoints}
    is_more = replayed is not None or queue.expanded - before.expanded >= MIN_EVENTS_PER_EXPANSION
    queue = queue._replace(due_at=min(due_at, default=None))
    return queue, LeaseBatch(_mark_leased(account_id, due_rows, webhooks, tx), is_more)


def _due(account_id: str, webhook_id: str, most: int, tx: Transaction) -> list[_DueRow]:
    """Returns the deliveries to an endpoint that have been due for longest."""
    rows = tx.all(_DUE, account_id=account_id, webhook_id=webhook_id, now=tx.now, limit=most)
    return [
        _DueRow(Due._make(delivery), kind == EventType.WEBHOOK_TEST, envelope)
        for *delivery, kind, envelope in rows
    ]


def _mark_leased(
    account_id: str, found: Sequence[_DueRow], webhooks: Mapping[str, WebhookRow], tx: Transaction
) -> list[LeasedDelivery]:
    if not found:
        return []
    tx.run(
        _LEASE,
        account_id=account_id,
        ids=[each.delivery.id for each in found],
        status=DeliveryStatus.SENDING,
        due_at=tx.now + LEASE,
    )
    return [
        LeasedDelivery(
            delivery._replace(fence=delivery.fence + 1),
            webhooks[delivery.webhook_id],
            envelope,
            is_test,
        )
        for delivery, is_test, envelope in found
        # An event goes with its deliveries; between the two there is nothing to send.
        if envelope is not None
    ]


def release(account_id: str, leases: Sequence[Lease], tx: Transaction) -> None:
    """Makes deliveries that are not going to be sent by whoever has them due for others.

    Those that somebody else has by now are left to him.
    """
    if not leases:
        return
    queue = lock_queue_only(account_id, tx)
    for own_id, fence in leases:
        tx.run(
            _RELEASE,
            account_id=account_id,
            id=own_id,
            fence=fence,
            status=DeliveryStatus.PENDING,
            due_at=tx.now,
        )
    put(account_id, queue._replace(due_at=tx.now), tx)


def leases_of(account_id: str, tx: Transaction) -> list[Lease]:
    """Returns the deliveries of an account that somebody has taken on."""
    return [Lease._make(row) for row in tx.all(_BEING_SENT, account_id=account_id)]
