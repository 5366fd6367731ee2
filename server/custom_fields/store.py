"""Stores custom fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from peewee import fn

from ..clock import iso8601
from ..errors import CustomFieldAlreadyExists, CustomFieldLimitReached, CustomFieldNotFound
from ..events.rules import Change, EventType, created, deleted
from ..events.store import record
from ..paging import Page
from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from ..texts import caseless_key
from .models import CustomField
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
_IN_ACCOUNT = CustomField.account_id == param("account_id")
_ONE = _IN_ACCOUNT & (CustomField.id == param("id"))

_FIND = Statement(lambda _: CustomField.select(*_COLUMNS).where(_ONE), has_one_plan=True)
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
_DELETE = Statement(lambda _: CustomField.delete().where(_ONE))
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

    Raises CustomFieldAlreadyExists if its label or key exists, or CustomFieldLimitReached if
    the account has the maximum number of fields.
    """
    row = CustomFieldRow(tx.new_id(), key, label, data_type, fallback, tx.now, tx.now)
    if not tx.run(_INSERT, account_id=account_id, label_key=caseless_key(label), **row._asdict()):
        raise CustomFieldAlreadyExists
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
    """Deletes a custom field. Raises CustomFieldNotFound."""
    before = find(account_id, field_id, tx)
    tx.run(_DELETE, account_id=account_id, id=field_id)
    record(account_id, [deleted(EventType.CUSTOM_FIELD_DELETED, before)], tx)


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
