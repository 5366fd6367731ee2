"""Measures the time that database threads take for the work of a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class WorkTime:
    """The seconds of a call's work, as equal shares of the batches in which it ran.

    `cpu_seconds` are those of the CPU time of database threads.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0


current: ContextVar[WorkTime | None] = ContextVar("work_time", default=None)


@contextmanager
def measured() -> Iterator[WorkTime]:
    """Measures the work that the block runs, which an outer measurement includes."""
    work_time = WorkTime()
    token = current.set(work_time)
    try:
        yield work_time
    finally:
        current.reset(token)
        if (outer := current.get()) is not None:
            outer.seconds += work_time.seconds
            outer.cpu_seconds += work_time.cpu_seconds
