"""Converts values of custom fields for comparisons."""

from __future__ import annotations

from typing import Any

from ...values.texts import cached_if_short
from ...values.timestamps import parse_timestamp
from ..custom_fields.rules import TEXT_KEY_LENGTH


def value_keys(value: Any) -> tuple[str | None, float | None]:
    """Returns the columns for comparisons with a value of a custom field.

    The first column has the first characters of a text. The second has a number, 1 or 0 for true or
    false, or the milliseconds since 1970 of a text that is a date.
    """
    return text_keys(value) if isinstance(value, str) else (None, float(value))


@cached_if_short
def text_keys(text: str) -> tuple[str, int | None]:
    is_date = text[:1].isdigit() and text[4:5] == "-"
    return text[:TEXT_KEY_LENGTH], parse_timestamp(text) if is_date else None
