"""Reads and writes subscribers as rows of CSV files."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from ..custom_fields.rules import DataType, as_json, label_key
from ..custom_fields.store import ColumnField
from ..errors import Detail, ValidationError
from .formulas import escape_formula, unescape_formula

# What a table always has, in the order in which it is written.
WRITTEN = ("id", "email", "firstName", "lastName", "status", "tags", "createdAt")
_PREFIX = "customFields."
_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_SEPARATORS = re.compile(r"[,;|]")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)


@dataclass(slots=True)
class RowFault:
    """A cell that could not be read; no field means the row as a whole."""

    field: str = ""


@dataclass(slots=True)
class TextRow:
    """A row of a table, with the attributes of a row of a bulk."""

    email: str = ""
    first_name: str = ""
    last_name: str = ""
    is_confirmed: bool = False
    tags: list[str] = field(default_factory=list)
    custom_fields: dict[str, Any] = field(default_factory=dict)
    faults: list[RowFault] = field(default_factory=list)
    # The full name, from a column for it, and the one beside the address.
    name: str = ""
    address_name: str = ""

    def split_name(self) -> None:
        """Fills the first and the last name from the full name, without dropping any of it.

        A name that the row gives by itself is kept. The full name without it is the other
        one. If the row gives both, they must hold every word of the full name, or the row
        has a fault. The name beside the address counts only if the row gives no other.
        """
        name, first, last = self.name, self.first_name, self.last_name
        if not name:
            if first or last or not self.address_name:
                return
            name = self.address_name
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


Put = Callable[[TextRow, str], None]


class Header:
    """What the columns of a table mean. A blank cell gives no value."""

    def __init__(self, cells: Sequence[str], fields: Iterable[ColumnField]) -> None:
        """Raises ValidationError for a column that is not known, comes twice, or lacks."""
        known = _known(fields)
        self._puts: list[Put | None] = []
        faults: list[Detail] = []
        names = [cell if cell in known else _name(cell) for cell in cells]
        # Two names of one thing are as much a column twice as the same name is.
        meant = [known.get(name) or name for name in names]
        times = Counter(meant)
        for cell, name, meaning in zip(cells, names, meant, strict=True):
            if times[meaning] > 1:
                faults.append(Detail(cell, "DUPLICATE_FIELD", "names the same column twice"))
            elif name not in known:
                faults.append(Detail(cell, "UNKNOWN_FIELD", "is not a known column"))
            else:
                self._puts.append(known[name])
        if _put_email not in meant:
            faults.append(Detail("email", "REQUIRED", "is a required column"))
        if faults:
            raise ValidationError(faults, "The header row is not valid.")

    def row(self, cells: Sequence[str]) -> TextRow:
        """Returns a line as a row; what cannot be read is noted in it."""
        row = TextRow()
        if len(cells) > len(self._puts):
            row.faults.append(RowFault())
            return row
        for put, cell in zip(self._puts, cells, strict=False):
            if put is not None and cell.strip():
                put(row, unescape_formula(cell))
        row.split_name()
        return row


def _known(fields: Iterable[ColumnField]) -> dict[str, Put | None]:
    """Returns how a cell is put into a row, by the name of its column; None passes it over.

    Names are as they are compared, and keys are there as they are written too: nothing
    else tells shoe_size from shoesize.
    """
    puts = [(column, _value_put(column)) for column in fields]
    known: dict[str, Put | None] = {}
    for column, put in puts:
        known |= {_PREFIX + column.key: put, column.key: put}
    for column, put in puts:
        known.setdefault(_name(_PREFIX + column.key), put)
        known.setdefault(_name(column.key), put)
    for column, put in puts:
        known.setdefault(_name(column.label_key), put)
    # The words of the service go before keys and labels that sound like them.
    own = _built_in_columns()
    return {name: put for name, put in known.items() if _name(name) not in own} | own


def _built_in_columns() -> dict[str, Put | None]:
    return {
        "email": _put_email,
        "emailaddress": _put_email,
        "firstname": _put_first_name,
        "lastname": _put_last_name,
        "name": _put_name,
        "isconfirmed": _put_confirmed,
        "tags": _put_tags,
        "id": None,
        "status": None,
        "createdat": None,
    }


def _name(text: str) -> str:
    """Returns the name of a column as it is compared: without case, blanks, `-` and `_`."""
    return re.sub(r"[\s_-]+", "", label_key(text))


def _words(name: str) -> list[str]:
    """Returns the words of a name as they are compared: without case and commas."""
    return name.replace(",", " ").casefold().split()


def _without_start(words: Sequence[str], first_name: str) -> str:
    """Returns what follows the first name, or all words if they do not begin with it."""
    count = len(first_name.split())
    starts = _words(" ".join(words[:count])) == _words(first_name)
    return " ".join(words[count:] if starts else words)


def _without_end(words: Sequence[str], last_name: str) -> str:
    """Returns what precedes the last name, or all words if they do not end with it."""
    count = len(words) - len(last_name.split())
    ends = count >= 0 and _words(" ".join(words[count:])) == _words(last_name)
    return " ".join(words[:count] if ends else words)


def _put_email(row: TextRow, cell: str) -> None:
    # It may be "Ada Lovelace" <ada@example.com>.
    name, opened, address = cell.strip().partition("<")
    if not opened or not address.endswith(">") or "<" in address:
        row.email = cell
        return
    row.email = address[:-1]
    row.address_name = name.strip().strip('"').strip()


def _put_first_name(row: TextRow, cell: str) -> None:
    row.first_name = cell


def _put_last_name(row: TextRow, cell: str) -> None:
    row.last_name = cell


def _put_name(row: TextRow, cell: str) -> None:
    row.name = cell.strip()


def _put_confirmed(row: TextRow, cell: str) -> None:
    word = _WORDS.get(cell.strip().lower())
    if word is None:
        row.faults.append(RowFault("isConfirmed"))
    else:
        row.is_confirmed = word


def _put_tags(row: TextRow, cell: str) -> None:
    names = _json_texts(cell)
    if names is None:
        names = [name for name in map(str.strip, _SEPARATORS.split(cell)) if name]
    row.tags = names


def _json_texts(cell: str) -> list[str] | None:
    """Returns the texts of a JSON array, which is how tags with separators in them are written."""
    if not cell.startswith("["):
        return None
    try:
        # Not the standard library, which reads halves of characters that nothing can store.
        names = orjson.loads(cell)
    except ValueError:
        return None
    return names if all(isinstance(name, str) for name in names) else None


def _value_put(column: ColumnField) -> Put:
    def put(row: TextRow, cell: str) -> None:
        row.custom_fields[column.key] = _value(cell, column.data_type)

    return put


def _value(cell: str, data_type: int) -> Any:
    """Returns the value that a cell holds; a text where it is none of the field's type."""
    text = cell.strip()
    if data_type == DataType.NUMBER and _NUMBER.fullmatch(text):
        return float(text)
    if data_type == DataType.BOOLEAN:
        return _WORDS.get(text.lower(), text)
    return cell if data_type == DataType.TEXT else text


def written_header(keys: Iterable[str]) -> list[str]:
    """Returns the header of a table with a column for each of these custom fields."""
    return [*WRITTEN, *(_PREFIX + key for key in keys)]


def written_tags(names: Sequence[str]) -> str:
    """Returns tags as one cell, in a form that is read back as the same tags."""
    if any(_SEPARATORS.search(name) for name in names) or any(n.startswith("[") for n in names):
        return json.dumps(names, ensure_ascii=False)
    return ",".join(names)


def written_text(text: str) -> str:
    """Returns the cell for a text of which an empty one is the same as none."""
    return escape_formula(text) if text else ""


def written_values(values: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """Returns the values of custom fields as cells, one for each key; empty where there is none."""
    return [_written(values.get(key)) for key in keys]


def _written(value: Any) -> str:
    if value is None:
        return ""
    return escape_formula(value if isinstance(value, str) else json.dumps(as_json(value)))
