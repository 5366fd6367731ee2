"""Stores changes of subscribers: their profile, status, tags and custom field values.

Functions for many subscribers take a fixed number of statements, apart from the update of each
row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Concatenate, ParamSpec, TypeVar

from ...rpc.errors import (
    InvalidStatusTransition,
    RosterError,
    SubscriberNotFound,
    SubscriberSuppressed,
    ValidationError,
)
from ...storage.statements import Statement, params
from ...storage.transaction import Transaction
from ...values.emails import unicode_key
from ...values.texts import caseless_key
from ..custom_fields.rules import check_size, merged
from ..events.rules import Change, EventType
from ..events.store import record
from ..suppressions.store import Suppressions
from .counters.store_statistics import StatisticChanges
from .fields import PROFILE, Status, SubscriberRow
from .history import Source, entries
from .models import Subscriber
from .rules import (
    NO_CONSENT_RECORD,
    OPTED_OUT,
    STATUS_EVENT_TYPES,
    ConsentRecord,
    check_number_of_tags,
    check_transition,
    search_keys,
    status_times,
)
from .store_attached import attach, count_statuses, detach, merge_values, of_operation
from .store_history import add_history, opted_out_after_bounce
from .store_reading import IN_ACCOUNT, Reference, find, find_each
from .store_repeated import record_repeated_opt_outs
from .store_revisions import next_revision

Outcome = SubscriberRow | RosterError
Value = TypeVar("Value")
Others = ParamSpec("Others")

# The columns of a row. Tags and values are in other tables.
_COLUMNS = frozenset(SubscriberRow._fields) - {"id", "tags", "values"}


@cache
def _update(columns: tuple[str, ...]) -> Statement:
    """Returns the statement that sets columns of subscribers to the same values.

    Columns that do not change are left out: each has the cost of its indexes.
    """
    assignments = params(*[getattr(Subscriber, name) for name in columns])
    return Statement(
        lambda dialect: Subscriber.update(assignments).where(
            IN_ACCOUNT & dialect.any_of(Subscriber.id, "ids")
        ),
        has_one_plan=True,
    )


def change_statuses(
    account_id: str,
    rows: Sequence[SubscriberRow],
    status: Status,
    tx: Transaction,
    source: Source = Source.API,
    *,
    by_admin: bool,
    consent_record: ConsentRecord = NO_CONSENT_RECORD,
    consent_source: str = "",
    suppressions: Suppressions | None = None,
    decided_at: int = 0,
) -> list[Outcome]:
    """Changes the status of subscribers. Returns each of them, or the error of `with_status`.

    `consent_record` can contain the times of the change, and `consent_source` how the person asked
    for it.
    """
    planned = with_status(
        account_id,
        rows,
        status,
        tx,
        source,
        by_admin=by_admin,
        suppressions=suppressions,
        decided_at=decided_at,
    )
    kept = [
        before
        for before, after in zip(rows, planned, strict=True)
        if isinstance(after, RosterError) or after == before
    ]
    record_repeated_opt_outs(account_id, kept, status, source, tx)
    event_type = STATUS_EVENT_TYPES.get(status, EventType.SUBSCRIBER_UPDATED)
    statistics = StatisticChanges(tx.now)
    changes = _effective(rows, planned)
    if consent_source and status not in OPTED_OUT:
        consent: dict[str, Any] = {
            "consent_source": consent_source,
            "consent_ip": None,
            "consent_at": tx.now,
        }
        changes = [(before, row._replace(**consent)) for before, row in changes]
    stored = store_changes(
        account_id, changes, statistics, tx, source, event_type, consent_record, consent_source
    )
    return _outcomes(planned, stored)


def with_status(
    account_id: str,
    rows: Sequence[SubscriberRow],
    status: Status,
    tx: Transaction,
    source: Source = Source.API,
    *,
    by_admin: bool,
    suppressions: Suppressions | None = None,
    decided_at: int = 0,
) -> list[Outcome]:
    """Returns subscribers as they would be with a status, or the errors of the change.

    `suppressions` are required for a status that is not an opt-out. `decided_at` is the revision of
    the account when the change was requested, if it waited since: it does not end an opt-out that
    changed the status later. The errors are InvalidStatusTransition and SubscriberSuppressed.
    """
    suppressed: Collection[str] = ()
    if suppressions is not None and status not in OPTED_OUT:
        keys = [row.email_key for row in rows if row.status != status]
        suppressed = suppressions.suppressed_among(account_id, keys, tx) if keys else ()
    after_bounce: Collection[str] = ()
    if source is not Source.SELF_SERVICE and status not in OPTED_OUT:
        ids = [row.id for row in rows if row.status == Status.UNSUBSCRIBED]
        after_bounce = opted_out_after_bounce(account_id, ids, tx) if ids else ()
    outcomes: list[Outcome] = []
    for row in rows:
        opted_out_since = row.status in OPTED_OUT and (row.status_revision or 0) > decided_at > 0
        if opted_out_since and status not in OPTED_OUT:
            outcomes.append(InvalidStatusTransition(Status(row.status).name, status.name))
            continue
        try:
            check_transition(
                Status(row.status),
                status,
                by_admin=by_admin,
                after_bounce=row.id in after_bounce,
            )
        except RosterError as error:
            outcomes.append(error)
            continue
        if row.status != status and row.email_key in suppressed:
            outcomes.append(SubscriberSuppressed())
        else:
            outcomes.append(row._replace(status=int(status)))
    return outcomes


def update_profiles(
    account_id: str,
    updates: Sequence[tuple[Reference, Mapping[str, Any]]],
    tx: Transaction,
    source: Source = Source.API,
) -> list[Outcome]:
    """Changes fields of the profiles of subscribers.

    Returns each of them, or SubscriberNotFound. Later changes of a subscriber follow its first
    one.
    """
    outcomes: dict[int, Outcome] = {}
    while len(outcomes) < len(updates):
        left = [index for index in range(len(updates)) if index not in outcomes]
        found = find_each(account_id, [updates[index][0] for index in left], tx)
        first: dict[str, int] = {}
        for index in left:
            before = found.get(updates[index][0])
            if before is None:
                outcomes[index] = SubscriberNotFound()
            else:
                first.setdefault(before.id, index)
        changes = []
        for index in first.values():
            reference, profile = updates[index]
            changes.append((found[reference], found[reference]._replace(**profile)))
        statistics = StatisticChanges(tx.now)
        stored = store_changes(account_id, changes, statistics, tx, source)
        outcomes |= zip(first.values(), stored, strict=True)
    return [outcomes[index] for index in range(len(updates))]


def add_tags_to_each(
    account_id: str,
    rows: Sequence[SubscriberRow],
    names: Mapping[str, str],
    tx: Transaction,
    source: Source = Source.API,
) -> list[Outcome]:
    """Adds tags, given as names by key, to subscribers.

    Returns each of them, or the error of `with_tags`.
    """
    planned = with_tags(rows, names)
    changes = _effective(rows, planned)
    # Subscribers with equal tags share the added ones: there are many subscribers of few kinds.
    added = {before.tags: _missing(before.tags, names) for before, _ in changes}
    statistics = StatisticChanges(tx.now)
    links = [(before.id, before.status, added[before.tags]) for before, _ in changes]
    # A tag that exists keeps its name in another case.
    stored_names = attach(account_id, links, statistics, tx)
    tags_after = {
        row.tags: tuple(stored_names.get(caseless_key(name), name) for name in row.tags)
        for _, row in changes
    }
    changes = [(before, row._replace(tags=tags_after[row.tags])) for before, row in changes]
    return _outcomes(planned, store_changes(account_id, changes, statistics, tx, source))


def with_tags(rows: Sequence[SubscriberRow], names: Mapping[str, str]) -> list[Outcome]:
    """Returns subscribers with tags added to theirs, or ValidationError for too many tags."""
    after: dict[tuple[str, ...], tuple[str, ...] | RosterError] = {}
    for tags in {row.tags for row in rows}:
        added = _missing(tags, names)
        try:
            check_number_of_tags(len(tags) + len(added))
        except RosterError as error:
            after[tags] = error if added else tags
            continue
        by_key = {caseless_key(name): name for name in tags} | added
        after[tags] = tuple(by_key[key] for key in sorted(by_key))
    return [
        found if isinstance(found := after[row.tags], RosterError) else row._replace(tags=found)
        for row in rows
    ]


def _missing(tags: Collection[str], names: Mapping[str, str]) -> dict[str, str]:
    keys = set(map(caseless_key, tags))
    return {key: name for key, name in names.items() if key not in keys}


def remove_tags_from_each(
    account_id: str,
    rows: Sequence[SubscriberRow],
    name_keys: Collection[str],
    tx: Transaction,
    source: Source = Source.API,
) -> list[SubscriberRow]:
    """Removes tags, given by their name keys, from subscribers and returns these."""
    changes = list(zip(rows, without_tags(rows, name_keys), strict=True))
    statistics = StatisticChanges(tx.now)
    tagged = [before for before, row in changes if before.tags != row.tags]
    if tagged:
        detach(account_id, tagged, name_keys, statistics, tx)
    return store_changes(account_id, changes, statistics, tx, source)


def without_tags(rows: Sequence[SubscriberRow], name_keys: Collection[str]) -> list[SubscriberRow]:
    """Returns subscribers without tags."""
    return [
        row._replace(tags=tuple(name for name in row.tags if caseless_key(name) not in name_keys))
        for row in rows
    ]


def set_values_of_each(
    account_id: str,
    rows: Sequence[SubscriberRow],
    values: Mapping[str, Any],
    tx: Transaction,
    source: Source = Source.API,
) -> list[Outcome]:
    """Sets values of custom fields that were checked; None removes one.

    Returns each subscriber, or the error of `with_values`.
    """
    planned = with_values(rows, values)
    changes = _effective(rows, planned)
    changed = [before.id for before, _ in changes]
    if changed:
        merge_values(account_id, changed, values, tx)
    statistics = StatisticChanges(tx.now)
    return _outcomes(planned, store_changes(account_id, changes, statistics, tx, source))


def with_values(rows: Sequence[SubscriberRow], values: Mapping[str, Any]) -> list[Outcome]:
    """Returns subscribers with values merged into theirs, or ValidationError if too large."""
    outcomes: list[Outcome] = []
    for row in rows:
        new = merged(row.values, values)
        faults = check_size(new, row.values)
        outcomes.append(ValidationError(faults) if faults else row._replace(values=new))
    return outcomes


def _of_one(
    change: Callable[
        Concatenate[str, Sequence[SubscriberRow], Value, Transaction, Others], Sequence[Outcome]
    ],
) -> Callable[Concatenate[str, Reference, Value, Transaction, Others], SubscriberRow]:
    """Returns the function that changes one subscriber and returns it, or raises its error.

    It also raises SubscriberNotFound.
    """

    def change_one(
        account_id: str,
        reference: Reference,
        value: Value,
        tx: Transaction,
        /,
        *args: Others.args,
        **options: Others.kwargs,
    ) -> SubscriberRow:
        before = find(account_id, reference, tx)
        (outcome,) = change(account_id, [before], value, tx, *args, **options)
        if isinstance(outcome, RosterError):
            raise outcome
        return outcome

    return change_one


change_status = _of_one(change_statuses)
add_tags = _of_one(add_tags_to_each)
remove_tags = _of_one(remove_tags_from_each)


def _effective(
    rows: Sequence[SubscriberRow], planned: Sequence[Outcome]
) -> list[tuple[SubscriberRow, SubscriberRow]]:
    """Returns the subscribers that would change, before and after."""
    return [
        (before, row)
        for before, row in zip(rows, planned, strict=True)
        if not isinstance(row, RosterError) and row != before
    ]


def _outcomes(planned: Sequence[Outcome], stored: Iterable[SubscriberRow]) -> list[Outcome]:
    """Returns the planned outcomes, with the stored rows of the subscribers that changed."""
    by_id = {row.id: row for row in stored}
    return [each if isinstance(each, RosterError) else by_id.get(each.id, each) for each in planned]


def store_changes(
    account_id: str,
    changes: Sequence[tuple[SubscriberRow, SubscriberRow]],
    statistics: StatisticChanges,
    tx: Transaction,
    source: Source,
    event_type: EventType = EventType.SUBSCRIBER_UPDATED,
    consent_record: ConsentRecord = NO_CONSENT_RECORD,
    consent_source: str = "",
) -> list[SubscriberRow]:
    """Stores changes of different subscribers with their history and events. Returns the rows.

    A change is a row before and after. Tags and values are not stored here; `statistics` already
    contains the changes of tags. A change to equal values has no effect. A statement for each
    different change and four more, not counting the statements that record events.
    """
    if all(before == row for before, row in changes):
        return [row for _, row in changes]
    revision, stored, effective = next_revision(account_id, tx), [], []
    for before, row in changes:
        changed = row
        if row != before:
            times: dict[str, Any] = status_times(
                Status(before.status), Status(row.status), tx.now, consent_record
            )
            if row.status != before.status:
                times["status_revision"] = revision
            changed = row._replace(revision=revision, **times)
            effective.append((before, changed))
        stored.append(changed)
    _store(account_id, effective, tx)
    by_operation = of_operation(account_id, effective, revision, tx)
    histories = [
        (row.id, entries(before, row, source, consent_source, by_operation))
        for before, row in effective
    ]
    add_history(account_id, histories, tx)
    count_statuses(account_id, effective, statistics, tx)
    statistics.store(account_id, tx)
    record(account_id, [Change(event_type, before, row) for before, row in effective], tx)
    return stored


def _store(
    account_id: str, changes: Sequence[tuple[SubscriberRow, SubscriberRow]], tx: Transaction
) -> None:
    """Stores changed columns. One statement for all subscribers with the same new values."""
    ids_by_values: dict[tuple[tuple[str, Any], ...], list[str]] = {}
    for before, row in changes:
        ids_by_values.setdefault(_changed_columns(before, row), []).append(row.id)
    updates: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for changed, ids in ids_by_values.items():
        values = {"account_id": account_id, "ids": ids, **dict(changed)}
        updates.setdefault(tuple(name for name, _ in changed), []).append(values)
    for columns, values_of_each in updates.items():
        tx.run_each(_update(columns), values_of_each)


def _changed_columns(before: SubscriberRow, row: SubscriberRow) -> tuple[tuple[str, Any], ...]:
    """Returns the names and new values of the columns that differ."""
    changed = {
        name: new
        for name, old, new in zip(SubscriberRow._fields, before, row, strict=True)
        if name in _COLUMNS and old != new
    }
    if not changed.keys().isdisjoint(PROFILE):
        changed |= search_keys(row.first_name, row.last_name)._asdict()
    if "email_key" in changed:
        changed["email_unicode_key"] = unicode_key(row.email_key)
    return tuple(changed.items())
