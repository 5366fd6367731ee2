"""Decides what the undo of an operation does to a subscriber.

The history has what the operation changed. Of that, what is still as the operation left it gets its
value from before. What already has that value needs no change. Everything else was changed since,
and stays. Several changes by the operation are undone as one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...rpc.errors import (
    CustomFieldNotFound,
    Forbidden,
    RosterError,
    SubscriberSuppressed,
    TagNotFound,
    ValidationError,
)
from ...values.texts import caseless_key
from ...values.timestamps import parse_timestamp
from ..custom_fields.rules import check_size, check_values, merged
from ..custom_fields.value_conversion import converted, text_of
from ..subscribers.fields import PROFILE, Kind, Status, SubscriberRow
from ..subscribers.history import EntryType, Source
from ..subscribers.rules import OPTED_OUT, check_number_of_tags
from ..subscribers.store_history import HistoryEntry
from .rules import UndoFailure

_CUSTOM = "customFields."
_PROFILE_BY_JSON = {field.json_name: field for field in PROFILE.values()}
# A change of the address counts as later if its ID is at most so much earlier: that of another
# process, whose clock is behind. In milliseconds.
_CLOCK_DIFFERENCE = 60_000


class Account(NamedTuple):
    """What the undo of changes of an account needs.

    `tag_names` are those of existing tags by ID, `types` the data types of custom fields by key,
    and `suppressed` the keys of suppressed addresses. `by_admin` is whether an admin requested it.
    """

    tag_names: Mapping[str, str]
    types: Mapping[str, int]
    suppressed: Collection[str]
    by_admin: bool


class Undone(NamedTuple):
    """A subscriber before and after an undo, and why parts of the change are not undone.

    `after` is None if the subscriber is deleted.
    """

    before: SubscriberRow
    after: SubscriberRow | None
    failures: Sequence[str]


def tag_ids_in(entries: Iterable[HistoryEntry]) -> set[str]:
    """Returns the IDs of the tags that an operation added or removed."""
    return {id_ for entry in entries for id_ in entry.changes.get("tagIds", {}).values()}


def undone(
    row: SubscriberRow, history: Sequence[HistoryEntry], operation_id: str, account: Account
) -> Undone:
    """Returns the undo of what an operation changed, given the history, the oldest entry first."""
    own = [entry for entry in history if entry.operation_id == operation_id]
    failures: dict[str, None] = {}
    after = row
    for part in (_with_fields, _with_tags, _with_status):
        try:
            after = part(after, own, history, account, failures)
        except RosterError as error:
            failures[error.reason] = None
    return Undone(row, after, list(failures))


def undone_creation(
    row: SubscriberRow, history: Sequence[HistoryEntry], operation_id: str
) -> Undone:
    """Returns the undo of a creation: the deletion, unless the subscriber was changed since."""
    if any(entry.operation_id != operation_id for entry in history):
        return Undone(row, row, [UndoFailure.CHANGED_SINCE])
    return Undone(row, None, [])


def _with_fields(
    row: SubscriberRow,
    own: Sequence[HistoryEntry],
    _history: Sequence[HistoryEntry],
    account: Account,
    failures: dict[str, None],
) -> SubscriberRow:
    changed = _changed_fields(own)
    if not changed:
        return row
    profile: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for name, (before, after) in changed.items():
        key, field = name.removeprefix(_CUSTOM), _PROFILE_BY_JSON.get(name)
        is_custom = name.startswith(_CUSTOM)
        if is_custom and key not in account.types:
            failures[CustomFieldNotFound.reason] = None
            continue
        if not is_custom and field is None:
            # An address, which no operation changes.
            failures[UndoFailure.CHANGED_SINCE] = None
            continue
        stored = row.values.get(key) if field is None else getattr(row, field.name)
        if field is None:
            current = stored
            before, after = (_typed(value, account.types[key]) for value in (before, after))
        else:
            current = None if stored is None else field.to_json(stored)
        if _text(current) == _text(before):
            continue
        if _text(current) != _text(after):
            failures[UndoFailure.CHANGED_SINCE] = None
        elif field is None:
            values[key] = before
        else:
            is_time = field.kind is Kind.TIME and before is not None
            profile[field.name] = parse_timestamp(before) if is_time else before
    new = merged(row.values, values)
    faults = [*check_values(values, account.types), *check_size(new, row.values)]
    if faults:
        raise ValidationError(faults)
    return row._replace(**profile, values=new)


def _changed_fields(own: Sequence[HistoryEntry]) -> dict[str, tuple[Any, Any]]:
    """Returns the values before and after all changes of fields, by name."""
    fields: dict[str, tuple[Any, Any]] = {}
    for entry in own:
        if entry.type is EntryType.FIELDS_CHANGED:
            for name, (before, after) in entry.changes.items():
                first, _ = fields.get(name, (before, None))
                fields[name] = first, after
    return fields


def _typed(value: Any, data_type: int) -> Any:
    """Returns a value of the history with the data type of its field, which can have changed."""
    exact = None if value is None else converted(value, data_type)
    return value if exact is None else exact


def _text(value: Any) -> str | None:
    """Returns a value as text. Python compares true and 1 as equal."""
    return None if value is None else text_of(value)


def _with_tags(
    row: SubscriberRow,
    own: Sequence[HistoryEntry],
    history: Sequence[HistoryEntry],
    account: Account,
    failures: dict[str, None],
) -> SubscriberRow:
    changed = _changed_tags(own)
    if not changed:
        return row
    tags = {caseless_key(name): name for name in row.tags}
    for tag_id, (had_it, has_it, last) in changed.items():
        name = account.tag_names.get(tag_id)
        if name is None:
            # The subscriber no longer has a deleted tag that the operation added.
            if had_it:
                failures[TagNotFound.reason] = None
            continue
        key = caseless_key(name)
        if had_it == has_it or (key in tags) == had_it:
            continue
        keys = {key, *(caseless_key(each) for each in _names_of(last, tag_id))}
        later = (entry for entry in history if entry.id > last.id)
        if not keys.isdisjoint(_changed_keys(later)):
            failures[UndoFailure.CHANGED_SINCE] = None
        elif had_it:
            tags[key] = name
        else:
            del tags[key]
    if len(tags) > len(row.tags):
        check_number_of_tags(len(tags))
    return row._replace(tags=tuple(tags[key] for key in sorted(tags)))


def _changed_tags(own: Sequence[HistoryEntry]) -> dict[str, tuple[bool, bool, HistoryEntry]]:
    """Returns by tag ID whether a subscriber had it before, and after, with the last entry."""
    tags: dict[str, tuple[bool, bool, HistoryEntry]] = {}
    for entry in own:
        for name, tag_id in entry.changes.get("tagIds", {}).items():
            is_added = name in entry.changes["added"]
            had_it = tags[tag_id][0] if tag_id in tags else not is_added
            tags[tag_id] = had_it, is_added, entry
    return tags


def _names_of(entry: HistoryEntry, tag_id: str) -> list[str]:
    return [name for name, each in entry.changes["tagIds"].items() if each == tag_id]


def _changed_keys(entries: Iterable[HistoryEntry]) -> Iterator[str]:
    """Yields the name keys of the tags in entries."""
    for entry in entries:
        if entry.type is EntryType.TAGS_CHANGED:
            yield from map(caseless_key, (*entry.changes["added"], *entry.changes["removed"]))


def _with_status(
    row: SubscriberRow,
    own: Sequence[HistoryEntry],
    history: Sequence[HistoryEntry],
    account: Account,
    failures: dict[str, None],
) -> SubscriberRow:
    """Raises Forbidden or SubscriberSuppressed."""
    changes = [entry for entry in own if entry.type is EntryType.STATUS_CHANGED]
    if not changes:
        return row
    first, last = changes[0], changes[-1]
    before, after = Status[first.changes["from"]], Status[last.changes["to"]]
    if row.status == before:
        return row
    # Its number and not its ID decides, because the clocks of processes differ.
    is_last = row.status_revision == last.changes.get("revision") and row.status == after
    if not is_last or _has_other_address(last, history):
        failures[UndoFailure.CHANGED_SINCE] = None
        return row
    if after in OPTED_OUT and (
        any(entry.source is not Source.API for entry in changes) or _is_repeated(last, history)
    ):
        failures[UndoFailure.OPT_OUT_KEPT] = None
        return row
    if not account.by_admin:
        raise Forbidden(neededScope="admin", scope="write")
    if before not in OPTED_OUT and row.email_key in account.suppressed:
        raise SubscriberSuppressed
    return row._replace(status=int(before))


def _has_other_address(change: HistoryEntry, history: Sequence[HistoryEntry]) -> bool:
    """Whether the address was changed after a change of the status, which belongs to it."""
    return any(
        entry.type is EntryType.FIELDS_CHANGED
        and "email" in entry.changes
        and (entry.id > change.id or entry.at > change.at - _CLOCK_DIFFERENCE)
        for entry in history
    )


def _is_repeated(change: HistoryEntry, history: Sequence[HistoryEntry]) -> bool:
    """Whether the opt-out was stated again after an operation had changed the status."""
    return any(
        entry.type is EntryType.OPT_OUT_REPEATED
        and entry.changes["revision"] >= change.changes["revision"]
        for entry in history
    )
