"""Calls of the in-process channel that are answered by a stream, or whose client streams.

A stream is pulled: its handler runs while the next message is asked for, and stands
still between two. So nothing piles up, and a client that goes away only has to cancel
the call: a handler that runs is cancelled with its task, one that stands still has its
generator closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import Any

from grpc import StatusCode, aio

from .calls import BaseCall, Method
from .context import Metadata

log = logging.getLogger(__name__)


class StreamCall(BaseCall, aio.UnaryStreamCall[Any, Any]):
    """A call that is answered by a stream: an iterator of its messages.

    Ends by AioRpcError where the call fails.
    """

    def __init__(
        self, method: Method, request: Any, metadata: Metadata, timeout: float | None
    ) -> None:
        super().__init__(method, request, metadata, timeout)
        self._begun = self._context.begun = asyncio.Event()
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
        reply = await anext(self._replies)
        self._begun.set()
        return reply

    def _finish(self, outcome: StatusCode) -> None:
        super()._finish(outcome)
        self._begun.set()

    async def initial_metadata(self) -> aio.Metadata:
        """Returns what the handler sends before its first message; empty if it sends nothing.

        Waits for it. The handler only runs while another task reads the call.
        """
        await self._begun.wait()
        return await super().initial_metadata()

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


async def forward_requests(requests: AsyncIterable[Any]) -> AsyncIterator[Any]:
    """Yields a client's messages. Where its iterator fails, the call is cancelled, as by a socket.

    What went wrong with the client's messages is nothing that a server could tell it.
    """
    try:
        async for request in requests:
            yield request
    except Exception as error:
        log.debug("the iterator of requests failed", exc_info=error)
        raise asyncio.CancelledError from error
