"""The columns of an export: which fields of a subscriber it contains, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...rpc.errors import Detail, ValidationError
from ..subscribers.csv_format import CUSTOM_FIELDS
from ..subscribers.fields import ADDED_BY_FULL, FIELDS, Field, SubscriberRow

ALL_CUSTOM_FIELDS = CUSTOM_FIELDS.removesuffix(".")
_BY_NAME = {field.json_name: field for field in (*FIELDS, *ADDED_BY_FULL)}
_CONSENT, _CONSENT_COLUMN = "consent", "consent_"
# A field, or the key of a custom field.
Column = Field | str


def columns_of(names: Sequence[str], keys: Sequence[str], *, full: bool) -> list[Column]:
    """Returns the columns of the names, or those of the view if there are none.

    `keys` are the custom fields of the account. Raises ValidationError.
    """
    if not names:
        return [*FIELDS, *(ADDED_BY_FULL if full else ()), *keys]
    columns: list[Column] = []
    faults, known = [], set(keys)
    for index, name in enumerate(names):
        key = name.removeprefix(CUSTOM_FIELDS)
        if name in names[:index]:
            faults.append(Detail(f"columns[{index}]", "INVALID_VALUE", "occurs twice"))
        elif name in _BY_NAME:
            columns.append(_BY_NAME[name])
        elif name == ALL_CUSTOM_FIELDS:
            columns += keys
        elif key != name and key in known:
            columns.append(key)
        else:
            message = "is neither a field of subscribers nor customFields.KEY of a custom field"
            faults.append(Detail(f"columns[{index}]", "INVALID_VALUE", message))
    if faults:
        raise ValidationError(faults)
    return columns


def stored(columns: Sequence[Column]) -> list[str]:
    """Returns columns as they are stored with an export."""
    return [
        f"{CUSTOM_FIELDS}{column}" if isinstance(column, str) else column.json_name
        for column in columns
    ]


def from_stored(names: Sequence[str]) -> list[Column]:
    """Returns the columns that `stored` returned."""
    return [
        _BY_NAME[name] if name in _BY_NAME else name.removeprefix(CUSTOM_FIELDS) for name in names
    ]


class Record:
    """Makes the JSON of subscribers with some columns only."""

    def __init__(self, columns: Sequence[Column]) -> None:
        fields = [column for column in columns if isinstance(column, Field)]
        self.keys = {column for column in columns if isinstance(column, str)}
        self.consent = {
            field.name.removeprefix(_CONSENT_COLUMN)
            for field in fields
            if field.name.startswith(_CONSENT_COLUMN)
        }
        self.names = {field.json_name for field in fields}
        self._full = bool(self.names & {field.json_name for field in ADDED_BY_FULL})

    def of(self, row: SubscriberRow) -> dict[str, Any]:
        """Returns the members of a subscriber, in the order of the API."""
        record = {}
        for name, value in row.as_json(full=self._full).items():
            if name == ALL_CUSTOM_FIELDS:
                value = {key: each for key, each in value.items() if key in self.keys}
            elif name == _CONSENT:
                value = {key: each for key, each in value.items() if key in self.consent}
            elif name not in self.names:
                continue
            if value or name not in (ALL_CUSTOM_FIELDS, _CONSENT):
                record[name] = value
        return record


def clear_others(messages: Iterable[Any], columns: Sequence[Column]) -> None:
    """Clears the fields of messages of subscribers that are not among the columns."""
    record = Record(columns)
    for message in messages:
        for field, _ in message.ListFields():
            if field.json_name == ALL_CUSTOM_FIELDS:
                for key in [key for key in message.custom_fields if key not in record.keys]:
                    del message.custom_fields[key]
            elif field.json_name == _CONSENT:
                for each, _ in message.consent.ListFields():
                    if each.name not in record.consent:
                        message.consent.ClearField(each.name)
            elif field.json_name not in record.names:
                message.ClearField(field.name)
        for name in (_CONSENT, "custom_fields"):
            if message.HasField(name) and not getattr(message, name).ByteSize():
                message.ClearField(name)
