"""Creates custom fields for unknown columns of CSV files and unknown fields of JSON rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ...rpc.errors import (
    CustomFieldAlreadyExists,
    CustomFieldLimitReached,
    Detail,
    EmailNotVerified,
    ValidationError,
    invalid,
)
from ...storage.transaction import Transaction
from ...values.texts import (
    caseless_key,
    column_key,
    has_control_characters,
    repaired_encoding,
)
from ..custom_fields.rules import MAX_FIELDS, MAX_KEY_LENGTH, DataType, derive_key
from ..custom_fields.store import ColumnField, column_fields, create
from ..subscribers.csv_format import CUSTOM_FIELDS
from ..subscribers.rules import NewSubscriber, Validated
from .columns import MAX_LABEL_LENGTH, ColumnOptions, Columns, UnknownColumns, label_of
from .consent_columns import is_generic, states_consent

# The number of names of unknown fields in the summary.
_MAX_IGNORED = 1_000
_KEY = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", re.ASCII)
_TYPES: Mapping[type, DataType] = {
    str: DataType.TEXT,
    bool: DataType.BOOLEAN,
    float: DataType.NUMBER,
    int: DataType.NUMBER,
}


class NewField(NamedTuple):
    """A custom field to create."""

    key: str
    label: str
    data_type: DataType = DataType.TEXT

    @property
    def column(self) -> ColumnField:
        return ColumnField(self.key, caseless_key(self.label), self.data_type)

    def create(self, account_id: str, tx: Transaction) -> None:
        """Stores the field. Raises CustomFieldAlreadyExists and CustomFieldLimitReached."""
        create(account_id, self.key, self.label, self.data_type, "", tx)


class NewFields:
    """The custom fields that an import creates for columns. Columns without a name are ignored.

    `by_position` are the keys of the fields for unknown columns.
    """

    def __init__(
        self, account_id: str, columns: Columns, existing: Collection[ColumnField]
    ) -> None:
        """Raises ValidationError if a field cannot be created, or CustomFieldLimitReached."""
        self._account_id = account_id
        self.fields: list[NewField] = []
        self.by_position: dict[int, str] = {}
        by_label = {field.label_key: field.key for field in existing}
        keys = {field.key for field in existing}
        claimed = {field for column in columns.known for field in column.fields}
        creates_all = columns.action is UnknownColumns.CREATE_FIELDS
        unknown = [
            column
            for column in columns.unknown
            if column.label and (creates_all or column.data_type is not None)
        ]
        # A repeated column does not get the name of another one as its label.
        own_labels = {caseless_key(column.label) for column in unknown}
        faults = []
        for position, name, data_type in unknown:
            label = name
            number = 1
            while (key := by_label.get(caseless_key(label))) is not None or (
                number > 1 and caseless_key(label) in own_labels
            ):
                if key is not None and CUSTOM_FIELDS + key not in claimed:
                    break
                number += 1
                label = f"{name[: MAX_LABEL_LENGTH - len(str(number)) - 1]} {number}"
            if key is None:
                try:
                    field = _new_field(label, data_type or DataType.TEXT, keys)
                except ValidationError as error:
                    faults.append(Detail(name, error.details[0].code, error.details[0].message))
                    continue
                key = field.key
                self.fields.append(field)
                keys.add(key)
                if len(keys) > MAX_FIELDS:
                    raise CustomFieldLimitReached(MAX_FIELDS)
                by_label[caseless_key(label)] = key
            claimed.add(CUSTOM_FIELDS + key)
            self.by_position[position] = key
        if faults:
            raise ValidationError(
                faults,
                "A column cannot become a custom field. Map it to another label, such as"
                " columnMap=#3=LABEL.",
            )

    def create(self, tx: Transaction) -> None:
        """Stores the fields. Raises CustomFieldLimitReached.

        Raises ValidationError if another client created one of them meanwhile.
        """
        for field in self.fields:
            try:
                field.create(self._account_id, tx)
            except CustomFieldAlreadyExists:
                raise invalid(
                    field.label,
                    "TAKEN",
                    "was created by another client meanwhile; run the import again",
                ) from None


class UnknownFields:
    """The custom fields of JSON rows that the account does not have.

    They are left out of the rows, or created in the transaction of the first row with a value. A
    field is found by its key, then by its label. Rows with a field that looks like consent, see
    `consent_columns.py`, fail unless an option ignores it.
    """

    def __init__(
        self, account_id: str, options: ColumnOptions, *, checks_consent: bool, may_create: bool
    ) -> None:
        self._account_id = account_id
        self._action = options.unknown or UnknownColumns.FAIL
        self._names_to_ignore = set(map(column_key, options.ignored))
        self._checks_consent = checks_consent
        self._may_create = may_create
        self.ignored: dict[str, None] = {}
        self.created: dict[str, NewField] = {}

    def resolve(self, rows: Sequence[Validated], tx: Transaction) -> Sequence[Validated]:
        """Returns the rows with the keys of their custom fields.

        Raises EmailNotVerified and CustomFieldLimitReached. At most one statement if there is no
        unknown field.
        """
        keeps_all = self._action is UnknownColumns.FAIL and not self._names_to_ignore
        if keeps_all or not any(row.values for row in rows if isinstance(row, NewSubscriber)):
            return rows
        existing = column_fields(self._account_id, tx)
        keys = {field.key for field in existing}
        # Members of a message have no order. A name that is a key is created first, so that it gets
        # this key.
        labels = {field.label_key for field in existing}
        unknown = list(
            dict.fromkeys(
                name
                for row in rows
                if isinstance(row, NewSubscriber)
                for name in sorted(row.values.keys() - keys, key=_keys_first)
            )
        )
        by_action: dict[UnknownColumns, list[str]] = {action: [] for action in UnknownColumns}
        for name in unknown:
            has_field = caseless_key(label_of(name)) in labels
            by_action[self._action_for(name, has_field=has_field)].append(name)
        if ignored := by_action[UnknownColumns.IGNORE]:
            self.ignored |= dict.fromkeys(ignored[: _MAX_IGNORED - len(self.ignored)])
            rows = [_renamed(row, dict.fromkeys(ignored)) for row in rows]
        if to_create := by_action[UnknownColumns.CREATE_FIELDS]:
            new_names = self._created(to_create, rows, existing, tx)
            rows = [_renamed(row, new_names) for row in rows]
        return rows

    def _action_for(self, name: str, *, has_field: bool) -> UnknownColumns:
        """Returns the action for an unknown field.

        `has_field` is whether the account has a custom field with the name as its label.
        """
        if column_key(name) in self._names_to_ignore:
            return UnknownColumns.IGNORE
        key = column_key(repaired_encoding(name))
        is_consent = (
            self._checks_consent and states_consent(key) and not (has_field and is_generic(key))
        )
        return UnknownColumns.FAIL if is_consent else self._action

    def create(self, tx: Transaction) -> None:
        """Creates the fields of earlier transactions again, which a dry run rolled back."""
        for field in self.created.values():
            with suppress(CustomFieldAlreadyExists):  # by another client
                field.create(self._account_id, tx)

    def _created(
        self,
        unknown: Iterable[str],
        rows: Sequence[Validated],
        existing: Iterable[ColumnField],
        tx: Transaction,
    ) -> dict[str, str | None]:
        """Returns the keys of unknown fields by name, None for fields without any value."""
        by_label = {field.label_key: field.key for field in existing}
        values: dict[str, Any] = {}
        for row in rows:
            if isinstance(row, NewSubscriber):
                for name, value in row.values.items():
                    if value is not None:
                        values.setdefault(name, value)
        new_names: dict[str, str | None] = {}
        for name in unknown:
            if name in by_label.values():  # the key of a field for another name
                continue
            label = label_of(name)
            key = by_label.get(caseless_key(label))
            if key is None and name in values:
                key = self._create(label, values[name], by_label.values(), tx)
                if key is None:
                    continue  # The rows fail, because they have an unknown field.
                by_label[caseless_key(label)] = key
            new_names[name] = key
        return new_names

    def _create(self, label: str, value: Any, keys: Collection[str], tx: Transaction) -> str | None:
        """Creates a field for a value, and returns its key. None if there can be no such field."""
        data_type = _TYPES.get(type(value))
        if data_type is None:
            return None
        try:
            field = _new_field(label, data_type, keys)
        except ValidationError:
            return None
        if not self._may_create:
            raise EmailNotVerified
        field.create(self._account_id, tx)
        self.created[field.key] = field
        return field.key


def _keys_first(name: str) -> tuple[bool, str]:
    return _KEY.fullmatch(name) is None, name


def _renamed(row: Validated, new_names: Mapping[str, str | None]) -> Validated:
    """Returns a row with other names of custom fields. None removes one."""
    if isinstance(row, NewSubscriber) and not new_names.keys().isdisjoint(row.values):
        values: dict[str, Any] = {}
        for name, value in row.values.items():
            key = new_names.get(name, name)
            # A value by key takes precedence over one by label.
            if key is not None and (key == name or key not in row.values):
                values[key] = value
        return row._replace(values=values)
    return row


def _new_field(label: str, data_type: DataType, keys: Collection[str]) -> NewField:
    """Returns a field with an unused key. Raises ValidationError if the label is not valid."""
    if has_control_characters(label):
        raise invalid("label", "INVALID_CHARACTER", "must not contain control characters")
    key = first = derive_key(label)
    number = 1
    while key in keys:
        number += 1
        key = f"{first[: MAX_KEY_LENGTH - len(str(number)) - 1]}_{number}"
    return NewField(key, label, data_type)
