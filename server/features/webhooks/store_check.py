"""Compares the events and deliveries of an account with each other.

The events of deleted subscribers also show who has to be suppressed, unless the suppression was
lifted since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from peewee import SQL, fn

from ...storage.findings import MALFORMED, Check, Findings
from ...storage.references import Reference
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.emails import comparison_key
from ..events.models import Event, EventStream
from ..events.rules import EventType
from ..subscribers.rules import OPTED_OUT
from ..subscribers.store_reading import ids_by_address
from ..suppressions.store import Suppressions
from .endpoints import store_reading as webhooks
from .models import Delivery, DeliveryAttempt, DeliveryQueue

# Events that one statement reads. Bounds the memory.
_PAGE = 500
_OPT_OUTS = frozenset(status.name for status in OPTED_OUT)
_OF_EXISTING_WEBHOOK = Delivery.webhook_id.in_(webhooks.IDS)

_EVENTS = Statement(
    lambda _: (
        Event.select(
            Event.sequence, Event.id, Event.event_type, Event.subscriber_id, Event.envelope
        )
        .where((Event.account_id == param("account_id")) & (Event.sequence > param("after")))
        .order_by(Event.account_id, Event.sequence)
        .limit(param("limit"))
    )
)
_STREAM = Statement(
    lambda _: EventStream.select(EventStream.sequence, EventStream.webhook_count).where(
        EventStream.account_id == param("account_id")
    )
)
_QUEUE = Statement(
    lambda _: DeliveryQueue.select(DeliveryQueue.expanded_sequence, DeliveryQueue.attempts).where(
        DeliveryQueue.account_id == param("account_id")
    )
)
_LAST_ATTEMPT = Statement(
    lambda _: DeliveryAttempt.select(fn.COALESCE(fn.MAX(DeliveryAttempt.position), SQL("0"))).where(
        DeliveryAttempt.account_id == param("account_id")
    )
)
# The deliveries of a deleted webhook can outlive their events.
_TO_EVENT = Reference(
    {Delivery.sequence: Event.sequence, Delivery.event_id: Event.id}, _OF_EXISTING_WEBHOOK
)


def check_events(
    account_id: str, tx: Transaction, findings: Findings, suppressions: Suppressions | None
) -> int:
    """Adds the differences of an account, and returns the number of its events.

    Without the secret key there are no `suppressions`, which are then not compared.
    """
    sequence, counted_webhooks = tx.one(_STREAM, account_id=account_id) or (0, 0)
    number = webhooks.count(account_id, tx)
    findings.expect(Check.EVENTS, "the number of webhooks", counted_webhooks, number)
    expanded, attempts = tx.one(_QUEUE, account_id=account_id) or (0, 0)
    if expanded > sequence:
        findings.add(Check.DELIVERIES, f"events up to {expanded} have deliveries, of {sequence}")
    last_attempt = tx.scalar(_LAST_ATTEMPT, account_id=account_id)
    if last_attempt > attempts:
        findings.add(Check.DELIVERIES, f"attempt {last_attempt} exists, of {attempts}")
    missing, example = _TO_EVENT.missing(account_id, tx)
    if missing:
        findings.add(Check.DELIVERIES, f"event {example} of a delivery does not exist", missing)
    return _check_each(account_id, sequence, tx, findings, suppressions)


def _check_each(
    account_id: str,
    sequence: int,
    tx: Transaction,
    findings: Findings,
    suppressions: Suppressions | None,
) -> int:
    count, after = 0, 0
    gone: dict[str, str] = {}
    while rows := tx.all(_EVENTS, account_id=account_id, after=after, limit=_PAGE):
        for number, *columns, envelope in rows:
            if count and number != after + 1:
                findings.add(Check.EVENTS, f"event {after + 1} does not exist", number - after - 1)
            count, after = count + 1, number
            try:
                message = orjson.loads(envelope)
                is_same = _columns(message) == (number, *columns)
                _note_opt_out(message, gone)
            except MALFORMED:
                is_same = False
            if not is_same:
                findings.add(Check.EVENTS, f"event {number} differs from its envelope")
    if count:
        findings.expect(Check.EVENTS, "the last event", after, sequence)
    if suppressions is not None:
        _check_suppressions(account_id, gone, tx, findings, suppressions)
    return count


def _columns(message: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns the columns of an event as its envelope states them."""
    subscriber = message["data"].get("subscriber")
    subscriber_id = None if subscriber is None else subscriber["id"]
    return message["sequence"], message["id"], message["type"], subscriber_id


def _note_opt_out(message: Mapping[str, Any], gone: dict[str, str]) -> None:
    """Adds the address of a deleted subscriber who had opted out, or removes one in use again."""
    subscriber = message["data"].get("subscriber")
    # An erased subscriber has no address.
    if subscriber is None or not subscriber["email"]:
        return
    key = comparison_key(subscriber["email"])
    if message["type"] == EventType.SUBSCRIBER_DELETED and subscriber["status"] in _OPT_OUTS:
        gone[key] = subscriber["id"]
    else:
        gone.pop(key, None)


def _check_suppressions(
    account_id: str,
    gone: Mapping[str, str],
    tx: Transaction,
    findings: Findings,
    suppressions: Suppressions,
) -> None:
    """Compares the addresses of deleted subscribers who had opted out with the suppressions."""
    rest = gone.keys() - set(suppressions.suppressed_among(account_id, list(gone), tx))
    rest -= ids_by_address(account_id, rest, tx).keys()
    for key in sorted(rest):
        findings.add(
            Check.SUPPRESSIONS,
            f"{gone[key]} opted out and was deleted, and its address is not suppressed",
        )
