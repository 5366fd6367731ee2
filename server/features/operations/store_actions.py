"""Declares what operations do to each subscriber."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...rpc.errors import Detail, ValidationError, invalid
from ...rpc.messages import struct_to_dict
from ...storage.transaction import Transaction
from ..custom_fields.rules import check_size, check_values, with_suggestions
from ..custom_fields.store import types as custom_field_types
from ..subscribers.fields import Status, SubscriberRow
from ..subscribers.store import SubscriberStore
from ..subscribers.store_changes import (
    add_tags_to_each,
    change_statuses,
    remove_tags_from_each,
    set_values_of_each,
    with_status,
    with_tags,
    with_values,
    without_tags,
)
from ..suppressions.store import Suppressions
from ..tags.rules import distinct


class Scope(NamedTuple):
    """The account whose subscribers an action changes, and whether an admin requested it.

    `consent_source` is how the people asked for a change of the status, and `revision` the last one
    of the account at the start.
    """

    account_id: str
    by_admin: bool
    consent_source: str
    revision: int
    suppressions: Suppressions
    tx: Transaction


# Returns the outcome of each subscriber: a RosterError if it failed, or an equal row if it was not
# changed.
Apply = Callable[[Scope, Sequence[SubscriberRow], Any], Sequence[object]]


class Action(NamedTuple):
    """One field of BatchAction.

    `value_of` returns the value of the field as it is stored, in JSON; it can raise
    ValidationError. So can `check`, for a value that the account does not accept. `plan` returns
    the outcomes that `change` would have, for a dry run, and stores nothing; the stores of
    subscribers make each change from its plan, so that they cannot differ.
    """

    value_of: Callable[[Any], Any]
    plan: Apply
    change: Apply
    check: Callable[[str, Any, Transaction], None] | None = None
    # Whether the value is a list of names of tags, which a renaming changes too.
    names_tags: bool = False
    # Whether the value has values of custom fields by key.
    sets_values: bool = False


def _plan_added_tags(_: Scope, rows: Sequence[SubscriberRow], names: Any) -> Sequence[object]:
    return with_tags(rows, distinct(names))


def _add_tags(scope: Scope, rows: Sequence[SubscriberRow], names: Any) -> Sequence[object]:
    return add_tags_to_each(scope.account_id, rows, distinct(names), scope.tx)


def _plan_removed_tags(_: Scope, rows: Sequence[SubscriberRow], names: Any) -> Sequence[object]:
    return without_tags(rows, set(distinct(names)))


def _remove_tags(scope: Scope, rows: Sequence[SubscriberRow], names: Any) -> Sequence[object]:
    return remove_tags_from_each(scope.account_id, rows, set(distinct(names)), scope.tx)


def _check_values(account_id: str, values: Any, tx: Transaction) -> None:
    types = custom_field_types(account_id, tx)
    faults = [*with_suggestions(check_values(values, types), types), *check_size(values)]
    if faults:
        raise ValidationError([_in_action(fault) for fault in faults])


def _in_action(fault: Detail) -> Detail:
    field = fault.field.replace("customFields", "action.setCustomFields", 1)
    return Detail(field, fault.code, fault.message)


def _if_valid(apply: Apply) -> Apply:
    """Returns a function that checks the values first: a field may have been deleted."""

    def checked(scope: Scope, rows: Sequence[SubscriberRow], values: Any) -> Sequence[object]:
        faults = check_values(values, custom_field_types(scope.account_id, scope.tx))
        return [ValidationError(faults)] * len(rows) if faults else apply(scope, rows, values)

    return checked


@_if_valid
def _plan_values(_: Scope, rows: Sequence[SubscriberRow], values: Any) -> Sequence[object]:
    return with_values(rows, values)


@_if_valid
def _set_values(scope: Scope, rows: Sequence[SubscriberRow], values: Any) -> Sequence[object]:
    return set_values_of_each(scope.account_id, rows, values, scope.tx)


def _status_of(number: int) -> str:
    if not number:
        raise invalid("action.changeStatus", "REQUIRED", "is required")
    return Status(number).name


def _plan_status(scope: Scope, rows: Sequence[SubscriberRow], name: Any) -> Sequence[object]:
    return with_status(
        scope.account_id,
        rows,
        Status[name],
        scope.tx,
        by_admin=scope.by_admin,
        suppressions=scope.suppressions,
        decided_at=scope.revision,
    )


def _change_status(scope: Scope, rows: Sequence[SubscriberRow], name: Any) -> Sequence[object]:
    return change_statuses(
        scope.account_id,
        rows,
        Status[name],
        scope.tx,
        by_admin=scope.by_admin,
        consent_source=scope.consent_source,
        suppressions=scope.suppressions,
        decided_at=scope.revision,
    )


def _true(value: bool) -> bool:
    if not value:
        raise invalid("action.delete", "INVALID_VALUE", "must be true")
    return True


def _plan_deletion(_: Scope, rows: Sequence[SubscriberRow], __: Any) -> Sequence[object]:
    return [row.id for row in rows]


def _delete(scope: Scope, rows: Sequence[SubscriberRow], _: Any) -> Sequence[object]:
    store = SubscriberStore(scope.suppressions)
    return [store.delete(scope.account_id, row.id, scope.tx) for row in rows]


# The actions by the JSON name of their field.
ACTIONS: Mapping[str, Action] = {
    "addTags": Action(list, _plan_added_tags, _add_tags, names_tags=True),
    "removeTags": Action(list, _plan_removed_tags, _remove_tags, names_tags=True),
    "setCustomFields": Action(
        struct_to_dict, _plan_values, _set_values, _check_values, sets_values=True
    ),
    "changeStatus": Action(_status_of, _plan_status, _change_status),
    "delete": Action(_true, _plan_deletion, _delete),
}
