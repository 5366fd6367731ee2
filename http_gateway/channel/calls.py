"""What calls of the in-process channel have in common, however they are answered.

A call runs in the task that awaits it or iterates over it, and is cancelled with it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

from grpc import StatusCode, aio

from .context import Context, Metadata

log = logging.getLogger(__name__)


class Method(Protocol):
    """What is called."""

    name: str
    # What answers calls, as the interceptors wrap it; None until it was resolved.
    behaviour: Callable[[Any, Context], Any] | None

    async def resolve(self) -> Callable[[Any, Context], Any] | None:
        """Returns what answers calls, or None if there is no such method."""


class BaseCall(aio.Call):
    """A call, but for how it runs and what it gives."""

    def __init__(
        self, method: Method, request: Any, metadata: Metadata, timeout: float | None
    ) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        self._method = method
        self._request = request
        self._context = Context(metadata, deadline)
        self._outcome: StatusCode | None = None
        self._callbacks: list[Callable[[Any], None]] = []
        self._task: asyncio.Task[Any] | None = None

    @property
    def trailing(self) -> Metadata:
        """What `trailing_metadata` gives of a finished call, for whoever counts microseconds."""
        return self._context.trailing

    def _is_unknown(self) -> None:
        self._context.set_code(StatusCode.UNIMPLEMENTED)
        self._context.set_details("Method not found!")

    def _raised(self, error: Exception) -> None:
        """Notes that the handler ended by an exception, which may be that of an abort."""
        if not isinstance(error, aio.AbortError):
            log.error("%s failed", self._method.name, exc_info=error)
        if self._context.code() in (None, StatusCode.OK):
            self._context.set_code(StatusCode.UNKNOWN)

    def _finish(self, outcome: StatusCode) -> None:
        self._outcome, self._task = outcome, None
        for callback in self._callbacks:
            callback(self)

    def _error(self) -> aio.AioRpcError:
        context = self._context
        initial, trailing = aio.Metadata(*context.initial), aio.Metadata(*context.trailing)
        code = context.code() or StatusCode.UNKNOWN
        return aio.AioRpcError(code, initial, trailing, context.details())

    def cancel(self) -> bool:
        if self._outcome is not None:
            return False
        if self._task is not None:
            return self._task.cancel()
        self._finish(StatusCode.CANCELLED)
        return True

    def cancelled(self) -> bool:
        return self._outcome is StatusCode.CANCELLED

    def done(self) -> bool:
        return self._outcome is not None

    def time_remaining(self) -> float | None:
        return self._context.time_remaining()

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self._callbacks.append(callback)

    async def initial_metadata(self) -> aio.Metadata:
        return aio.Metadata(*self._context.initial)

    async def trailing_metadata(self) -> aio.Metadata:
        return aio.Metadata(*self._context.trailing)

    async def code(self) -> StatusCode:
        return self._outcome or StatusCode.UNKNOWN

    async def details(self) -> str:
        return self._context.details()

    async def wait_for_connection(self) -> None:
        """There is nothing to connect to."""
