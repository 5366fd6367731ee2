"""Leases due deliveries to the process that sends them.

A lease lasts a minute. After that the delivery is due again for any process, and each lease
raises the fence of the delivery, so a result with an older fence is rejected. The number of
deliveries in flight is limited per endpoint and per account, so an endpoint that hangs does
not delay the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from peewee import SQL

from ....storage.statements import Statement, param, params
from ....storage.transaction import Transaction
from ...events.models import Event
from ...events.rules import EventType
from ..endpoints.store_reading import WebhookRow
from ..models import SENDING, Delivery
from ..rules import LEASE_DURATION, MAX_IN_FLIGHT_PER_ACCOUNT, DeliveryStatus
from .store_conditions import DUE, IN_ACCOUNT, LEASED, TO_WEBHOOK
from .store_endpoints import Endpoint, endpoints_of, in_flight_counts, with_new_deliveries
from .store_expansion import MIN_EXPANDED_EVENTS, expand
from .store_queue import Queue, lock_if_free, lock_queue_only, put
from .store_replays import advance

# Milliseconds until a process without free capacity looks for due deliveries again.
RECHECK_DELAY = 1_000

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
            # The sequence is the primary key of events.
            Event.select(Event.envelope).where(
                (Event.account_id == param("account_id")) & (Event.sequence == Delivery.sequence)
            ),
        )
        .where(TO_WEBHOOK & DUE)
        .order_by(Delivery.account_id, Delivery.webhook_id, Delivery.due_at, Delivery.id)
        .limit(param("limit"))
    ),
    without_account_lock=True,
)
_LEASE = Statement(
    lambda dialect: Delivery.update(
        {
            Delivery.fence: Delivery.fence + SQL("1"),
            **params(Delivery.status, Delivery.due_at),
        }
    ).where(IN_ACCOUNT & dialect.any_of(Delivery.id, "ids")),
    without_account_lock=True,
)
_RELEASE = Statement(
    lambda _: Delivery.update(params(Delivery.status, Delivery.due_at)).where(LEASED),
    without_account_lock=True,
)
_LEASES = Statement(
    lambda _: (
        Delivery.select(Delivery.id, Delivery.fence)
        .where(IN_ACCOUNT & (Delivery.status == SENDING))
        .order_by(Delivery.account_id, Delivery.webhook_id, Delivery.id)
    ),
    without_account_lock=True,
)


class DueDelivery(NamedTuple):
    """A delivery to send. `attempts` and `step` are those before this attempt."""

    id: str
    webhook_id: str
    event_id: str
    attempts: int
    step: int
    fence: int


class LeasedDelivery(NamedTuple):
    """A leased delivery with its endpoint and envelope.

    The result of a test delivery does not change the health of the endpoint.
    """

    delivery: DueDelivery
    webhook: WebhookRow
    envelope: str
    is_test: bool = False


class Lease(NamedTuple):
    """The ID of a leased delivery and the fence of its lease."""

    id: str
    fence: int


class _Waiting(NamedTuple):
    webhook: WebhookRow
    due_at: int


class _DueRow(NamedTuple):
    delivery: DueDelivery
    is_test: bool
    envelope: str | None


class LeaseBatch(NamedTuple):
    """The leased deliveries, and whether events may be left to expand."""

    deliveries: list[LeasedDelivery]
    more: bool


def lease_due(
    account_id: str, tx: Transaction, capacity: int = MAX_IN_FLIGHT_PER_ACCOUNT
) -> LeaseBatch:
    """Leases at most `capacity` due deliveries of an account, and expands new events before.

    Does nothing if another process has locked the queue.
    """
    before = lock_if_free(account_id, tx)
    if before is None:
        return LeaseBatch([], more=False)
    queue, batch = lease_locked(account_id, before, endpoints_of(account_id, tx), capacity, tx)
    if queue != before:
        put(account_id, queue, tx)
    return batch


def lease_locked(
    account_id: str, before: Queue, endpoints: Sequence[Endpoint], capacity: int, tx: Transaction
) -> tuple[Queue, LeaseBatch]:
    """Leases due deliveries of an account with a locked queue; returns the queue to store."""
    queue, extended = expand(account_id, before, endpoints, tx)
    # Replays of disabled webhooks advance too; their deliveries are sent once re-enabled.
    replayed = advance(account_id, tx)
    if replayed is not None:
        extended.add(replayed)
    waiting = [
        _Waiting(endpoint.webhook, endpoint.due_at)
        for endpoint in with_new_deliveries(endpoints, extended, tx.now)
        if endpoint.due_at is not None and endpoint.webhook.enabled
    ]
    due_rows: list[_DueRow] = []
    wake_times: list[int] = []
    in_flight = in_flight_counts(account_id, tx) if waiting else {}
    account_capacity = min(capacity, MAX_IN_FLIGHT_PER_ACCOUNT - sum(in_flight.values()))
    # Each result that is recorded wakes the queue, so full endpoints can wait for the end of
    # the leases. If this process is full, another one may have capacity sooner.
    recheck_at = tx.now + (
        LEASE_DURATION if capacity >= MAX_IN_FLIGHT_PER_ACCOUNT else RECHECK_DELAY
    )
    # Endpoints with the fewest deliveries in flight first: a slow endpoint with old due
    # deliveries must not take all capacity that becomes free.
    waiting.sort(key=lambda item: (in_flight.get(item.webhook.id, 0), item.due_at))
    for webhook, due_at in waiting:
        free = min(
            webhook.health.capacity - in_flight.get(webhook.id, 0), account_capacity - len(due_rows)
        )
        start = max(due_at, webhook.paused_until)
        wake_times.append(start if start > tx.now else recheck_at)
        if start <= tx.now and free > 0:
            due_rows += _find_due(account_id, webhook.id, free, tx)
    webhooks = {endpoint.webhook.id: endpoint.webhook for endpoint in endpoints}
    more = replayed is not None or queue.expanded - before.expanded >= MIN_EXPANDED_EVENTS
    queue = queue._replace(due_at=min(wake_times, default=None))
    return queue, LeaseBatch(_mark_leased(account_id, due_rows, webhooks, tx), more)


def _find_due(account_id: str, webhook_id: str, limit: int, tx: Transaction) -> list[_DueRow]:
    """Returns the due deliveries of an endpoint, those with the earliest due time first."""
    rows = tx.all(_DUE, account_id=account_id, webhook_id=webhook_id, now=tx.now, limit=limit)
    return [
        _DueRow(DueDelivery._make(delivery), event_type == EventType.WEBHOOK_TEST, envelope)
        for *delivery, event_type, envelope in rows
    ]


def _mark_leased(
    account_id: str,
    due_rows: Sequence[_DueRow],
    webhooks: Mapping[str, WebhookRow],
    tx: Transaction,
) -> list[LeasedDelivery]:
    if not due_rows:
        return []
    tx.run(
        _LEASE,
        account_id=account_id,
        ids=[row.delivery.id for row in due_rows],
        status=DeliveryStatus.SENDING,
        due_at=tx.now + LEASE_DURATION,
    )
    return [
        LeasedDelivery(
            delivery._replace(fence=delivery.fence + 1),
            webhooks[delivery.webhook_id],
            envelope,
            is_test,
        )
        for delivery, is_test, envelope in due_rows
        # An expired event is deleted together with its deliveries; there is nothing to send.
        if envelope is not None
    ]


def release(account_id: str, leases: Sequence[Lease], tx: Transaction) -> None:
    """Makes leased deliveries due now. Does not change those that were leased again since."""
    if not leases:
        return
    queue = lock_queue_only(account_id, tx)
    for lease in leases:
        tx.run(
            _RELEASE,
            account_id=account_id,
            **lease._asdict(),
            status=DeliveryStatus.PENDING,
            due_at=tx.now,
        )
    put(account_id, queue._replace(due_at=tx.now), tx)


def find_leases(account_id: str, tx: Transaction) -> list[Lease]:
    """Returns the leases of an account."""
    return [Lease._make(row) for row in tx.all(_LEASES, account_id=account_id)]
