"""Test deliveries: an event of type webhook.test, whose delivery is leased from the start.

A test that succeeds ends the pause of the endpoint. Otherwise its result does not change the
health of the endpoint.
"""

from __future__ import annotations

from peewee import fn

from ....rpc.errors import TestDeliveryLimitReached
from ....storage.statements import Statement, param, params
from ....storage.transaction import Transaction
from ....values.ids import timestamp_of
from ...events import store_reading as events
from ...events.rules import EventType, created
from ...events.store import record
from ..endpoints.store_reading import find
from ..models import SENDING, Delivery
from ..rules import LEASE_DURATION, MAX_IN_FLIGHT_PER_ENDPOINT, RETRY_DELAYS, DeliveryState
from . import store_deliveries as deliveries
from .store_deliveries import AttemptRow, DeliveryRow
from .store_expansion import NEW_DELIVERY
from .store_leases import Lease, LeasedDelivery
from .store_queue import IN_ACCOUNT, TO_WEBHOOK, wake
from .store_results import FinishedAttempt, end_pause, record_attempts

# Seconds after which a running test has usually finished.
RETRY_AFTER_SECONDS = 15

_INSERT = Statement(lambda _: Delivery.insert(params(Delivery.account_id, *NEW_DELIVERY)))
# The subquery makes SQLite use the index of deliveries being sent, which are few. Otherwise it
# reads all deliveries that are due later.
_COUNT_RUNNING = Statement(
    lambda dialect: Delivery.select(fn.COUNT(Delivery.id)).where(
        IN_ACCOUNT
        & dialect.within(
            Delivery.id,
            Delivery.select(Delivery.id).where(TO_WEBHOOK & (Delivery.status == SENDING)),
        )
        & (Delivery.event_type == param("event_type"))
        & (Delivery.due_at > param("now"))
    )
)


def begin(account_id: str, webhook_id: str, tx: Transaction) -> LeasedDelivery:
    """Records a test event and returns its leased delivery.

    The delivery is at the end of the retry schedule, so it is attempted once. Raises
    WebhookNotFound, or TestDeliveryLimitReached if MAX_IN_FLIGHT_PER_ENDPOINT tests are running.
    """
    find(account_id, webhook_id, tx)
    wake(account_id, tx)
    webhook = find(account_id, webhook_id, tx)
    event_type = EventType.WEBHOOK_TEST
    running = tx.scalar(
        _COUNT_RUNNING,
        account_id=account_id,
        webhook_id=webhook_id,
        event_type=event_type,
        now=tx.now,
    )
    if running >= MAX_IN_FLIGHT_PER_ENDPOINT:
        raise TestDeliveryLimitReached(RETRY_AFTER_SECONDS, limit=MAX_IN_FLIGHT_PER_ENDPOINT)
    record(account_id, [created(event_type, webhook)], tx)
    event = events.last(account_id, tx)
    lease = Lease(tx.new_id(), webhook_id, event.id, attempts=0, step=len(RETRY_DELAYS), fence=1)
    tx.run(
        _INSERT,
        account_id=account_id,
        **lease._asdict(),
        sequence=event.sequence,
        event_type=event_type,
        replay_id="",
        status=DeliveryState.SENDING,
        due_at=tx.now + LEASE_DURATION,
        created_at=timestamp_of(lease.id),
    )
    return LeasedDelivery(lease, webhook, event.envelope, is_test=True)


def conclude(
    account_id: str, finished: FinishedAttempt, tx: Transaction
) -> tuple[DeliveryRow, AttemptRow]:
    """Stores the result of a test, and returns its delivery and its attempt.

    Raises WebhookNotFound if the webhook was deleted in the meantime.
    """
    webhook_id = finished.delivery.webhook_id
    find(account_id, webhook_id, tx)
    record_attempts(account_id, [finished], tx)
    if finished.succeeded:
        end_pause(account_id, find(account_id, webhook_id, tx), tx)
    attempt, *_ = deliveries.attempts_of(account_id, finished.delivery.id, tx)
    return deliveries.find(account_id, finished.delivery.id, tx), attempt
