"""Limits the calls that wait for their first message.

grpc.aio starts the handler of a unary request when its message has arrived. No deadline and no
limit applies before, so a client without a key could keep any number of calls open.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import grpc
from grpc.aio import EOF

from ..errors import DeadlineExceeded, Overloaded, RosterError
from ..messages import Context
from .base import HandlerInterceptor, surrounded
from .deadlines import DEADLINE_SECONDS
from .error_status import abort_unobserved
from .validate import undecodable_request

log = logging.getLogger(__name__)

# Most messages arrive with the headers of their call, so few calls wait.
MAX_CALLS = 2_000
# Calls that may wait in grpc.aio, which ends none of them. A call whose handler reads the message
# itself takes a tenth more CPU time.
MAX_CALLS_IN_GRPC = 500


class _Handlers(NamedTuple):
    """Two handlers of a method: grpc.aio reads the message of one; the other reads it itself."""

    in_grpc: Any
    reading: Any


class UnsentRequests(HandlerInterceptor):
    """Ends calls whose message does not arrive, and the oldest one if too many calls wait.

    The first interceptor of a gRPC port. While many calls wait in grpc.aio, handlers of
    further calls read their message themselves, and these calls can be ended.
    """

    def __init__(
        self,
        max_calls: int = MAX_CALLS,
        deadline_seconds: float = DEADLINE_SECONDS,
        max_calls_in_grpc: int = MAX_CALLS_IN_GRPC,
    ) -> None:
        super().__init__()
        self._max_calls = max_calls
        self._max_calls_in_grpc = max_calls_in_grpc
        self._in_grpc: set[asyncio.Task[Any] | None] = set()
        self._deadline_seconds = deadline_seconds
        # The time at which a task began to wait, oldest first, and the errors of canceled tasks.
        self._waiting: OrderedDict[asyncio.Task[Any], float] = OrderedDict()
        self._ended: dict[asyncio.Task[Any], RosterError] = {}
        self._is_sweeping = False
        # The number of ended calls that are not logged.
        self._unlogged = 0

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        details: grpc.HandlerCallDetails,
    ) -> Any:
        handlers = await super().intercept_service(continuation, details)
        if not isinstance(handlers, _Handlers):
            return handlers
        if len(self._in_grpc) >= self._max_calls_in_grpc:
            return handlers.reading
        task: Any = asyncio.current_task(asyncio.get_running_loop())
        self._in_grpc.add(task)
        task.add_done_callback(self._in_grpc.discard)
        return handlers.in_grpc

    def wrap(self, _path: str, handler: Any) -> Any:
        if handler.request_streaming:
            return handler
        loop = asyncio.get_running_loop()
        deserialize = handler.request_deserializer

        def read(data: bytes) -> Any:
            self._in_grpc.discard(asyncio.current_task(loop))
            return deserialize(data)

        kind = "unary_stream" if handler.response_streaming else "unary_unary"
        reading = {
            "request_streaming": True,
            kind: None,
            kind.replace("unary", "stream", 1): surrounded(getattr(handler, kind), self._received),
        }
        return _Handlers(handler._replace(request_deserializer=read), handler._replace(**reading))

    @asynccontextmanager
    async def _received(self, _requests: object, context: Context) -> AsyncGenerator[Any, None]:
        yield await self._message(context)

    async def _message(self, context: Context) -> Any:
        """Returns the message of a call. Raises AbortError if there is none."""
        if len(self._waiting) >= self._max_calls:
            self._end_oldest(Overloaded())
        loop = asyncio.get_running_loop()
        if not self._is_sweeping:
            self._is_sweeping = True
            loop.call_later(self._deadline_seconds / 4, self._sweep, loop)
        task: Any = asyncio.current_task(loop)
        self._waiting[task] = loop.time()
        try:
            message = await context.read()
        except asyncio.CancelledError:
            if task not in self._ended:
                raise
            task.uncancel()
            error = self._ended[task]
        else:
            if message is not EOF:
                return message
            error = undecodable_request()
        finally:
            self._waiting.pop(task, None)
            self._ended.pop(task, None)
        return await abort_unobserved(context, error)

    def _end_oldest(self, error: RosterError) -> None:
        task, _ = self._waiting.popitem(last=False)
        self._ended[task] = error
        self._unlogged += 1
        task.cancel()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ends the calls whose deadline has passed. One timer costs less than one for each call."""
        latest = loop.time() - self._deadline_seconds
        while self._waiting and next(iter(self._waiting.values())) <= latest:
            self._end_oldest(DeadlineExceeded())
        if self._unlogged:
            log.warning("%d calls ended that had sent no message", self._unlogged)
            self._unlogged = 0
        self._is_sweeping = bool(self._waiting)
        if self._is_sweeping:
            loop.call_later(self._deadline_seconds / 4, self._sweep, loop)
