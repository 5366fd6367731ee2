"""Determines the fields that the columns of a CSV file set.

`columnMap` takes precedence over the preset, and the preset over the names of fields. A built-in
field takes precedence over a custom field with the same name, and the key of a custom field over
a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from ...custom_fields.store import ColumnField
from ...errors import Detail, ValidationError, invalid
from ...texts import column_key
from ..csv_format import CUSTOM_FIELDS
from .cells import FIELD_NAMES, REVERSED_NAME
from .presets import Preset, detect

# The maximum length of the list of unknown columns in an error. The size of gRPC metadata is
# limited.
MAX_LISTED = 2_000
# Fields that clients do not set are ignored, so that an export can be imported.
_READ_ONLY = ("id", "updatedAt", "confirmUrl", "unsubscribeUrl")
_NAMES = (
    {column_key(name): name for name in FIELD_NAMES}
    | {"emailaddress": "email"}
    | dict.fromkeys(map(column_key, _READ_ONLY), "")
)
# Targets of columnMap for a full name.
_FULL_NAMES = {
    "firstname+lastname": "name",
    "first+last": "name",
    "lastname+firstname": REVERSED_NAME,
    "last+first": REVERSED_NAME,
}
_TAGS = "tags"


class UnknownColumns(IntEnum):
    """Actions for unknown columns, with the numbers of UnknownColumns.Action."""

    FAIL = 1
    IGNORE = 2
    CREATE_FIELDS = 3


class ColumnOptions(NamedTuple):
    """The options of an import that apply to the columns; None is the default."""

    preset: Preset | None = None
    column_map: Sequence[str] = ()
    unknown: UnknownColumns | None = None


class Column(NamedTuple):
    """The name of a column, and the fields that it sets.

    Of several columns for one field, the one with the lowest rank is used.
    """

    position: int
    name: str
    fields: tuple[str, ...]
    rank: int


class Columns:
    """The columns of a header."""

    def __init__(
        self, cells: Sequence[str], fields: Iterable[ColumnField], options: ColumnOptions
    ) -> None:
        """Raises ValidationError if a column is a duplicate or missing, or the map is invalid."""
        names = [column_key(cell) for cell in cells]
        self.preset = options.preset or detect(names)
        self.known: list[Column] = []
        self.unknown: list[str] = []
        self.action = options.unknown or (
            UnknownColumns.IGNORE
            if self.preset is not None and self.preset.is_lenient
            else UnknownColumns.FAIL
        )
        by_name = _names(fields)
        mapped = _mapped(cells, names, by_name, options.column_map)
        from_preset = list(self.preset.columns) if self.preset else []
        for index, (cell, name) in enumerate(zip(cells, names, strict=True)):
            if index in mapped:
                column = Column(index, cell, mapped[index], 0)
            elif self.preset and name in self.preset.columns:
                targets = tuple(self.preset.columns[name].split("+"))
                column = Column(index, cell, targets, 1 + from_preset.index(name))
            elif (target := by_name.get(cell, by_name.get(name))) is not None:
                column = Column(index, cell, (target,) if target else (), 1 + len(from_preset))
            else:
                self.unknown.append(cell)
                continue
            self.known.append(column)
        self._check(cells, names, mapped)

    def _check(
        self, cells: Sequence[str], names: Sequence[str], mapped: Mapping[int, tuple[str, ...]]
    ) -> None:
        """Raises ValidationError for duplicate, unknown and missing columns."""
        unknown = self.unknown if self.action is UnknownColumns.FAIL else []
        faults = []
        if self.preset is None or not self.preset.is_lenient:
            duplicates = self._duplicates(names, mapped)
            faults = [
                Detail(cell, "DUPLICATE_FIELD", "names the same column twice")
                for index, cell in enumerate(cells)
                if index in duplicates
            ]
            reported = {fault.field for fault in faults}
            unknown = [name for name in unknown if name not in reported]
        faults += [Detail(name, "UNKNOWN_FIELD", "is not a known column") for name in unknown]
        if all("email" not in column.fields for column in self.known):
            faults.append(Detail("email", "REQUIRED", "is a required column"))
        if faults:
            # The number of details is limited, but every unknown column is named.
            listed = ""
            if unknown:
                columns = ", ".join(unknown)[:MAX_LISTED]
                listed = f" Unknown columns: {columns}. Set a preset, or map or ignore them."
            raise ValidationError(faults, f"The header row is not valid.{listed}")

    def _duplicates(self, names: Sequence[str], mapped: Mapping[int, tuple[str, ...]]) -> set[int]:
        """Returns the indexes of columns that set the same field as another one."""
        by_field: dict[str, list[int]] = {}
        fields = {column.position: column.fields for column in self.known}
        for index, name in enumerate(names):
            if index in mapped:
                own = [field for field in mapped[index] if field != _TAGS]
            else:
                own = list(fields.get(index, ())) or [f"?{name}"]
            for field in own:
                by_field.setdefault(field, []).append(index)
        return {index for indexes in by_field.values() if len(indexes) > 1 for index in indexes}


def _names(fields: Iterable[ColumnField]) -> dict[str, str]:
    """Returns the fields by column name.

    Names are column keys. Keys of custom fields are also present as they are, because
    shoe_size and shoesize have the same column key.
    """
    custom = [(column, CUSTOM_FIELDS + column.key) for column in fields]
    names: dict[str, str] = {}
    for column, field in custom:
        names |= {field: field, column.key: field}
    for column, field in custom:
        names.setdefault(column_key(field), field)
        names.setdefault(column_key(column.key), field)
    for column, field in custom:
        names.setdefault(column_key(column.label_key), field)
    return {name: field for name, field in names.items() if column_key(name) not in _NAMES} | _NAMES


def _mapped(
    cells: Sequence[str],
    names: Sequence[str],
    by_name: Mapping[str, str],
    column_map: Sequence[str],
) -> dict[int, tuple[str, ...]]:
    """Returns the fields of the mapped columns by index. Raises ValidationError."""
    mapped: dict[int, tuple[str, ...]] = {}
    for number, entry in enumerate(column_map):
        path = f"columnMap[{number}]"
        column, equals, target = entry.rpartition("=")
        if not equals or not column:
            raise invalid(path, "INVALID_FORMAT", "must be COLUMN=FIELD")
        indexes = [i for i, cell in enumerate(cells) if cell == column] or [
            i for i, name in enumerate(names) if name == column_key(column)
        ]
        if not indexes:
            raise invalid(path, "INVALID_VALUE", f"names a column that is missing: {column}")
        fields = _fields_of(target.strip(), by_name)
        if fields is None:
            raise invalid(path, "INVALID_VALUE", f"names an unknown field: {target}")
        mapped |= dict.fromkeys(indexes, fields)
    return mapped


def _fields_of(target: str, by_name: Mapping[str, str]) -> tuple[str, ...] | None:
    """Returns the fields of a target, or None if one is unknown."""
    if not target:
        return ()
    full_name = _FULL_NAMES.get(column_key(target))
    if full_name is not None:
        return (full_name,)
    fields = [by_name.get(part) or by_name.get(column_key(part)) for part in target.split("+")]
    return tuple(field for field in fields if field) if all(fields) else None
