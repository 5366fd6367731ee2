"""Stores custom fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from peewee import SQL

from ...rpc.errors import (
    CustomFieldAlreadyExists,
    CustomFieldBeingDeleted,
    CustomFieldLimitReached,
    CustomFieldNotFound,
)
from ...storage.resource import LargeDeletion, Resource
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.texts import caseless_key
from ..events.rules import Change, EventType, created, deleted
from ..events.store import record
from .models import IS_DELETED_FIELD, IS_FIELD, CustomField, CustomValue
from .rules import MAX_FIELDS, DataType, FieldTypes, merge_tag
from .value_conversion import field_types, plain_type, stored_type


class CustomFieldRow(NamedTuple):
    """A stored custom field. Timestamps are in milliseconds; an empty fallback is none.

    `data_type` is the stored number of the type, see `value_conversion.py`.
    """

    id: str
    key: str
    label: str
    data_type: int
    fallback: str
    created_at: int
    updated_at: int

    @property
    def type(self) -> DataType:
        return plain_type(self.data_type)

    def as_json(self) -> dict[str, Any]:
        """Returns the custom field as the API returns it."""
        field = {
            "id": self.id,
            "key": self.key,
            "label": self.label,
            "dataType": self.type.name,
            "mergeTag": merge_tag(self.key),
            "createdAt": iso8601(self.created_at),
            "updatedAt": iso8601(self.updated_at),
        }
        return {**field, "fallback": self.fallback} if self.fallback else field


_FIELDS = Resource(
    CustomFieldRow,
    CustomField.id,
    CustomFieldNotFound,
    unique=CustomField.label_key,
    hidden=(CustomField.label_key,),
    changed=(
        CustomField.label,
        CustomField.label_key,
        CustomField.data_type,
        CustomField.fallback,
        CustomField.updated_at,
    ),
    among=IS_FIELD,
)
_DELETION = LargeDeletion(
    _FIELDS,
    CustomField.id,
    CustomField.label_key,
    IS_DELETED_FIELD,
    value=CustomField.key,
    attached=CustomValue.key,
    member=CustomValue.subscriber_id,
)
find, page, count = _FIELDS.find, _FIELDS.page, _FIELDS.count
newest_id_of_any_account = _FIELDS.newest_id_of_any_account
remove_deleted = _DELETION.remove_deleted
ids_of_any_account_with_deleted = _DELETION.ids_of_any_account_with_deleted

_EXISTS = _FIELDS.in_account & IS_FIELD
_DELETED_WITH_KEY = Statement(
    lambda _: CustomField.select(CustomField.id).where(
        _FIELDS.in_account & IS_DELETED_FIELD & (CustomField.key == param("key"))
    ),
    has_one_plan=True,
)
_TYPES = Statement(
    lambda _: CustomField.select(CustomField.key, CustomField.data_type).where(_EXISTS),
    has_one_plan=True,
)
_COLUMN_FIELDS = Statement(
    lambda _: (
        CustomField.select(CustomField.key, CustomField.label_key, CustomField.data_type)
        .where(_EXISTS)
        .order_by(CustomField.account_id, CustomField.id)
    )
)
_VALUE = Statement(
    lambda _: (
        CustomValue.select(CustomValue.subscriber_id)
        .where((CustomValue.account_id == param("account_id")) & (CustomValue.key == param("key")))
        .limit(SQL("1"))
    ),
    has_one_plan=True,
)
_FALLBACKS = Statement(
    lambda _: CustomField.select(CustomField.key, CustomField.fallback).where(_EXISTS)
)


def create(
    account_id: str, key: str, label: str, data_type: DataType, fallback: str, tx: Transaction
) -> CustomFieldRow:
    """Stores a new custom field.

    Raises CustomFieldAlreadyExists if its label or key exists, CustomFieldBeingDeleted if
    subscribers still have values of a deleted field with the key, or CustomFieldLimitReached if
    the account has the maximum number of fields.
    """
    row = CustomFieldRow(tx.new_id(), key, label, data_type, fallback, tx.now, tx.now)
    if not _FIELDS.insert(account_id, row, tx, label_key=caseless_key(label)):
        is_deleted = tx.one(_DELETED_WITH_KEY, account_id=account_id, key=key) is not None
        raise CustomFieldBeingDeleted if is_deleted else CustomFieldAlreadyExists
    if count(account_id, tx) > MAX_FIELDS:
        raise CustomFieldLimitReached(MAX_FIELDS)
    record(account_id, [created(EventType.CUSTOM_FIELD_CREATED, row)], tx)
    return row


def update(
    account_id: str, field_id: str, changes: Mapping[str, Any], tx: Transaction
) -> CustomFieldRow:
    """Changes a custom field and returns it. Sets `updated_at` only if a value differs.

    All values must convert to a new data type. Raises CustomFieldNotFound, or
    CustomFieldAlreadyExists if another field has the label.
    """
    before = find(account_id, field_id, tx)
    row = before._replace(**{**changes, "data_type": before.data_type})
    if "data_type" in changes and changes["data_type"] != before.type:
        has_values = tx.one(_VALUE, account_id=account_id, key=before.key) is not None
        data_type = DataType(changes["data_type"])
        stored = stored_type(data_type, before.data_type) if has_values else int(data_type)
        row = row._replace(data_type=stored)
    if row == before:
        return before
    key = caseless_key(row.label)
    if _FIELDS.is_taken(account_id, field_id, tx, label_key=key):
        raise CustomFieldAlreadyExists
    row = row._replace(updated_at=tx.now)
    _FIELDS.update(account_id, row, tx, label_key=key)
    record(account_id, [Change(EventType.CUSTOM_FIELD_UPDATED, before, row)], tx)
    return row


def delete(account_id: str, field_id: str, tx: Transaction) -> None:
    """Deletes a custom field with its values. Raises CustomFieldNotFound.

    If there are many, `remove_deleted` removes the rest. They are not read anymore.
    """
    before = find(account_id, field_id, tx)
    _DELETION.delete(account_id, field_id, before.key, tx)
    record(account_id, [deleted(EventType.CUSTOM_FIELD_DELETED, before)], tx)


def types(account_id: str, tx: Transaction) -> FieldTypes:
    """Returns the data types of all custom fields of the account, by key."""
    return field_types(dict(tx.all(_TYPES, account_id=account_id)))


class ColumnField(NamedTuple):
    """A custom field as a column of a CSV file."""

    key: str
    label_key: str
    data_type: int


def column_fields(account_id: str, tx: Transaction) -> list[ColumnField]:
    """Returns all custom fields of the account, oldest first."""
    return [
        ColumnField(key, label_key, plain_type(stored))
        for key, label_key, stored in tx.all(_COLUMN_FIELDS, account_id=account_id)
    ]


def fallbacks(account_id: str, tx: Transaction) -> dict[str, str]:
    """Returns the fallbacks of all custom fields of the account, by key; "" is none."""
    return dict(tx.all(_FALLBACKS, account_id=account_id))
