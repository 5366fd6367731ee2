"""What the tasks of this process are waiting for, for whoever wonders why it does not end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any


def pending_tasks() -> str:
    """Returns, of the tasks that are not done, the functions each is in, the outermost first.

    Those that are in the same functions are told of once, with their number.
    """
    found = Counter(" > ".join(_functions(task.get_coro())) for task in asyncio.all_tasks())
    told = (f"{where} ({count})" if count > 1 else where for where, count in found.items())
    return "; ".join(sorted(told))


def _functions(awaited: Any) -> Iterator[str]:
    """Yields the names of coroutines and generators, each of which awaits the next one."""
    while awaited is not None:
        for kind in ("cr", "gi", "ag"):
            code = getattr(awaited, f"{kind}_code", None)
            if code is not None:
                yield code.co_qualname
                inner = getattr(awaited, f"{kind}_await", None)
                awaited = inner if inner is not None else getattr(awaited, "gi_yieldfrom", None)
                break
        else:
            return
