"""The time of day, in milliseconds since 1970-01-01T00:00:00Z.

Code that needs the time receives a Clock, so that tests can replace it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Clock = Callable[[], int]


def system_clock() -> int:
    return time.time_ns() // 1_000_000


# The text of the minutes and seconds of an hour, and of the milliseconds of a second.
_SECONDS = [f"{second // 60:02}:{second % 60:02}" for second in range(3600)]
_MILLISECONDS = [f".{fraction:03}Z" for fraction in range(1000)]


def iso8601(milliseconds: int) -> str:
    """Formats a timestamp in ISO 8601 as in JSON: 2026-11-21T03:33:16.247Z."""
    seconds, fraction = divmod(milliseconds, 1000)
    hours, second = divmod(seconds, 3600)
    return f"{_hour(hours)}{_SECONDS[second]}{_MILLISECONDS[fraction]}"


@lru_cache(1024)
def _hour(hours: int) -> str:
    """Returns the text of an hour since 1970, up to its minutes."""
    return datetime.fromtimestamp(hours * 3600, UTC).isoformat()[:14]
