"""Measures the time that a coroutine runs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Generator
from typing import Any


class Steps:
    """Measures the time that a coroutine runs, without its waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def of(self, work: Awaitable[Any]) -> Awaitable[Any]:
        return _Measured(work, self)


class _Measured:
    """Runs a coroutine step by step."""

    def __init__(self, work: Awaitable[Any], steps: Steps) -> None:
        self._work, self._steps = work, steps

    def __await__(self) -> Generator[Any, Any, Any]:
        iterator: Any = self._work.__await__()
        step, argument = iterator.send, None
        while True:
            began = time.perf_counter()
            try:
                pending = step(argument)
            except StopIteration as ended:
                return ended.value
            finally:
                self._steps.seconds += time.perf_counter() - began
            try:
                step, argument = iterator.send, (yield pending)
            except BaseException as error:  # noqa: BLE001 - raised in the coroutine
                step, argument = iterator.throw, error
