"""Describes the pending tasks of a process, to explain why it does not end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any


def pending_tasks() -> str:
    """Returns the call chains of all pending tasks, outermost function first.

    Equal chains are listed once with their number.
    """
    chains = Counter(" > ".join(_functions(task.get_coro())) for task in asyncio.all_tasks())
    lines = (f"{chain} ({count})" if count > 1 else chain for chain, count in chains.items())
    return "; ".join(sorted(lines))


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
