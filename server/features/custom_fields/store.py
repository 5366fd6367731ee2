"""Stores custom fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from peewee import SQL, fn

from ...rpc.errors import (
    CustomFieldAlreadyExists,
    CustomFieldBeingDeleted,
    CustomFieldLimitReached,
    CustomFieldNotFound,
)
from ...rpc.paging import Page
from ...storage.statements import Statement, delete_first, param
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.texts import DELETED_KEY, caseless_key
from ..events.rules import Change, EventType, created, deleted
from ..events.store import record
from .models import IS_DELETED_FIELD, IS_FIELD, CustomField, CustomValue
from .rules import MAX_FIELDS, DataType, merge_tag


class CustomFieldRow(NamedTuple):
    """A stored custom field. Timestamps are in milliseconds; an empty fallback is none."""

    id: str
    key: str
    label: str
    data_type: int
    fallback: str
    created_at: int
    updated_at: int

    def as_json(self) -> dict[str, Any]:
        """Returns the custom field as the API returns it."""
        field = {
            "id": self.id,
            "key": self.key,
            "label": self.label,
            "dataType": DataType(self.data_type).name,
            "mergeTag": merge_tag(self.key),
            "createdAt": iso8601(self.created_at),
            "updatedAt": iso8601(self.updated_at),
        }
        return {**field, "fallback": self.fallback} if self.fallback else field


_COLUMNS = tuple(getattr(CustomField, name) for name in CustomFieldRow._fields)
_IN_ACCOUNT = (CustomField.account_id == param("account_id")) & IS_FIELD
_ONE = (CustomField.account_id == param("account_id")) & (CustomField.id == param("id"))
# The values that a transaction removes.
REMOVED_AT_ONCE = 2_000

_FIND = Statement(lambda _: CustomField.select(*_COLUMNS).where(_ONE & IS_FIELD), has_one_plan=True)
_COUNT = Statement(lambda _: CustomField.select(fn.COUNT(CustomField.id)).where(_IN_ACCOUNT))
_PAGE = Statement(
    lambda _: (
        CustomField.select(*_COLUMNS)
        .where(_IN_ACCOUNT)
        .order_by(CustomField.account_id, CustomField.id)
        .limit(param("limit"))
        .offset(param("offset"))
    )
)
_BY_LABEL = Statement(
    lambda _: CustomField.select(CustomField.id).where(
        _IN_ACCOUNT & (CustomField.label_key == param("label_key"))
    ),
    has_one_plan=True,
)
_INSERT = Statement(
    lambda _: CustomField.insert(
        {
            CustomField.account_id: param("account_id"),
            CustomField.label_key: param("label_key"),
            **{column: param(column.name) for column in _COLUMNS},
        }
    ).on_conflict_ignore()
)
_UPDATE = Statement(
    lambda _: CustomField.update(
        {
            CustomField.label: param("label"),
            CustomField.label_key: param("label_key"),
            CustomField.fallback: param("fallback"),
            CustomField.updated_at: param("updated_at"),
        }
    ).where(_ONE)
)
_MARK_DELETED = Statement(
    lambda _: CustomField.update({CustomField.label_key: param("label_key")}).where(_ONE),
    has_one_plan=True,
)
_DELETE = Statement(lambda _: CustomField.delete().where(_ONE), has_one_plan=True)
_IS_DELETED = (CustomField.account_id == param("account_id")) & IS_DELETED_FIELD
_DELETED = Statement(
    lambda _: (
        CustomField.select(CustomField.id, CustomField.key)
        .where(_IS_DELETED)
        .order_by(CustomField.account_id, CustomField.id)
        .limit(SQL("1"))
    ),
    has_one_plan=True,
)
_DELETED_WITH_KEY = Statement(
    lambda _: CustomField.select(CustomField.id).where(
        _IS_DELETED & (CustomField.key == param("key"))
    ),
    has_one_plan=True,
)
_REMOVE_VALUES = Statement(
    lambda dialect: delete_first(dialect, CustomValue.key, CustomValue.subscriber_id),
    has_one_plan=True,
)
# A search across accounts.
_WITH_DELETED = Statement(
    lambda _: (
        CustomField.select(CustomField.account_id).where(IS_DELETED_FIELD).limit(param("limit"))
    )
)
_TYPES = Statement(
    lambda _: CustomField.select(CustomField.key, CustomField.data_type).where(_IN_ACCOUNT),
    has_one_plan=True,
)
_COLUMN_FIELDS = Statement(
    lambda _: (
        CustomField.select(CustomField.key, CustomField.label_key, CustomField.data_type)
        .where(_IN_ACCOUNT)
        .order_by(CustomField.account_id, CustomField.id)
    )
)
_FALLBACKS = Statement(
    lambda _: CustomField.select(CustomField.key, CustomField.fallback).where(_IN_ACCOUNT)
)
_NEWEST = Statement(lambda _: CustomField.select(fn.MAX(CustomField.id)))


def create(
    account_id: str, key: str, label: str, data_type: DataType, fallback: str, tx: Transaction
) -> CustomFieldRow:
    """Stores a new custom field.

    Raises CustomFieldAlreadyExists if its label or key exists, CustomFieldBeingDeleted if
    subscribers still have values of a deleted field with the key, or CustomFieldLimitReached if
    the account has the maximum number of fields.
    """
    row = CustomFieldRow(tx.new_id(), key, label, data_type, fallback, tx.now, tx.now)
    if not tx.run(_INSERT, account_id=account_id, label_key=caseless_key(label), **row._asdict()):
        is_deleted = tx.one(_DELETED_WITH_KEY, account_id=account_id, key=key) is not None
        raise CustomFieldBeingDeleted if is_deleted else CustomFieldAlreadyExists
    if count(account_id, tx) > MAX_FIELDS:
        raise CustomFieldLimitReached
    record(account_id, [created(EventType.CUSTOM_FIELD_CREATED, row)], tx)
    return row


def find(account_id: str, field_id: str, tx: Transaction) -> CustomFieldRow:
    """Returns one custom field. Raises CustomFieldNotFound."""
    row = tx.one(_FIND, account_id=account_id, id=field_id)
    if row is None:
        raise CustomFieldNotFound
    return CustomFieldRow._make(row)


def page(account_id: str, page: Page, tx: Transaction) -> tuple[list[CustomFieldRow], int]:
    """Returns the custom fields of a page, oldest first, and the number of fields."""
    rows = tx.all(_PAGE, account_id=account_id, limit=page.limit, offset=page.offset)
    return [CustomFieldRow._make(row) for row in rows], count(account_id, tx)


def count(account_id: str, tx: Transaction) -> int:
    """Returns the number of custom fields of the account."""
    return int(tx.scalar(_COUNT, account_id=account_id))


def update(
    account_id: str, field_id: str, changes: Mapping[str, Any], tx: Transaction
) -> CustomFieldRow:
    """Changes a custom field and returns it. Sets `updated_at` only if a value differs.

    Raises CustomFieldNotFound, or CustomFieldAlreadyExists if another field has the label.
    """
    before = find(account_id, field_id, tx)
    row = before._replace(**changes)
    if row == before:
        return before
    key = caseless_key(row.label)
    if tx.scalar(_BY_LABEL, account_id=account_id, label_key=key) not in (None, field_id):
        raise CustomFieldAlreadyExists
    row = row._replace(updated_at=tx.now)
    tx.run(_UPDATE, account_id=account_id, label_key=key, **row._asdict())
    record(account_id, [Change(EventType.CUSTOM_FIELD_UPDATED, before, row)], tx)
    return row


def delete(account_id: str, field_id: str, tx: Transaction) -> None:
    """Deletes a custom field with its values. Raises CustomFieldNotFound.

    If there are many, `remove_deleted` removes the rest. They are not read anymore.
    """
    before = find(account_id, field_id, tx)
    label_key = f"{DELETED_KEY}{field_id}"
    tx.run(_MARK_DELETED, account_id=account_id, id=field_id, label_key=label_key)
    _remove(account_id, field_id, before.key, tx)
    record(account_id, [deleted(EventType.CUSTOM_FIELD_DELETED, before)], tx)


def remove_deleted(account_id: str, tx: Transaction) -> int:
    """Removes some values of a deleted field, and the field after its last value.

    Returns the number of removed rows, which is 0 if the account has no deleted field.
    """
    row = tx.one(_DELETED, account_id=account_id)
    if row is None:
        return 0
    field_id, key = row
    return _remove(account_id, field_id, key, tx)


def _remove(account_id: str, field_id: str, key: str, tx: Transaction) -> int:
    removed = tx.run(_REMOVE_VALUES, account_id=account_id, key=key, limit=REMOVED_AT_ONCE)
    if removed < REMOVED_AT_ONCE:
        removed += tx.run(_DELETE, account_id=account_id, id=field_id)
    return removed


def ids_of_any_account_with_deleted(limit: int, tx: Transaction) -> list[str]:
    """Returns accounts with deleted fields of which subscribers may still have values."""
    return [account_id for (account_id,) in tx.all(_WITH_DELETED, limit=limit)]


def types(account_id: str, tx: Transaction) -> dict[str, int]:
    """Returns the data types of all custom fields of the account, by key."""
    return dict(tx.all(_TYPES, account_id=account_id))


class ColumnField(NamedTuple):
    """A custom field as a column of a CSV file."""

    key: str
    label_key: str
    data_type: int


def column_fields(account_id: str, tx: Transaction) -> list[ColumnField]:
    """Returns all custom fields of the account, oldest first."""
    return [ColumnField._make(row) for row in tx.all(_COLUMN_FIELDS, account_id=account_id)]


def fallbacks(account_id: str, tx: Transaction) -> dict[str, str]:
    """Returns the fallbacks of all custom fields of the account, by key; "" is none."""
    return dict(tx.all(_FALLBACKS, account_id=account_id))


def newest_id_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest ID of all accounts, or None. For the start of the service."""
    newest: str | None = tx.greatest(_NEWEST)
    return newest
