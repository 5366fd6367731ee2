"""By when a call has to be answered, in a context variable that lives as long as the call.

Whoever queues work looks here whether the wait is worth it. A stream has no such
moment, nor has work that nobody waits for: they wait as long as it takes.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

_end: ContextVar[float | None] = ContextVar("end", default=None)


def set_deadline(moment: float | None) -> None:
    """Says when the rest of this call is of no use any more, by the event loop's clock."""
    _end.set(moment)


def seconds_left() -> float | None:
    """Returns how long the answer is still waited for, or None where that has no end."""
    end = _end.get()
    return None if end is None else end - asyncio.get_running_loop().time()
