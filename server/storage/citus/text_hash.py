"""Computes PostgreSQL's hash of a text, which Citus uses to assign accounts to shards.

It is `hashtext` of a text with the collation "C": Bob Jenkins' lookup3 with PostgreSQL's initial
value. A server on a big-endian machine computes different values.
"""

from __future__ import annotations

from functools import lru_cache

_MASK = 0xFFFFFFFF
_BLOCK = 12
_START = 0x9E3779B9 + 3923095


@lru_cache(10_000)
def text_hash(text: str) -> int:
    """Returns the hash as a signed integer of 32 bits."""
    data = text.encode()
    a = b = c = (_START + len(data)) & _MASK
    tail = len(data) - len(data) % _BLOCK
    for start in range(0, tail, _BLOCK):
        first, second, third = _words(data[start : start + _BLOCK])
        a, b, c = _mix((a + first) & _MASK, (b + second) & _MASK, (c + third) & _MASK)
    first, second, third = _words(data[tail:].ljust(_BLOCK, b"\0"))
    # The lowest byte of c is reserved for the length.
    c = _final((a + first) & _MASK, (b + second) & _MASK, (c + (third << 8)) & _MASK)
    return c - (1 << 32) if c >> 31 else c


def _words(block: bytes) -> tuple[int, int, int]:
    return (
        int.from_bytes(block[:4], "little"),
        int.from_bytes(block[4:8], "little"),
        int.from_bytes(block[8:], "little"),
    )


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in (4, 6, 8, 16, 19, 4):
        a = (a - c & _MASK) ^ _rotated(c, bits)
        c = c + b & _MASK
        a, b, c = b, c, a
    return a, b, c


def _final(a: int, b: int, c: int) -> int:
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _rotated(b, bits)) & _MASK
        a, b, c = b, c, a
    return b
