"""What the tasks of this process are waiting for, for whoever wonders why it does not end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any


def what_runs() -> list[str]:
    """Returns for each task that is not done the functions it is in, the outermost first."""
    return sorted(" > ".join(_functions(task.get_coro())) for task in asyncio.all_tasks())


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
            yield type(awaited).__name__
            return
