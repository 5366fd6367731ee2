"""The time of day, in milliseconds since 1970-01-01T00:00:00Z.

Code that needs the time receives a Clock, so that tests can replace it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]


def system_clock() -> int:
    return time.time_ns() // 1_000_000


def iso8601(milliseconds: int) -> str:
    """Formats a timestamp in ISO 8601 as in JSON: 2026-11-21T03:33:16.247Z."""
    seconds, fraction = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:03}Z"
