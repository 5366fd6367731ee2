"""Subscribers with the maximum size of custom field values."""

from __future__ import annotations

import json
from typing import Any

from rosterd.server.features.custom_fields import store
from rosterd.server.features.custom_fields.rules import DataType

from ..conftest import Account

MAX_BYTES = 32 * 1024
KEYS = [f"f_{number:02}" for number in range(33)]
# A key that `values` does not use.
UNUSED_KEY = "extra"


def with_fields(account: Account) -> Account:
    """Stores a TEXT field for each key and returns the account."""
    with account.service.unit_of_work() as tx:
        for key in (*KEYS, UNUSED_KEY):
            store.create(account.id, key, key, DataType.TEXT, "", tx)
    return account


def values(size: int = MAX_BYTES, letter: str = "x") -> dict[str, str]:
    """Returns values of this size as JSON, filled with an ASCII letter."""
    by_key: dict[str, str] = {}
    left = size - 1
    for key in KEYS:
        length = min(left - len(key) - 6, 1_000)
        if length < 0:
            break
        by_key[key] = letter * length
        left -= length + len(key) + 6
    assert json_size(by_key) == size, (json_size(by_key), size)
    return by_key


def json_size(by_key: dict[str, Any]) -> int:
    return len(json.dumps(by_key, ensure_ascii=False, separators=(",", ":")).encode())


def rows_of_size(count: int, size: int = MAX_BYTES) -> list[dict[str, Any]]:
    """Returns subscriber rows with custom field values of this size."""
    return [
        {"email": f"p{number}@example.com", "customFields": values(size)} for number in range(count)
    ]


def create_large_subscribers(account: Account, count: int = 100) -> list[str]:
    """Creates subscribers with values of the maximum size and returns their addresses."""
    rows = rows_of_size(count)
    for first in range(0, count, 25):  # a body has at most 1 MiB
        response = account.ok("BulkCreateSubscribers", subscribers=rows[first : first + 25])
        assert response == {"failed": []}
    return [row["email"] for row in rows]
