"""Stores replays, which deliver past events to a webhook again.

A replay is stored as the range of events that it has not expanded yet. The dispatcher creates
its deliveries in batches, only while few deliveries to the webhook are due. So new events do
not wait behind a long replay, and a replay to a disabled webhook needs little space.
"""

from __future__ import annotations

from typing import NamedTuple

from peewee import SQL, fn

from ....rpc.errors import ReplayLimitReached
from ....storage.statements import Statement, param, params
from ....storage.transaction import Transaction
from ...events.store_reading import sequence_range
from ..endpoints.store_reading import dump_event_types, find, load_event_types
from ..models import FAILED, Delivery, Replay, Webhook
from . import store_queue as deliveries
from .store_expansion import EventRef, add_deliveries, events_between
from .store_queue import QueueStatement, wake

# Events that one transaction reads.
MAX_REPLAYED_EVENTS = 500
# Replays to a webhook with more due deliveries than this wait.
MAX_DUE = 100
# Running replays per webhook. Each of them reads all events of its range.
MAX_REPLAYS = 10


class ReplayFilter(NamedTuple):
    """The events to replay: IDs from `first_id` until before `end_id`; None is no end.

    Without `event_types` it selects those that the webhook subscribes to.
    """

    first_id: str
    end_id: str | None
    event_types: list[str]
    only_failed: bool


class ReplayRow(NamedTuple):
    """A replay as the API returns it; `created_at` in milliseconds."""

    id: str
    webhook_id: str
    created_at: int


class _RunningReplay(NamedTuple):
    """A replay and the range of events that it has not expanded yet."""

    id: str
    webhook_id: str
    event_types: str
    only_failed: bool
    after_sequence: int
    until_sequence: int


_IN_ACCOUNT = Replay.account_id == param("account_id")
_ONE = _IN_ACCOUNT & (Replay.id == param("id"))
_COLUMNS = tuple(getattr(Replay, name) for name in _RunningReplay._fields)
_INSERT = Statement(
    lambda _: Replay.insert(params(Replay.account_id, Replay.created_at, *_COLUMNS))
)
_COUNT = Statement(
    lambda _: Replay.select(fn.COUNT(Replay.id)).where(
        _IN_ACCOUNT & (Replay.webhook_id == param("webhook_id"))
    )
)
# Reads one row beyond the limit instead of counting.
_MORE_DUE_THAN_MAX = (
    Delivery.select(Delivery.id)
    .where(deliveries.IN_ACCOUNT & (Delivery.webhook_id == Replay.webhook_id) & deliveries.DUE)
    .order_by(Delivery.due_at)
    .limit(SQL("1"))
    .offset(param("max_due"))
)
_NEXT = QueueStatement(
    lambda _: (
        Replay.select(*_COLUMNS)
        .join(
            Webhook,
            on=(Webhook.account_id == param("account_id")) & (Webhook.id == Replay.webhook_id),
        )
        .where(_IN_ACCOUNT & ~fn.EXISTS(_MORE_DUE_THAN_MAX))
        .order_by(Replay.account_id, Replay.id)
        .limit(SQL("1"))
    )
)
_FAILED = QueueStatement(
    lambda _: (
        Delivery.select(Delivery.sequence)
        .where(
            deliveries.TO_WEBHOOK
            & (Delivery.sequence >= param("first"))
            & (Delivery.sequence <= param("last"))
        )
        .group_by(Delivery.sequence)
        # FAILED is the greatest status, so the least one is FAILED only if all are.
        .having(fn.MIN(Delivery.status) == FAILED)
    )
)
_ADVANCE = QueueStatement(lambda _: Replay.update(params(Replay.after_sequence)).where(_ONE))
_DELETE = QueueStatement(lambda _: Replay.delete().where(_ONE))


def create(
    account_id: str, webhook_id: str, replay_filter: ReplayFilter, tx: Transaction
) -> ReplayRow:
    """Stores a replay, which starts after the commit.

    Raises WebhookNotFound, or ReplayLimitReached if the webhook has MAX_REPLAYS running replays.
    """
    webhook = find(account_id, webhook_id, tx)
    wake(account_id, tx)
    if tx.scalar(_COUNT, account_id=account_id, webhook_id=webhook_id) >= MAX_REPLAYS:
        raise ReplayLimitReached(MAX_REPLAYS)
    row = ReplayRow(tx.new_id(), webhook_id, tx.now)
    events = sequence_range(account_id, replay_filter.first_id, replay_filter.end_id, tx)
    tx.run(
        _INSERT,
        account_id=account_id,
        event_types=dump_event_types(replay_filter.event_types or webhook.event_types),
        only_failed=replay_filter.only_failed,
        after_sequence=events.after,
        until_sequence=events.until,
        **row._asdict(),
    )
    return row


def advance(account_id: str, tx: Transaction) -> str | None:
    """Creates the next deliveries of one replay and returns its webhook; None without a replay.

    The queue must be locked. At most five statements.
    """
    row = tx.one(_NEXT, account_id=account_id, now=tx.now, max_due=MAX_DUE)
    if row is None:
        return None
    replay = _RunningReplay._make(row)
    after, until = replay.after_sequence, replay.until_sequence
    events = events_between(account_id, after, until, MAX_REPLAYED_EVENTS, tx)
    matches = [
        (replay.webhook_id, event) for event in _matching_events(account_id, replay, events, tx)
    ]
    add_deliveries(account_id, matches, tx, replay.id)
    if len(events) < MAX_REPLAYED_EVENTS:
        tx.run(_DELETE, account_id=account_id, id=replay.id)
    else:
        tx.run(_ADVANCE, account_id=account_id, id=replay.id, after_sequence=events[-1].sequence)
    return replay.webhook_id


def _matching_events(
    account_id: str, replay: _RunningReplay, events: list[EventRef], tx: Transaction
) -> list[EventRef]:
    event_types = load_event_types(replay.event_types)
    matches = [event for event in events if event.matches(event_types)]
    if not (matches and replay.only_failed):
        return matches
    rows = tx.all(
        _FAILED,
        account_id=account_id,
        webhook_id=replay.webhook_id,
        first=matches[0].sequence,
        last=matches[-1].sequence,
    )
    failed = {sequence for (sequence,) in rows}
    return [event for event in matches if event.sequence in failed]
