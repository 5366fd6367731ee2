"""Calls of the in-process channel: one that is answered once, and one that is answered by a stream.

A call runs in the task that awaits it or iterates over it. A stream is pulled: its
handler runs while the next message is asked for, and stands still between two. So
nothing piles up, and a client that goes away only has to cancel the call: a handler
that runs is cancelled with its task, one that stands still has its generator closed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator
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
    """What both kinds of calls have in common."""

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


class Call(BaseCall, aio.UnaryUnaryCall[Any, Any]):
    """A call that is answered once. Awaiting it runs it; gives the response or AioRpcError."""

    def __init__(
        self, method: Method, request: Any, metadata: Metadata, timeout: float | None
    ) -> None:
        super().__init__(method, request, metadata, timeout)
        self._response: Any = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._run().__await__()

    async def _run(self) -> Any:
        if self._outcome is None:
            self._response = await self._answer()
            self._finish(self._context.code() or StatusCode.OK)
        if self._outcome is StatusCode.CANCELLED:
            raise asyncio.CancelledError
        if self._outcome is not StatusCode.OK:
            raise self._error()
        return self._response

    async def _answer(self) -> Any:
        self._task = asyncio.current_task()
        behaviour = self._method.behaviour or await self._method.resolve()
        if behaviour is None:
            return self._is_unknown()
        try:
            return await behaviour(self._request, self._context)
        except asyncio.CancelledError:
            self._finish(StatusCode.CANCELLED)
            raise
        except Exception as error:  # noqa: BLE001 - the log gets it, the caller a status
            self._raised(error)
        return None


class StreamCall(BaseCall, aio.UnaryStreamCall[Any, Any]):
    """A call that is answered by a stream: an iterator of its messages.

    Ends by AioRpcError where the call fails.
    """

    def __init__(
        self, method: Method, request: Any, metadata: Metadata, timeout: float | None
    ) -> None:
        super().__init__(method, request, metadata, timeout)
        self._replies: AsyncGenerator[Any, None] | None = None
        self._closing: asyncio.Task[None] | None = None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._outcome is StatusCode.CANCELLED:
            raise asyncio.CancelledError
        if self._outcome is not None:
            raise StopAsyncIteration
        self._task = asyncio.current_task()
        try:
            return await self._next()
        except StopAsyncIteration:
            pass
        except asyncio.CancelledError:
            self._finish(StatusCode.CANCELLED)
            raise
        except Exception as error:  # noqa: BLE001 - the log gets it, the caller a status
            self._raised(error)
        finally:
            self._task = None
        self._finish(self._context.code() or StatusCode.OK)
        if self._outcome is not StatusCode.OK:
            raise self._error()
        raise StopAsyncIteration

    async def _next(self) -> Any:
        if self._replies is None:
            behaviour = self._method.behaviour or await self._method.resolve()
            if behaviour is None:
                self._is_unknown()
                raise StopAsyncIteration
            self._replies = behaviour(self._request, self._context)
        return await anext(self._replies)

    async def read(self) -> Any:
        return await anext(self, aio.EOF)

    def cancel(self) -> bool:
        stands_still = self._task is None
        cancelled = super().cancel()
        if cancelled and stands_still and self._replies is not None:
            self._closing = asyncio.ensure_future(self._close(self._replies))
        return cancelled

    async def _close(self, replies: AsyncGenerator[Any, None]) -> None:
        try:
            await replies.aclose()
        except Exception:
            log.exception("%s failed when it was cancelled", self._method.name)


async def handed_on(requests: AsyncIterable[Any]) -> AsyncIterator[Any]:
    """Yields a client's messages. Where its iterator fails, the call is cancelled, as by a socket.

    What went wrong with the client's messages is nothing that a server could tell it.
    """
    try:
        async for request in requests:
            yield request
    except Exception as error:
        log.debug("the iterator of requests failed", exc_info=error)
        raise asyncio.CancelledError from error
