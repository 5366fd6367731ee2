"""Writes subscribers as rows of CSV files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..custom_fields.rules import as_json
from .fields import ADDED_BY_FULL, FIELDS, Field, SubscriberRow
from .formulas import escape_for_import, escape_formula

CUSTOM_FIELDS = "customFields."
TAG_SEPARATORS = re.compile(r"[,;|]")


def header_cells(keys: Iterable[str], *, full: bool = False, more: Sequence[str] = ()) -> list[str]:
    """Returns the header of a file with a column for each of these custom fields.

    `more` are other columns, before those of the custom fields.
    """
    fields = _written_fields(full=full)
    names = (field.json_name for field in fields)
    return [*names, *more, *(CUSTOM_FIELDS + key for key in keys)]


def row_cells(
    row: SubscriberRow,
    keys: Iterable[str],
    *,
    full: bool = False,
    more: Iterable[str | None] = (),
    escapes_formulas: bool = True,
) -> list[str]:
    """Returns the cells of a subscriber in the order of `header_cells`; `more` is not escaped."""
    escape = escape_formula if escapes_formulas else escape_for_import
    cells = [_field_cell(field, row, escape) for field in _written_fields(full=full)]
    cells += [text or "" for text in more]
    return cells + [_value_cell(row.values.get(key), escape) for key in keys]


def column_cells(
    row: SubscriberRow, columns: Iterable[Field | str], *, escapes_formulas: bool = True
) -> list[str]:
    """Returns the cells of a subscriber for fields, and for custom fields by their keys."""
    escape = escape_formula if escapes_formulas else escape_for_import
    return [
        _value_cell(row.values.get(column), escape)
        if isinstance(column, str)
        else _field_cell(column, row, escape)
        for column in columns
    ]


def _written_fields(*, full: bool) -> Sequence[Field]:
    return FIELDS + ADDED_BY_FULL if full else FIELDS


def _field_cell(field: Field, row: SubscriberRow, escape: Callable[[str], str]) -> str:
    value = getattr(row, field.name)
    if not value and value != 0:
        return ""
    value = field.to_json(value)
    if field.name != "email":
        return _value_cell(tags_cell(value) if isinstance(value, list) else value, escape)
    cell = escape(value)
    return cell if cell == value else f"<{value}>"


def tags_cell(names: Sequence[str]) -> str:
    """Returns tags as one cell that is parsed to the same tags."""
    if any(TAG_SEPARATORS.search(name) or name.startswith("[") for name in names):
        return json.dumps(names, ensure_ascii=False)
    return ",".join(names)


def _value_cell(value: Any, escape: Callable[[str], str]) -> str:
    if value is None:
        return ""
    return escape(value if isinstance(value, str) else json.dumps(as_json(value)))
