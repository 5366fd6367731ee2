"""The test of a webhook: an event of its own, and a delivery that is being sent from the start.

How the endpoint does is not judged by it.
"""

from __future__ import annotations

from peewee import fn

from ...errors import TooManyTestDeliveries
from ...events import store_reading as events
from ...events.rules import EventType, created
from ...events.store import record
from ...ids import timestamp_of
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..endpoints.store_reading import find
from ..models import SENDING, Delivery
from ..rules import LEASE, MAX_IN_FLIGHT_PER_ENDPOINT, SCHEDULE, DeliveryStatus
from . import store_deliveries as deliveries
from . import store_queue
from .store_deliveries import AttemptRow, DeliveryRow
from .store_expansion import NEW_DELIVERY
from .store_leases import Due, LeasedDelivery
from .store_results import FinishedAttempt, record_locked

# Seconds in which a test that is on its way has ended, more or less.
RETRY_AFTER_SECONDS = 15

_INSERT = Statement(
    lambda _: Delivery.insert(
        {
            Delivery.account_id: param("account_id"),
            **{column: param(column.name) for column in NEW_DELIVERY},
        }
    )
)
# By way of their ids, which the index of what is being sent has: that is little, and SQLite
# would rather walk through all that is due later.
_IN_FLIGHT = Statement(
    lambda dialect: Delivery.select(fn.COUNT(Delivery.id)).where(
        (Delivery.account_id == param("account_id"))
        & dialect.within(
            Delivery.id,
            Delivery.select(Delivery.id).where(
                (Delivery.account_id == param("account_id"))
                & (Delivery.webhook_id == param("webhook_id"))
                & (Delivery.status == SENDING)
            ),
        )
        & (Delivery.kind == param("kind"))
        & (Delivery.due_at > param("now"))
    )
)


def begin(account_id: str, webhook_id: str, tx: Transaction) -> LeasedDelivery:
    """Records the event of a test, and returns its delivery, which is taken on.

    It is at the end of the schedule, so that the first attempt is the last one. Raises
    WebhookNotFound, or TooManyTestDeliveries if as many are on their way as an endpoint may have.
    """
    find(account_id, webhook_id, tx)
    store_queue.wake(account_id, tx)
    webhook = find(account_id, webhook_id, tx)
    _check_capacity(account_id, webhook_id, tx)
    record(account_id, [created(EventType.WEBHOOK_TEST, webhook)], tx)
    event = events.last(account_id, tx)
    delivery = Due(tx.new_id(), webhook_id, event.id, attempts=0, step=len(SCHEDULE), fence=1)
    tx.run(
        _INSERT,
        account_id=account_id,
        **delivery._asdict(),
        sequence=event.sequence,
        kind=EventType.WEBHOOK_TEST,
        replay_id="",
        status=DeliveryStatus.SENDING,
        due_at=tx.now + LEASE,
        created_at=timestamp_of(delivery.id),
    )
    return LeasedDelivery(delivery, webhook, event.envelope)


def _check_capacity(account_id: str, webhook_id: str, tx: Transaction) -> None:
    kind = EventType.WEBHOOK_TEST
    row = tx.one(_IN_FLIGHT, account_id=account_id, webhook_id=webhook_id, kind=kind, now=tx.now)
    if row is not None and row[0] >= MAX_IN_FLIGHT_PER_ENDPOINT:
        raise TooManyTestDeliveries(RETRY_AFTER_SECONDS)


def conclude(
    account_id: str, finished: FinishedAttempt, tx: Transaction
) -> tuple[DeliveryRow, AttemptRow]:
    """Notes what came of a test, and returns its delivery and its attempt.

    Raises WebhookNotFound if the webhook was deleted meanwhile.
    """
    find(account_id, finished.delivery.webhook_id, tx)
    queue, _ = record_locked(
        account_id, [finished], store_queue.lock_queue_only(account_id, tx), tx
    )
    store_queue.put(account_id, queue, tx)
    attempts = deliveries.attempts_of(account_id, finished.delivery.id, tx)
    return deliveries.find(account_id, finished.delivery.id, tx), attempts[0]
