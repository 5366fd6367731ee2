"""Leases due deliveries to the process that sends them.

A lease lasts a minute. After that the delivery is due again for any process, and each lease
raises the fence of the delivery, so a result with an older fence is rejected. The number of
deliveries in flight is limited per endpoint and per account, so an endpoint that hangs does
not delay the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from peewee import SQL, fn

from ....storage.statements import param, params
from ....storage.transaction import Transaction
from ...events.models import Event
from ...events.rules import EventType
from ..endpoints.store_reading import WebhookRow
from ..models import SENDING, Delivery
from ..rules import LEASE_DURATION, MAX_IN_FLIGHT_PER_ACCOUNT, DeliveryState
from .store_expansion import MIN_EXPANDED_EVENTS, Endpoint, expand
from .store_queue import (
    DUE,
    IN_ACCOUNT,
    LEASED,
    TO_WEBHOOK,
    Queue,
    QueueStatement,
    lock_queue_only,
    put,
)

# Milliseconds until a process without free capacity looks for due deliveries again.
RECHECK_DELAY = 1_000


class Lease(NamedTuple):
    """A delivery and the fence of its lease. `attempts` and `step` are those before the attempt."""

    id: str
    webhook_id: str
    event_id: str
    attempts: int
    step: int
    fence: int


class LeasedDelivery(NamedTuple):
    """A leased delivery with its endpoint and envelope.

    The result of a test delivery does not change the failures of the endpoint.
    """

    delivery: Lease
    webhook: WebhookRow
    envelope: str
    is_test: bool = False


class LeaseBatch(NamedTuple):
    """The leased deliveries, and whether events may be left to expand."""

    deliveries: list[LeasedDelivery]
    more: bool


_LEASE_COLUMNS = tuple(getattr(Delivery, name) for name in Lease._fields)
_IN_FLIGHT = QueueStatement(
    lambda _: (
        Delivery.select(Delivery.webhook_id, fn.COUNT(Delivery.id))
        .where(
            IN_ACCOUNT
            & (Delivery.status == SENDING)
            & (Delivery.due_at > param("now"))
            # Test deliveries do not use the capacity of other deliveries.
            & (Delivery.event_type != param("excluded_event_type"))
        )
        .group_by(Delivery.account_id, Delivery.webhook_id)
    )
)
_DUE = QueueStatement(
    lambda _: (
        Delivery.select(
            *_LEASE_COLUMNS,
            Delivery.event_type,
            # The sequence is the primary key of events.
            Event.select(Event.envelope).where(
                (Event.account_id == param("account_id")) & (Event.sequence == Delivery.sequence)
            ),
        )
        .where(TO_WEBHOOK & DUE)
        .order_by(Delivery.account_id, Delivery.webhook_id, Delivery.due_at, Delivery.id)
        .limit(param("limit"))
    )
)
_LEASE = QueueStatement(
    lambda dialect: Delivery.update(
        {
            Delivery.fence: Delivery.fence + SQL("1"),
            **params(Delivery.status, Delivery.due_at),
        }
    ).where(IN_ACCOUNT & dialect.any_of(Delivery.id, "ids"))
)
_RELEASE = QueueStatement(
    lambda _: Delivery.update(params(Delivery.status, Delivery.due_at)).where(LEASED)
)
_LEASES = QueueStatement(
    lambda _: (
        Delivery.select(*_LEASE_COLUMNS)
        .where(IN_ACCOUNT & (Delivery.status == SENDING))
        .order_by(Delivery.account_id, Delivery.webhook_id, Delivery.id)
    )
)


def lease_due(
    account_id: str, queue: Queue, endpoints: Sequence[Endpoint], capacity: int, tx: Transaction
) -> tuple[Queue, LeaseBatch]:
    """Expands new events, and leases at most `capacity` due deliveries of an account.

    The queue must be locked. Returns the queue to store.
    """
    expanded_before = queue.expanded_sequence
    queue, extended = expand(account_id, queue, endpoints, tx)
    more = queue.expanded_sequence - expanded_before >= MIN_EXPANDED_EVENTS
    waiting: list[tuple[int, WebhookRow]] = []
    for webhook, _, due_at in endpoints:
        if webhook.id in extended:
            due_at = min(tx.now if due_at is None else due_at, tx.now)
        if due_at is not None and webhook.enabled:
            waiting.append((due_at, webhook))
    wake_at, leased = _lease_within_limits(account_id, waiting, capacity, tx)
    return queue._replace(due_at=wake_at), LeaseBatch(leased, more)


def _lease_within_limits(
    account_id: str, waiting: Sequence[tuple[int, WebhookRow]], capacity: int, tx: Transaction
) -> tuple[int | None, list[LeasedDelivery]]:
    """Leases deliveries of endpoints, given by due time; returns when to do so again, or None."""
    if not waiting:
        return None, []
    excluded = EventType.WEBHOOK_TEST
    # Includes deliveries to deleted webhooks.
    in_flight: dict[str, int] = dict(
        tx.all(_IN_FLIGHT, account_id=account_id, now=tx.now, excluded_event_type=excluded)
    )
    account_capacity = min(capacity, MAX_IN_FLIGHT_PER_ACCOUNT - sum(in_flight.values()))
    # Each result that is recorded wakes the queue, so full endpoints can wait for the end of
    # the leases. If this process is full, another one may have capacity sooner.
    is_full = capacity < MAX_IN_FLIGHT_PER_ACCOUNT
    recheck_at = tx.now + (RECHECK_DELAY if is_full else LEASE_DURATION)
    wake_times: list[int] = []
    due: list[LeasedDelivery] = []
    # Endpoints with the fewest deliveries in flight first: a slow endpoint with old due
    # deliveries must not take all capacity that becomes free.
    for due_at, webhook in sorted(
        waiting, key=lambda each: (in_flight.get(each[1].id, 0), each[0])
    ):
        free = min(
            webhook.health.capacity - in_flight.get(webhook.id, 0), account_capacity - len(due)
        )
        start = max(due_at, webhook.paused_until)
        wake_times.append(start if start > tx.now else recheck_at)
        if start <= tx.now and free > 0:
            due += _find_due(account_id, webhook, free, tx)
    if due:
        tx.run(
            _LEASE,
            account_id=account_id,
            ids=[each.delivery.id for each in due],
            status=DeliveryState.SENDING,
            due_at=tx.now + LEASE_DURATION,
        )
    return min(wake_times), due


def _find_due(
    account_id: str, webhook: WebhookRow, limit: int, tx: Transaction
) -> Iterable[LeasedDelivery]:
    """Yields the due deliveries of an endpoint, the earliest due time first.

    Their fences are those of the new leases.
    """
    for *values, fence, event_type, envelope in tx.all(
        _DUE, account_id=account_id, webhook_id=webhook.id, now=tx.now, limit=limit
    ):
        is_test = event_type == EventType.WEBHOOK_TEST
        lease = Lease._make((*values, fence + 1))
        yield LeasedDelivery(lease, webhook, envelope, is_test)


def release(account_id: str, leases: Sequence[Lease], tx: Transaction) -> None:
    """Makes leased deliveries due now. Does not change deliveries that were leased again since."""
    if not leases:
        return
    queue = lock_queue_only(account_id, tx)
    for lease in leases:
        tx.run(
            _RELEASE,
            account_id=account_id,
            id=lease.id,
            fence=lease.fence,
            status=DeliveryState.PENDING,
            due_at=tx.now,
        )
    put(account_id, queue._replace(due_at=tx.now), tx)


def find_leases(account_id: str, tx: Transaction) -> list[Lease]:
    """Returns the leases of an account."""
    return [Lease._make(row) for row in tx.all(_LEASES, account_id=account_id)]
