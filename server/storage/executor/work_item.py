"""A piece of work on its way from a caller on the event loop to a thread, and back.

Whoever begins with a job claims it; whoever does not wait for it any longer withdraws
it. Of the two the first wins.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from ...errors import Unavailable

Work = TypeVar("Work")


class WorkItem(Generic[Work]):
    """One caller's work, and the future on which the caller waits."""

    __slots__ = (
        "_claimed",
        "_claiming",
        "_withdrawn",
        "error",
        "future",
        "result",
        "settled",
        "work",
    )

    def __init__(
        self, work: Work, future: asyncio.Future[Any], claiming: AbstractContextManager[Any]
    ) -> None:
        self.work = work
        self.future = future
        self._claiming = claiming
        self.result: Any = None
        self.error: Exception | None = None
        self.settled = False
        self._claimed = False
        self._withdrawn = False

    def claim(self) -> bool:
        """Begins with the job. Returns False if it was withdrawn, and is to be left out."""
        with self._claiming:
            self._claimed = not self._withdrawn
            return self._claimed

    def withdraw(self) -> bool:
        """Gives the job up. Returns False if it was claimed, and has or will have its effect."""
        with self._claiming:
            self._withdrawn = not self._claimed
            return self._withdrawn

    def refuse(self) -> bool:
        """Gives the job up and tells its caller so, unless it was begun; runs on the event loop.

        Returns whether it was given up.
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
        """Tells the caller the outcome; runs on the event loop."""
        self.settled = True
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)
