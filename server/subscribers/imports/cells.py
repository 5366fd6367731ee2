"""Parses the cells of a CSV file into rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from ...custom_fields.rules import DataType
from ...texts import cached_if_short, column_key, json_name
from ...timestamps import is_valid_time, parse_timestamp
from ..csv_format import TAG_SEPARATORS
from ..fields import PROFILE, Status
from ..rules import ConsentRecord
from .consent_record import is_valid_ip, is_valid_source
from .csv_row import CsvRow

# Parses a cell into a row. Raises CellError.
Parse = Callable[[CsvRow, str], None]

_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
REVERSED_NAME = "lastName+firstName"
_TIMES = [name for name in ConsentRecord._fields if name.endswith("_at")]
STATUSES = {status.name.lower(): status for status in Status}


class CellError(Exception):
    """A cell that could not be parsed."""


def parse_email(row: CsvRow, cell: str) -> None:
    # The cell may be "Ada Lovelace" <ada@example.com>.
    name, opened, address = cell.strip().partition("<")
    if not opened or not address.endswith(">") or "<" in address:
        row.email = cell
        return
    row.email = address[:-1]
    row.display_name = name.strip().strip('"').strip()


def parse_profile(name: str, row: CsvRow, cell: str) -> None:
    setattr(row, name, cell)


def parse_name(row: CsvRow, cell: str) -> None:
    row.name = cell.strip()


def parse_reversed_name(row: CsvRow, cell: str) -> None:
    """Parses a full name that begins with the last name, as "Lovelace, Ada"."""
    last, comma, first = cell.partition(",")
    if not comma:
        last, _, first = cell.strip().partition(" ")
    row.first_name, row.last_name = first.strip(), last.strip()


def parse_confirmed(row: CsvRow, cell: str) -> None:
    value = _BOOLEANS.get(cell.strip().lower())
    if value is None:
        raise CellError
    row.is_confirmed = value


def parse_status(words: Mapping[str, Status], row: CsvRow, cell: str) -> None:
    status = words.get(column_key(cell))
    if status is None:
        raise CellError
    row.status = status


def parse_tags(row: CsvRow, cell: str) -> None:
    row.tags = (*row.tags, *_tags(cell))


def parse_quoted_tags(row: CsvRow, cell: str) -> None:
    """Parses tags such as `"vip","a, b"`."""
    row.tags = (*row.tags, *_quoted_tags(cell))


# Many rows have the same tags.
@cached_if_short
def _tags(cell: str) -> Sequence[str]:
    names = _json_strings(cell)
    return _not_blank(TAG_SEPARATORS.split(cell)) if names is None else names


@cached_if_short
def _quoted_tags(cell: str) -> Sequence[str]:
    try:
        return _not_blank(next(csv.reader((cell.strip(),), skipinitialspace=True, strict=True)))
    except csv.Error:
        raise CellError from None


def _not_blank(names: Iterable[str]) -> list[str]:
    return [name for name in map(str.strip, names) if name]


def parse_time(name: str, now: int, row: CsvRow, cell: str) -> None:
    time = parse_timestamp(cell)
    if time is None or not is_valid_time(time, now):
        raise CellError
    row.consent_record[name] = time


def parse_consent_source(row: CsvRow, cell: str) -> None:
    if not is_valid_source(cell):
        raise CellError
    row.consent_record["consent_source"] = cell


def parse_consent_ip(row: CsvRow, cell: str) -> None:
    text = cell.strip()
    if not is_valid_ip(text):
        raise CellError
    row.consent_record["consent_ip"] = text


def value_parser(key: str, data_type: int) -> Parse:
    """Returns the parser of a custom field."""
    return partial(_parse_value, key, data_type)


def _parse_value(key: str, data_type: int, row: CsvRow, cell: str) -> None:
    row.custom_fields[key] = _value(cell, data_type)


def _value(cell: str, data_type: int) -> Any:
    """Returns the value of a cell, or its text if it does not have the type of the field."""
    text = cell.strip()
    if data_type == DataType.NUMBER and _NUMBER.fullmatch(text):
        return float(text)
    if data_type == DataType.BOOLEAN:
        return _BOOLEANS.get(text.lower(), text)
    return cell if data_type == DataType.TEXT else text


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


def field_parsers(
    words: Mapping[str, Status], now: int, *, tags_are_quoted: bool
) -> dict[str, Parse]:
    """Returns the parsers of the built-in fields by JSON name.

    `words` are status words by `column_key`.
    """
    return {
        **{json_name(name): partial(parse_profile, name) for name in PROFILE},
        "email": parse_email,
        "name": parse_name,
        REVERSED_NAME: parse_reversed_name,
        "isConfirmed": parse_confirmed,
        "status": partial(parse_status, words),
        "tags": parse_quoted_tags if tags_are_quoted else parse_tags,
        **{json_name(name): partial(parse_time, name, now) for name in _TIMES},
        "consentSource": parse_consent_source,
        "consentIp": parse_consent_ip,
    }


# The fields that a column with their name sets.
FIELD_NAMES = [
    name for name in field_parsers({}, 0, tags_are_quoted=False) if name != REVERSED_NAME
]
