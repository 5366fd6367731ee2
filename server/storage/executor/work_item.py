"""Passes work from a caller on the event loop to a thread, and its outcome back.

The thread claims an item before it runs it; the caller withdraws an item to cancel it. The
first of the two wins.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Any, Generic, NamedTuple, TypeVar

from ...rpc.errors import Unavailable
from ...values.actors import Actor

Work = TypeVar("Work")


class GroupLimit(NamedTuple):
    """A group of work items, such as those of one account, and its maximum number of threads."""

    group: Hashable
    threads: int


GroupLimits = tuple[GroupLimit, ...]


class WorkItem(Generic[Work]):
    """The work of one caller, its groups, who makes its changes, and the future for its outcome."""

    __slots__ = (
        "_claimed_at",
        "_claiming",
        "_interrupt",
        "_withdrawn",
        "actor",
        "cpu_seconds",
        "error",
        "future",
        "limits",
        "queued_at",
        "result",
        "seconds",
        "settled",
        "work",
    )

    def __init__(
        self,
        work: Work,
        future: asyncio.Future[Any],
        claiming: AbstractContextManager[Any],
        limits: GroupLimits = (),
        actor: Actor | None = None,
    ) -> None:
        self.work = work
        self.limits = limits
        self.actor = actor
        self.queued_at = time.perf_counter()
        self.future = future
        self._claiming = claiming
        self.result: Any = None
        self.error: Exception | None = None
        # Its shares of the time of its batch, and of the CPU time of the thread that ran it.
        self.seconds = self.cpu_seconds = 0.0
        self.settled = False
        self._claimed_at: float | None = None
        self._withdrawn = False
        self._interrupt: Callable[[WorkItem[Work]], None] | None = None

    @property
    def is_withdrawn(self) -> bool:
        """Whether its caller does not wait for it any more."""
        return self._withdrawn

    @property
    def is_interrupted(self) -> bool:
        """Whether it was withdrawn while it runs."""
        return self._withdrawn and self._interrupt is not None

    def claim(self, interrupt: Callable[[WorkItem[Work]], None] | None = None) -> bool:
        """Claims the item. Returns False if it was withdrawn and must be skipped.

        `interrupt` is called if the item is abandoned before `done` is called.
        """
        with self._claiming:
            self._claimed_at = None if self._withdrawn else time.perf_counter()
            self._interrupt = interrupt
            return not self._withdrawn

    def done(self) -> None:
        """Records that no statement runs for the item any more."""
        with self._claiming:
            self._interrupt = None

    def withdraw(self) -> bool:
        """Cancels the item. Returns False if it was claimed, and takes effect."""
        with self._claiming:
            self._withdrawn = self._claimed_at is None
            return self._withdrawn

    def abandon(self) -> None:
        """Cancels an item without effects, also while it runs.

        The CPU time of an interrupted statement is unknown: the time since the claim is charged.
        """
        with self._claiming:
            self._withdrawn = True
            if self._claimed_at is not None and not self.settled:
                self.cpu_seconds = time.perf_counter() - self._claimed_at
            if self._interrupt is not None:
                self._interrupt(self)

    def reject(self) -> bool:
        """Withdraws the item and raises Unavailable to its caller. Runs on the event loop.

        Returns False if it was already claimed.
        """
        if not self.withdraw():
            return False
        self.error = Unavailable()
        self.settle()
        return True

    def outcome(self) -> Any:
        """Returns the result or raises the error."""
        if self.error is not None:
            raise self.error
        return self.result

    def settle(self) -> None:
        """Passes the outcome to the caller. Runs on the event loop."""
        self.settled = True
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)
