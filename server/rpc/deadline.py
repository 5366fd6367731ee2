"""The deadline of the current call, in a context variable.

A queue rejects a call that would exceed its deadline. Streams and background tasks have no
deadline.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

_end: ContextVar[float | None] = ContextVar("end", default=None)


def set_deadline(end: float | None) -> None:
    """Sets the deadline of the current call, in the time of `time.monotonic`, or None."""
    _end.set(end)


def seconds_left() -> float | None:
    """Returns the seconds until the deadline, or None if there is none."""
    end = _end.get()
    return None if end is None else end - time.monotonic()
