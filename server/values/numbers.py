"""Reads numbers from texts, exactly."""

from __future__ import annotations

import re
from decimal import Decimal

# The numbers of JSON (RFC 8259), with an exponent of at most two digits, so that a text of at most
# 63 characters is within the range of a double. For expressions of Python and PostgreSQL.
NUMBER_PATTERN = r"-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]{1,2})?"
MAX_NUMBER_LENGTH = 63
_NUMBER = re.compile(NUMBER_PATTERN, re.ASCII)


def exact_number(text: str) -> float | None:
    """Returns the number of a text, or None if it is not one or no double has this value."""
    if len(text) > MAX_NUMBER_LENGTH or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if Decimal(text) == Decimal(repr(number)) else None
