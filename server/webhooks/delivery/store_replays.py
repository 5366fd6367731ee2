"""Replays: events of the past that are to be delivered to a webhook once more.

A replay is kept as the stretch of events that is left of it. Whoever delivers turns the
next piece of it into deliveries as soon as few others are due at the webhook: so it never
piles up before what happens meanwhile, and what waits for a webhook that is disabled
takes little room.
"""

from __future__ import annotations

from typing import NamedTuple

import orjson
from peewee import SQL, fn

from ...errors import ReplayLimitReached
from ...events.rules import EventType, matches_any
from ...events.store_ranges import sequence_range
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..endpoints.store_reading import find
from ..models import FAILED, Delivery, Replay, Webhook
from .store_expansion import EventRef, add_deliveries, events_between
from .store_queue import wake

# Events in one transaction.
REPLAYED_AT_ONCE = 500
# A webhook at which more deliveries than this are due gets no others by a replay.
MAX_DUE = 100
# Replays of a webhook that may be under way; each looks at all events of its stretch.
MAX_REPLAYS = 10


class ReplayFilter(NamedTuple):
    """What is asked for: events from one moment to before another, or up to now.

    The moments are given as the first ids of all that may have been made at them. No types
    of events are those that the webhook hears of.
    """

    first_id: str
    end_id: str | None
    event_types: list[str]
    only_failed: bool


class ReplayRow(NamedTuple):
    """A replay as callers see it; `created_at` in milliseconds."""

    id: str
    webhook_id: str
    created_at: int


class _RemainingReplay(NamedTuple):
    """A replay and what is left of it."""

    id: str
    webhook_id: str
    event_types: str
    only_failed: bool
    after_sequence: int
    until_sequence: int


_OWN = Replay.account_id == param("account_id")
_ONE = _OWN & (Replay.id == param("id"))
_COLUMNS = tuple(getattr(Replay, name) for name in _RemainingReplay._fields)
_INSERT = Statement(
    lambda _: Replay.insert(
        {
            Replay.account_id: param("account_id"),
            Replay.created_at: param("created_at"),
            **{column: param(column.name) for column in _COLUMNS},
        }
    )
)
_COUNT = Statement(
    lambda _: Replay.select(fn.COUNT(Replay.id)).where(
        _OWN & (Replay.webhook_id == param("webhook_id"))
    )
)
# How many are due is not counted: whether there is one more than there may be, is looked up.
_MORE_DUE_THAN_MAX = (
    Delivery.select(Delivery.id)
    .where(
        (Delivery.account_id == param("account_id"))
        & (Delivery.webhook_id == Replay.webhook_id)
        & Delivery.due_at.is_null(False)
        & (Delivery.due_at <= param("now"))
    )
    .order_by(Delivery.due_at)
    .limit(SQL("1"))
    .offset(param("max_due"))
)
_NEXT = Statement(
    lambda _: (
        Replay.select(*_COLUMNS)
        .join(
            Webhook,
            on=(Webhook.account_id == param("account_id")) & (Webhook.id == Replay.webhook_id),
        )
        .where(_OWN & ~fn.EXISTS(_MORE_DUE_THAN_MAX))
        .order_by(Replay.account_id, Replay.id)
        .limit(SQL("1"))
    ),
    without_account_lock=True,
)
_FAILED = Statement(
    lambda _: (
        Delivery.select(Delivery.sequence)
        .where(
            (Delivery.account_id == param("account_id"))
            & (Delivery.webhook_id == param("webhook_id"))
            & (Delivery.sequence >= param("first"))
            & (Delivery.sequence <= param("last"))
        )
        .group_by(Delivery.sequence)
        # It is the greatest of the numbers: the least is that only if all are.
        .having(fn.MIN(Delivery.status) == FAILED)
    ),
    without_account_lock=True,
)
_ADVANCE = Statement(
    lambda _: Replay.update({Replay.after_sequence: param("after_sequence")}).where(_ONE),
    without_account_lock=True,
)
_END = Statement(lambda _: Replay.delete().where(_ONE), without_account_lock=True)


def create(
    account_id: str, webhook_id: str, replay_filter: ReplayFilter, tx: Transaction
) -> ReplayRow:
    """Stores a replay, which begins as soon as the transaction stands.

    Raises WebhookNotFound, or ReplayLimitReached if as many are under way as may be.
    """
    webhook = find(account_id, webhook_id, tx)
    wake(account_id, tx)
    count = tx.one(_COUNT, account_id=account_id, webhook_id=webhook_id)
    if count is not None and count[0] >= MAX_REPLAYS:
        raise ReplayLimitReached
    row = ReplayRow(tx.new_id(), webhook_id, tx.now)
    events = sequence_range(account_id, replay_filter.first_id, replay_filter.end_id, tx)
    tx.run(
        _INSERT,
        account_id=account_id,
        event_types=orjson.dumps(replay_filter.event_types or webhook.event_types).decode(),
        only_failed=replay_filter.only_failed,
        after_sequence=events.after,
        until_sequence=events.until,
        **row._asdict(),
    )
    return row


def advance(account_id: str, tx: Transaction) -> str | None:
    """Makes deliveries of the next piece of a replay, and returns to which webhook; or None.

    The queue is locked. Five statements at most.
    """
    values = tx.one(_NEXT, account_id=account_id, now=tx.now, max_due=MAX_DUE)
    if values is None:
        return None
    remaining = _RemainingReplay._make(values)
    after, until = remaining.after_sequence, remaining.until_sequence
    events = events_between(account_id, after, until, REPLAYED_AT_ONCE, tx)
    matches = _matching_events(account_id, remaining, events, tx)
    add_deliveries(
        account_id, [(remaining.webhook_id, event) for event in matches], remaining.id, tx
    )
    if len(events) < REPLAYED_AT_ONCE:
        tx.run(_END, account_id=account_id, id=remaining.id)
    else:
        tx.run(_ADVANCE, account_id=account_id, id=remaining.id, after_sequence=events[-1].sequence)
    return remaining.webhook_id


def _matching_events(
    account_id: str, remaining: _RemainingReplay, events: list[EventRef], tx: Transaction
) -> list[EventRef]:
    """Returns those events that a replay asks for. A test of a webhook is never replayed."""
    types: list[str] = orjson.loads(remaining.event_types)
    matches = [
        event
        for event in events
        if event.kind != EventType.WEBHOOK_TEST and matches_any(event.kind, types)
    ]
    if not (matches and remaining.only_failed):
        return matches
    rows = tx.all(
        _FAILED,
        account_id=account_id,
        webhook_id=remaining.webhook_id,
        first=matches[0].sequence,
        last=matches[-1].sequence,
    )
    failed = {sequence for (sequence,) in rows}
    return [event for event in matches if event.sequence in failed]
