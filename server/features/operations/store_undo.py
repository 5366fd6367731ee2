"""Undoes what an operation changed, in the transaction of a step."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from ...rpc.caller import Caller
from ...rpc.errors import (
    Forbidden,
    OperationAlreadyUndone,
    OperationNotEnded,
    OperationNotUndoable,
    SubscriberNotFound,
    UndoExpired,
)
from ...storage.transaction import Transaction
from ...values.ids import first_id_at
from ...values.texts import caseless_key
from ..custom_fields.store import types as custom_field_types
from ..events.rules import EventType
from ..subscribers.counters.store_statistics import StatisticChanges
from ..subscribers.fields import Status, SubscriberRow
from ..subscribers.history import EntryType, Source
from ..subscribers.rules import STATUS_EVENT_TYPES
from ..subscribers.store import SubscriberStore
from ..subscribers.store_attached import attach, detach, replace_values
from ..subscribers.store_changes import store_changes
from ..subscribers.store_history import CHANGES, HistoryEntry, created_by, entries_of_each
from ..subscribers.store_reading import find_each
from ..suppressions.store import Suppressions
from ..tags.store import names_of
from .rules import UNDO_MILLISECONDS, BatchRequest, JobRequest, UndoRequest
from .store import OperationRow, create_undo
from .store import find_each as find_operations
from .undo import Account, Undone, tag_ids_in, undone, undone_creation

# The history of a subscriber is read from this time before the operation, in milliseconds, because
# clocks of processes differ.
_BEFORE = 3600_000


def start_undo(
    account_id: str, undone: OperationRow, caller: Caller, tx: Transaction, *, dry_run: bool
) -> OperationRow:
    """Starts the undo of an operation and returns it.

    Raises OperationNotUndoable, OperationNotEnded, UndoExpired, OperationAlreadyUndone, Forbidden
    or OperationLimitReached.
    """
    content = _check_can_be_undone(undone, tx.now)
    is_of_import, is_admin = isinstance(content, JobRequest), caller.scope == "admin"
    if isinstance(content, BatchRequest) and content.action == "changeStatus" and not is_admin:
        raise Forbidden(neededScope="admin", scope=caller.scope)
    request = UndoRequest(
        undone.id,
        undone.created_at,
        content.revision,
        by_admin=is_admin,
        dry_run=dry_run,
        is_of_import=is_of_import,
    )
    return create_undo(account_id, request, undone.changed or 0, tx)


def _check_can_be_undone(row: OperationRow, now: int) -> BatchRequest | JobRequest:
    """Returns the request of an operation that can be undone, or raises the error."""
    content = row.content
    if not isinstance(content, BatchRequest | JobRequest) or not content.can_be_undone:
        raise OperationNotUndoable
    expires_at = row.undo_expires_at
    if expires_at is None:
        raise OperationNotEnded
    if expires_at <= now:
        raise UndoExpired(hours=UNDO_MILLISECONDS // 3_600_000)
    if row.undone_by is not None:
        raise OperationAlreadyUndone(undoneBy=row.undone_by)
    return content


def undo(
    account_id: str,
    row: OperationRow,
    request: UndoRequest,
    ids: Sequence[str],
    suppressions: Suppressions,
    tx: Transaction,
) -> OperationRow:
    """Undoes the changes of subscribers, unless it is a dry run. Returns the undo with its counts.

    Subscribers that the operation did not change are skipped.
    """
    if not ids:
        return row
    parts = _undone(account_id, request, ids, suppressions, tx)
    changed = [part for part in parts if part.after != part.before]
    if not request.dry_run:
        _store(account_id, changed, suppressions, tx)
    failures = row.failures
    for part in parts:
        for reason in part.failures:
            failures.add(reason, part.before.id)
    unchanged = sum(part.after == part.before and not part.failures for part in parts)
    if request.is_of_import:
        deleted = sum(part.after is None for part in changed)
        row = row._replace(deleted=(row.deleted or 0) + deleted)
    return row._replace(
        processed=row.processed + len(parts),
        changed=(row.changed or 0) + len(changed),
        unchanged=(row.unchanged or 0) + unchanged,
        failed=failures.as_text(),
    )


def with_missing(row: OperationRow, request: UndoRequest) -> OperationRow:
    """Returns an undo that ends, with the subscribers that were deleted since.

    Those of an import are not known: several of its rows can have changed one subscriber, or none.
    """
    if request.is_of_import:
        return row._replace(total=row.processed)
    failures = row.failures
    if row.total > row.processed:
        failures.add_many(SubscriberNotFound.reason, row.total - row.processed)
    return row._replace(failed=failures.as_text())


def _undone(
    account_id: str,
    request: UndoRequest,
    ids: Sequence[str],
    suppressions: Suppressions,
    tx: Transaction,
) -> list[Undone]:
    """Returns what is undone for each subscriber that the operation changed, in order of ID."""
    operation_id = request.undo_of
    first = first_id_at(max(request.started_at - _BEFORE, 0))
    histories = entries_of_each(account_id, ids, CHANGES, tx, after=first)
    own = {
        id_: found
        for id_, history in histories.items()
        if (found := [entry for entry in history if _is_change_of(entry, operation_id)])
    }
    created: set[str] = set()
    if request.is_of_import:
        created = created_by(account_id, ids, operation_id, tx)
        again = {
            entry.operation_id
            for id_ in created
            for entry in histories.get(id_, ())
            if entry.type is EntryType.ADDED_AGAIN and entry.operation_id
        }
        others = find_operations(account_id, sorted(again), tx) if again else {}
        # What an import stated that was undone itself keeps no one.
        withdrawn = {id_ for id_, each in others.items() if each.undone_by is not None}
        for id_ in created & histories.keys():
            histories[id_] = [
                entry
                for entry in histories[id_]
                if entry.type is not EntryType.ADDED_AGAIN or entry.operation_id not in withdrawn
            ]
    rows = find_each(account_id, sorted({*own, *created}), tx)
    keys = [each.email_key for each in rows.values()]
    tag_ids = {tag_id for entries in own.values() for tag_id in tag_ids_in(entries)}
    account = Account(
        names_of(account_id, sorted(tag_ids), tx),
        custom_field_types(account_id, tx),
        suppressions.suppressed_among(account_id, keys, tx) if keys else (),
        request.by_admin,
    )
    return [
        undone_creation(each, histories.get(id_, ()), operation_id)
        if (id_ := each.id) in created
        else undone(each, histories[id_], operation_id, account)
        for each in sorted(rows.values(), key=attrgetter("id"))
    ]


def _is_change_of(entry: HistoryEntry, operation_id: str) -> bool:
    """Whether an operation changed something, which it did not where it stated something again."""
    return entry.operation_id == operation_id and entry.type in CHANGES


def _store(
    account_id: str, changed: Sequence[Undone], suppressions: Suppressions, tx: Transaction
) -> None:
    by_event_type: dict[EventType, list[tuple[SubscriberRow, SubscriberRow]]] = {}
    subscribers = SubscriberStore(suppressions)
    for before, after, _ in changed:
        if after is None:
            subscribers.delete(account_id, before.id, tx)
            continue
        event_type = EventType.SUBSCRIBER_UPDATED
        if after.status != before.status:
            event_type = STATUS_EVENT_TYPES.get(Status(after.status), event_type)
        by_event_type.setdefault(event_type, []).append((before, after))
    for event_type, changes in by_event_type.items():
        statistics = StatisticChanges(tx.now)
        _store_tags(account_id, changes, statistics, tx)
        replace_values(account_id, changes, tx)
        store_changes(account_id, changes, statistics, tx, Source.API, event_type)


def _store_tags(
    account_id: str,
    changes: Sequence[tuple[SubscriberRow, SubscriberRow]],
    statistics: StatisticChanges,
    tx: Transaction,
) -> None:
    """Stores the tags of subscribers. Four statements, and one for each set of removed tags."""
    added = []
    removed: dict[frozenset[str], list[SubscriberRow]] = {}
    for before, after in changes:
        keys = frozenset(map(caseless_key, set(before.tags) - set(after.tags)))
        if keys:
            removed.setdefault(keys, []).append(before)
        names = {caseless_key(name): name for name in after.tags if name not in before.tags}
        if names:
            added.append((before.id, before.status, names))
    attach(account_id, added, statistics, tx)
    for keys, rows in removed.items():
        detach(account_id, rows, keys, statistics, tx)
