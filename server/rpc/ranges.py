"""Ranges of bytes of a file (RFC 9110), and the headers of their responses."""

from __future__ import annotations

import re

from .errors import RangeNotSatisfiable

_RANGE = re.compile(r"bytes=[ \t]*(\d{0,18})-(\d{0,18})[ \t]*", re.ASCII | re.IGNORECASE)


def range_of(text: str, size: int) -> tuple[int, int] | None:
    """Returns the first byte of a Range header and the one after the last, in a file of a size.

    Returns None for the whole file: several ranges, other units and invalid values are ignored.
    Raises RangeNotSatisfiable.
    """
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    first, last = match.groups()
    if not first:
        if not last:
            return None
        if int(last) == 0 or size == 0:
            raise RangeNotSatisfiable(size=size)
        return max(size - int(last), 0), size
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise RangeNotSatisfiable(size=size)
    return int(first), min(int(last) + 1, size) if last else size
