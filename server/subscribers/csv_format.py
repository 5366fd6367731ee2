"""Reads and writes subscribers as rows of CSV files."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from ..custom_fields.rules import DataType, as_json
from ..custom_fields.store import ColumnField
from ..errors import Detail, ValidationError
from ..texts import caseless_key
from .fields import ADDED_BY_FULL, FIELDS, PROFILE, Field, SubscriberRow
from .formulas import escape_formula, unescape_formula

_CUSTOM_FIELDS = "customFields."
_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_TAG_SEPARATORS = re.compile(r"[,;|]")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)


@dataclass(slots=True)
class RowFault:
    """A cell that could not be parsed; an empty field is the whole row."""

    field: str = ""


@dataclass
class CsvRow:
    """A parsed row, with the attributes of a row of a bulk.

    Fields of the profile without a cell are absent, except for the names.
    """

    email: str = ""
    first_name: str = ""
    last_name: str = ""
    is_confirmed: bool = False
    tags: list[str] = field(default_factory=list)
    custom_fields: dict[str, Any] = field(default_factory=dict)
    faults: list[RowFault] = field(default_factory=list)
    # The full name, from its column, and the display name of the address.
    name: str = ""
    display_name: str = ""

    def split_name(self) -> None:
        """Fills the first and last name from the full name, without losing a word.

        If the row has one of them, the rest of the full name is the other one. If it has
        both, they must contain every word of the full name, or the row has a fault. The
        display name of the address is used only if the row has no other name.
        """
        name, first, last = self.name, self.first_name, self.last_name
        if not name:
            if first or last or not self.display_name:
                return
            name = self.display_name
        if first and last:
            if Counter(_words(name)) - Counter(_words(f"{first} {last}")):
                self.faults.append(RowFault("name"))
        elif first:
            self.last_name = _without_start(name.split(), first)
        elif last:
            self.first_name = _without_end(name.split(), last)
        else:
            first, _, last = name.rpartition(" ")
            self.first_name, self.last_name = (first.strip(), last) if first else (last, "")


# Parses a cell into a row.
Parse = Callable[[CsvRow, str], None]


class Header:
    """The columns of a CSV file. A blank cell has no value."""

    def __init__(self, cells: Sequence[str], fields: Iterable[ColumnField]) -> None:
        """Raises ValidationError if a column is unknown, a duplicate, or missing."""
        columns = _columns(fields)
        self._parsers: list[Parse | None] = []
        faults: list[Detail] = []
        names = [cell if cell in columns else _normalized(cell) for cell in cells]
        # Two names of one column are duplicates, as two equal names are.
        targets = [columns.get(name) or name for name in names]
        counts = Counter(targets)
        for cell, name, target in zip(cells, names, targets, strict=True):
            if counts[target] > 1:
                faults.append(Detail(cell, "DUPLICATE_FIELD", "names the same column twice"))
            elif name not in columns:
                faults.append(Detail(cell, "UNKNOWN_FIELD", "is not a known column"))
            else:
                self._parsers.append(columns[name])
        if _parse_email not in targets:
            faults.append(Detail("email", "REQUIRED", "is a required column"))
        if faults:
            raise ValidationError(faults, "The header row is not valid.")

    def row(self, cells: Sequence[str]) -> CsvRow:
        """Returns a parsed line, with its faults."""
        row = CsvRow()
        if len(cells) > len(self._parsers):
            row.faults.append(RowFault())
            return row
        for parse, cell in zip(self._parsers, cells, strict=False):
            if parse is not None and cell.strip():
                parse(row, unescape_formula(cell))
        row.split_name()
        return row


def _columns(fields: Iterable[ColumnField]) -> dict[str, Parse | None]:
    """Returns the parsers by column name; None ignores a column.

    Names are normalized. Keys of custom fields are also present as they are, because
    shoe_size and shoesize have the same normalized name.
    """
    custom = [(column, partial(_parse_value, column)) for column in fields]
    columns: dict[str, Parse | None] = {}
    for column, parse in custom:
        columns |= {_CUSTOM_FIELDS + column.key: parse, column.key: parse}
    for column, parse in custom:
        columns.setdefault(_normalized(_CUSTOM_FIELDS + column.key), parse)
        columns.setdefault(_normalized(column.key), parse)
    for column, parse in custom:
        columns.setdefault(_normalized(column.label_key), parse)
    # Built-in columns precede keys and labels with the same normalized name.
    return {
        name: parse for name, parse in columns.items() if _normalized(name) not in _BUILT_IN
    } | _BUILT_IN


def _normalized(name: str) -> str:
    """Returns the name of a column without case, whitespace, `-` and `_`."""
    return re.sub(r"[\s_-]+", "", caseless_key(name))


def _words(name: str) -> list[str]:
    """Returns the words of a name without case and commas."""
    return name.replace(",", " ").casefold().split()


def _without_start(words: Sequence[str], first_name: str) -> str:
    """Returns the words after the first name, or all words if they do not start with it."""
    count = len(first_name.split())
    starts = _words(" ".join(words[:count])) == _words(first_name)
    return " ".join(words[count:] if starts else words)


def _without_end(words: Sequence[str], last_name: str) -> str:
    """Returns the words before the last name, or all words if they do not end with it."""
    count = len(words) - len(last_name.split())
    ends = count >= 0 and _words(" ".join(words[count:])) == _words(last_name)
    return " ".join(words[:count] if ends else words)


def _parse_email(row: CsvRow, cell: str) -> None:
    # The cell may be "Ada Lovelace" <ada@example.com>.
    name, opened, address = cell.strip().partition("<")
    if not opened or not address.endswith(">") or "<" in address:
        row.email = cell
        return
    row.email = address[:-1]
    row.display_name = name.strip().strip('"').strip()


def _parse_profile(name: str, row: CsvRow, cell: str) -> None:
    setattr(row, name, cell)


def _parse_name(row: CsvRow, cell: str) -> None:
    row.name = cell.strip()


def _parse_confirmed(row: CsvRow, cell: str) -> None:
    value = _BOOLEANS.get(cell.strip().lower())
    if value is None:
        row.faults.append(RowFault("isConfirmed"))
    else:
        row.is_confirmed = value


def _parse_tags(row: CsvRow, cell: str) -> None:
    names = _json_strings(cell)
    if names is None:
        names = [name for name in map(str.strip, _TAG_SEPARATORS.split(cell)) if name]
    row.tags = names


def _json_strings(cell: str) -> list[str] | None:
    """Returns the strings of a JSON array, the form of tags that contain separators."""
    if not cell.startswith("["):
        return None
    try:
        # The json module would accept lone surrogates, which cannot be stored.
        names = orjson.loads(cell)
    except ValueError:
        return None
    return names if all(isinstance(name, str) for name in names) else None


def _parse_value(column: ColumnField, row: CsvRow, cell: str) -> None:
    row.custom_fields[column.key] = _value(cell, column.data_type)


def _value(cell: str, data_type: int) -> Any:
    """Returns the value of a cell, or its text if it does not have the type of the field."""
    text = cell.strip()
    if data_type == DataType.NUMBER and _NUMBER.fullmatch(text):
        return float(text)
    if data_type == DataType.BOOLEAN:
        return _BOOLEANS.get(text.lower(), text)
    return cell if data_type == DataType.TEXT else text


# Returned fields that clients do not set are ignored, so that an export can be imported.
_BUILT_IN: dict[str, Parse | None] = {
    **{_normalized(field.json_name): None for field in FIELDS + ADDED_BY_FULL},
    **{_normalized(name): partial(_parse_profile, name) for name in PROFILE},
    "email": _parse_email,
    "emailaddress": _parse_email,
    "name": _parse_name,
    "isconfirmed": _parse_confirmed,
    "tags": _parse_tags,
}


def header_cells(keys: Iterable[str], *, full: bool = False) -> list[str]:
    """Returns the header of a file with a column for each of these custom fields."""
    fields = _written_fields(full=full)
    return [*(field.json_name for field in fields), *(_CUSTOM_FIELDS + key for key in keys)]


def row_cells(row: SubscriberRow, keys: Iterable[str], *, full: bool = False) -> list[str]:
    """Returns the cells of a subscriber, with a cell for each of these custom fields."""
    cells = [_field_cell(field, row) for field in _written_fields(full=full)]
    return cells + [_value_cell(row.values.get(key)) for key in keys]


def _written_fields(*, full: bool) -> Sequence[Field]:
    return FIELDS + ADDED_BY_FULL if full else FIELDS


def _field_cell(field: Field, row: SubscriberRow) -> str:
    value = getattr(row, field.name)
    if value is None:
        return ""
    value = field.to_json(value)
    text = value if isinstance(value, str) else tags_cell(value)
    return escape_formula(text) if text else ""


def tags_cell(names: Sequence[str]) -> str:
    """Returns tags as one cell that is parsed to the same tags."""
    if any(_TAG_SEPARATORS.search(name) or name.startswith("[") for name in names):
        return json.dumps(names, ensure_ascii=False)
    return ",".join(names)


def _value_cell(value: Any) -> str:
    if value is None:
        return ""
    return escape_formula(value if isinstance(value, str) else json.dumps(as_json(value)))
