"""The common part of unary and streaming calls of the in-process channel.

A call runs in the task that awaits it or iterates over it, and is canceled with it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from grpc import StatusCode, aio

from .context import CallDetails, Context, Metadata

log = logging.getLogger(__name__)


class MultiCallable:
    """Makes calls of one method of the server in this process.

    The handler is requested from the interceptors once, not for each call as by a server. It
    must read the metadata of a call from its context.
    """

    def __init__(
        self,
        call_class: type[BaseCall],
        handler_of: Callable[[CallDetails], Any],
        method: str,
        kind: str,
    ) -> None:
        self._call_class = call_class
        self._handler_of = handler_of
        self._kind = kind
        self.name = method
        # The function that implements the rpc, wrapped by the interceptors, and the event loop of
        # the calls; None until resolved.
        self.behavior: Callable[[Any, Context], Any] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    async def resolve(self) -> Callable[[Any, Context], Any] | None:
        """Returns the behavior, or None if the server does not implement the rpc."""
        handler = await self._handler_of(CallDetails(self.name, ()))
        self.loop = asyncio.get_running_loop()
        self.behavior = getattr(handler, self._kind) if handler else None
        return self.behavior

    def __call__(
        self,
        request: Any,
        *,
        timeout: float | None = None,
        metadata: Any = None,
        **_network_options: Any,
    ) -> Any:
        return self._call_class(self, request, tuple(metadata or ()), timeout)


class BaseCall(aio.Call):
    """A call of a method. Subclasses run it and return its responses."""

    # The status of a finished call.
    _status: StatusCode | None = None
    _callbacks: tuple[Callable[[Any], None], ...] = ()
    _task: asyncio.Task[Any] | None = None

    def __init__(
        self, method: MultiCallable, request: Any, metadata: Metadata, timeout: float | None
    ) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        self._method = method
        self._request = request
        self._context = Context(metadata, deadline)

    @property
    def trailing(self) -> Metadata:
        """The trailing metadata of a finished call, without the cost of `trailing_metadata`."""
        return self._context.trailing

    def _set_unimplemented(self) -> None:
        self._context.set_code(StatusCode.UNIMPLEMENTED)
        self._context.set_details("Method not found!")

    def _set_failed(self, error: Exception) -> None:
        """Sets the status for an exception of the behavior, and logs it unless it is an abort."""
        if not isinstance(error, aio.AbortError):
            log.error("%s failed", self._method.name, exc_info=error)
        if self._context.code() in (None, StatusCode.OK):
            self._context.set_code(StatusCode.UNKNOWN)

    def _finish(self, status: StatusCode) -> None:
        self._status, self._task = status, None
        for callback in self._callbacks:
            callback(self)

    def _error(self) -> aio.AioRpcError:
        context = self._context
        initial, trailing = aio.Metadata(*context.initial), aio.Metadata(*context.trailing)
        code = context.code() or StatusCode.UNKNOWN
        return aio.AioRpcError(code, initial, trailing, context.details())

    def cancel(self) -> bool:
        if self._status is not None:
            return False
        if self._task is not None:
            return self._task.cancel()
        self._finish(StatusCode.CANCELLED)
        return True

    def cancelled(self) -> bool:
        return self._status is StatusCode.CANCELLED

    def done(self) -> bool:
        return self._status is not None

    def time_remaining(self) -> float | None:
        return self._context.time_remaining()

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self._callbacks = (*self._callbacks, callback)

    async def initial_metadata(self) -> aio.Metadata:
        return aio.Metadata(*self._context.initial)

    async def trailing_metadata(self) -> aio.Metadata:
        return aio.Metadata(*self._context.trailing)

    async def code(self) -> StatusCode:
        return self._status or StatusCode.UNKNOWN

    async def details(self) -> str:
        return self._context.details()

    async def wait_for_connection(self) -> None:
        """Returns at once: there is no connection."""
