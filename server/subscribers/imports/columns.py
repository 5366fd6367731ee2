"""Determines the fields that the columns of a CSV file set.

`columnMap` takes precedence over the preset, and the preset over the names of fields. A built-in
field takes precedence over a custom field with the same name, and the key of a custom field over
a label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from ...custom_fields.store import ColumnField
from ...errors import Detail, ValidationError, invalid
from ...texts import column_key
from ..csv_format import CUSTOM_FIELDS
from .cells import FIELD_NAMES, OPTED_IN, OPTED_OUT_FLAG, REVERSED_NAME
from .consent_columns import states_consent
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
# Fields that several columns can set.
_COMBINED = ("tags", OPTED_IN, OPTED_OUT_FLAG)
_FLAGS = {column_key(name): name for name in (OPTED_IN, OPTED_OUT_FLAG)}
# Fields that keep what a column states about consent.
_CONSENT = frozenset(
    {"status", OPTED_IN, OPTED_OUT_FLAG, "createdAt", "statusChangedAt", "confirmedAt"}
    | {"unsubscribedAt", "consentSource", "consentIp", "consentAt"}
)


_CONSENT_TEXT = (
    "looks like consent; map it to status, optedIn or optedOut with columnMap, or list it in"
    " ignoreColumns"
)
_CONSENT_HINT = (
    "Map each to status, optedIn or optedOut with columnMap, such as columnMap=COLUMN=optedOut,"
    " or list it in ignoreColumns if it says nothing about permission to send mail."
)


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
    status_map: Sequence[str] = ()
    ignored: Sequence[str] = ()


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
        ignored = _ignored(cells, names, options.ignored)
        from_preset = list(self.preset.columns) if self.preset else []
        for index, (cell, name) in enumerate(zip(cells, names, strict=True)):
            if index in mapped:
                column = Column(index, cell, mapped[index], 0)
            elif index in ignored:
                column = Column(index, cell, (), 0)
            elif self.preset and name in self.preset.columns:
                targets = tuple(filter(None, self.preset.columns[name].split("+")))
                column = Column(index, cell, targets, 1 + from_preset.index(name))
            elif (target := by_name.get(cell, by_name.get(name))) is not None:
                column = Column(index, cell, (target,) if target else (), 1 + len(from_preset))
            else:
                self.unknown.append(cell)
                continue
            self.known.append(column)
        if self.preset is None or self.preset.is_lenient:
            read_only = {index for index, name in enumerate(names) if by_name.get(name) == ""}
            self._check_consent(cells, names, mapped, ignored | read_only)
        if self.preset and self.preset.email_is_first and not self._has_email():
            self._use_first_as_email(cells)
        self._check(cells, names, mapped)

    def _has_email(self) -> bool:
        return any("email" in column.fields for column in self.known)

    def _use_first_as_email(self, cells: Sequence[str]) -> None:
        self.known = [column for column in self.known if column.position != 0]
        self.known.append(Column(0, cells[0], ("email",), 0))
        if cells[0] in self.unknown:
            self.unknown.remove(cells[0])

    def _check_consent(
        self,
        cells: Sequence[str],
        names: Sequence[str],
        mapped: Mapping[int, tuple[str, ...]],
        ignored: Collection[int],
    ) -> None:
        """Raises ValidationError for columns that look like consent, but do not set it.

        The opt-outs in them would be lost.
        """
        fields = {column.position: column.fields for column in self.known}
        faults = [
            Detail(cell, "CONSENT_COLUMN", _CONSENT_TEXT)
            for index, (cell, name) in enumerate(zip(cells, names, strict=True))
            if states_consent(name)
            and index not in ignored
            and _CONSENT.isdisjoint(own := fields.get(index, ()))
            and not (index in mapped and not own)
            and not (self.preset and name in {**self.preset.columns, **self.preset.marks})
            and not cell.lower().startswith(CUSTOM_FIELDS.lower())
        ]
        if faults:
            listed = ", ".join(fault.field for fault in faults)[:MAX_LISTED]
            raise ValidationError(faults, f"Columns look like consent: {listed}. {_CONSENT_HINT}")

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
        if not self._has_email():
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
                own = [field for field in mapped[index] if field not in _COMBINED]
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
        indexes = _indexes(cells, names, column)
        if not indexes:
            raise invalid(path, "INVALID_VALUE", f"names a column that is missing: {column}")
        fields = _fields_of(target.strip(), {**by_name, **_FLAGS})
        if fields is None:
            raise invalid(path, "INVALID_VALUE", f"names an unknown field: {target}")
        mapped |= dict.fromkeys(indexes, fields)
    return mapped


def _ignored(cells: Sequence[str], names: Sequence[str], columns: Iterable[str]) -> set[int]:
    """Returns the indexes of the columns of ignoreColumns. Raises ValidationError."""
    ignored: set[int] = set()
    for number, column in enumerate(columns):
        indexes = _indexes(cells, names, column)
        if not indexes:
            text = f"names a column that is missing: {column}"
            raise invalid(f"ignoreColumns[{number}]", "INVALID_VALUE", text)
        ignored.update(indexes)
    return ignored


def _indexes(cells: Sequence[str], names: Sequence[str], column: str) -> list[int]:
    return [i for i, cell in enumerate(cells) if cell == column] or [
        i for i, name in enumerate(names) if name == column_key(column)
    ]


def _fields_of(target: str, by_name: Mapping[str, str]) -> tuple[str, ...] | None:
    """Returns the fields of a target, or None if one is unknown."""
    if not target:
        return ()
    full_name = _FULL_NAMES.get(column_key(target))
    if full_name is not None:
        return (full_name,)
    fields = [by_name.get(part) or by_name.get(column_key(part)) for part in target.split("+")]
    return tuple(field for field in fields if field) if all(fields) else None
