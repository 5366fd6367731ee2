"""Subscribers with as many custom values as they may have."""

from __future__ import annotations

import json
from typing import Any

from ..conftest import Account
from .helpers import field

MAX_BYTES = 32 * 1024
KEYS = [f"f_{number:02}" for number in range(33)]
# A key that none of `values` has.
EXTRA = "extra"


def with_fields(account: Account) -> Account:
    """Returns the account, which has a TEXT field for each of the keys now."""
    for key in (*KEYS, EXTRA):
        field(account, key)
    return account


def values(size: int = MAX_BYTES, letter: str = "x") -> dict[str, str]:
    """Returns values that come to so many bytes as JSON; `letter` takes a byte."""
    found: dict[str, str] = {}
    left = size - 1
    for key in KEYS:
        length = min(left - len(key) - 6, 1_000)
        if length < 0:
            break
        found[key] = letter * length
        left -= length + len(key) + 6
    assert json_size(found) == size, (json_size(found), size)
    return found


def json_size(found: dict[str, Any]) -> int:
    """Returns the bytes of values as JSON."""
    return len(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode())


def people(count: int, size: int = MAX_BYTES) -> list[dict[str, Any]]:
    """Returns rows of subscribers with so many bytes of values each."""
    return [
        {"email": f"p{number}@example.com", "customFields": values(size)} for number in range(count)
    ]


def fill(account: Account, count: int = 100) -> list[str]:
    """Creates subscribers at the bound and returns their addresses."""
    rows = people(count)
    for first in range(0, count, 25):  # a body has at most 1 MiB
        answer = account.ok("BulkCreateSubscribers", subscribers=rows[first : first + 25])
        assert answer == {"failed": []}
    return [row["email"] for row in rows]
