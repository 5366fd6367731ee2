"""The time of day, in milliseconds since 1970-01-01T00:00:00Z.

Whoever needs the time is handed a Clock, so that a test can hand over its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]


def system_clock() -> int:
    """Returns the machine's time."""
    return time.time_ns() // 1_000_000
