"""The time of day, in milliseconds since 1970-01-01T00:00:00Z.

Whoever needs the time is handed a Clock, so that a test can hand over its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]


def system_clock() -> int:
    """Returns the machine's time."""
    return time.time_ns() // 1_000_000


def written(milliseconds: int) -> str:
    """Returns a moment as JSON has it, such as 2026-11-21T03:33:16.247Z."""
    seconds, fraction = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:03}Z"
