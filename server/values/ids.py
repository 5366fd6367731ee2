"""Generates ULIDs that ascend within a process, even if the clock goes back.

Lists are sorted by ID, so a later ID must compare greater. Within a millisecond, and while
the clock is behind the last ID, the next ID is the last one plus one.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Sequence
from functools import lru_cache

from .clock import Clock

_SHAPE = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# Python's digits of base 32.
_TO_BASE_32 = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
# Bit positions of character pairs: in an ID, in `_encoded_head` and in the 80 random bits.
_ID_SHIFTS = range(120, -10, -10)
_HEAD_SHIFTS = range(20, -10, -10)
_RANDOM_SHIFTS = range(70, -10, -10)
_TAIL_BITS = 40
_TAIL = (1 << _TAIL_BITS) - 1
_RANDOM_BITS = 80
# Numbered IDs have fewer random bits. A number can be a time in microseconds until 2112.
_NUMBERED_BITS = 28
_LAST_NUMBER = (1 << (_RANDOM_BITS - _NUMBERED_BITS)) - 1
ID_LENGTH = 26
_TIMESTAMP_LENGTH = 10
_LAST_TIMESTAMP = (1 << 48) - 1


def is_id(text: str) -> bool:
    """Whether the text has the shape of an ID: 26 upper-case characters of Crockford's base 32."""
    return _SHAPE.fullmatch(text) is not None


def checked_id(text: str, missing: type[Exception]) -> str:
    """Returns the text if it has the shape of an ID. Otherwise raises `missing`."""
    if not is_id(text):
        raise missing
    return text


def timestamp_of(text: str) -> int:
    """Returns the timestamp of an ID, in milliseconds since 1970."""
    return int(text[:_TIMESTAMP_LENGTH].translate(_TO_BASE_32), 32)


def id_bytes(text: str) -> bytes:
    """Returns the 16 bytes of an ID."""
    return _number(text).to_bytes(16, "big")


def id_of(data: bytes) -> str:
    """Returns the ID with these 16 bytes."""
    return _encoded(int.from_bytes(data, "big"), _ID_SHIFTS)


def timestamps_of(ids: Sequence[str]) -> list[int]:
    """Returns the timestamps of ascending IDs."""
    if not ids:
        return []
    first, last = timestamp_of(ids[0]), timestamp_of(ids[-1])
    return [first] * len(ids) if first == last else [timestamp_of(each) for each in ids]


def first_id_at(milliseconds: int) -> str:
    """Returns the smallest ID of a millisecond. Times before 1970 count as 1970."""
    timestamp = min(max(milliseconds, 0), _LAST_TIMESTAMP)
    return _encoded(timestamp << _RANDOM_BITS, _ID_SHIFTS)


def ids_at(times: Sequence[int], number: int) -> list[str]:
    """Returns IDs with these timestamps, in milliseconds since 1970.

    Unlike those of `Ids`, they can be smaller than stored ones. IDs of the same millisecond
    ascend, and follow those of a smaller `number`.
    """
    # One bit stays free, so that counting does not reach the IDs of the next number.
    first = (number & _LAST_NUMBER) << _NUMBERED_BITS | secrets.randbits(_NUMBERED_BITS - 1)
    counts = dict.fromkeys(times, 0)
    randoms: list[str] = []
    ids = []
    for milliseconds in times:
        count = counts[milliseconds]
        counts[milliseconds] = count + 1
        if count == len(randoms):
            randoms.append(_encoded(first + count, _RANDOM_SHIFTS))
        head, pairs = _encoded_head(milliseconds >> 20), milliseconds & 0xFFFFF
        ids.append(f"{head}{_PAIRS[pairs >> 10]}{_PAIRS[pairs & 1023]}{randoms[count]}")
    return ids


@lru_cache(1024)
def _encoded_head(number: int) -> str:
    """Returns the first six characters of an ID, which change every 17 minutes."""
    return _encoded(number, _HEAD_SHIFTS)


def _number(text: str) -> int:
    return int(text.translate(_TO_BASE_32), 32)


def _encoded(number: int, shifts: range) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in shifts])


class Ids:
    """Generates IDs. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._head = -1
        self._head_text = ""
        self._lock = threading.Lock()

    def start_past(self, newest: str | None) -> None:
        """Makes all further IDs greater than `newest`, the newest stored one."""
        if newest is None:
            return
        with self._lock:
            self._last = max(self._last, _number(newest))

    def next(self) -> str:
        """Returns an ID greater than all before."""
        return self.take(1)[0]

    def take(self, count: int) -> list[str]:
        """Returns `count` ascending IDs, greater than all before."""
        with self._lock:
            now = self._clock()
            first = self._last + 1
            if now > self._last >> _RANDOM_BITS:
                first = now << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
            self._last = first + count - 1
            return [self._text(number) for number in range(first, first + count)]

    def _text(self, number: int) -> str:
        # Consecutive IDs share their first 18 characters, which are cached.
        head, tail = number >> _TAIL_BITS, number & _TAIL
        if head != self._head:
            self._head = head
            self._head_text = _encoded(number, _ID_SHIFTS)[:18]
        return (
            f"{self._head_text}{_PAIRS[tail >> 30]}{_PAIRS[tail >> 20 & 1023]}"
            f"{_PAIRS[tail >> 10 & 1023]}{_PAIRS[tail & 1023]}"
        )
