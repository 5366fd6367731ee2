"""How many calls run at the same time: none before the service can serve. And how streams end.

Until it is opened it has room for no call: the ports listen while a database is still being
migrated, and whoever comes is told to come again.

Beyond so many calls each waits for all others, and none is answered the sooner: whoever
comes then is refused at once. Streams are counted apart, since each lives long, mostly
waits, and holds a part of its client's rows. When the service stops, calls are few
milliseconds from their end, and a stream may be an hour from its own: it is told that
it ends as soon as it says or asks for something, or at once where it waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from google.protobuf.message import Message

from ..errors import Overloaded, Unavailable
from ..messages import Context
from .base import Interceptor, Method, Proceed, ProceedStream

# Twice as many as the gateway lets in, so that there is room for callers of gRPC beside it.
MAX_CALLS = 1_024
MAX_STREAMS = 256


class Starting(Unavailable):
    """The service cannot serve its first call yet."""

    message = "The service is starting. Nothing was changed; try again later."
    retry_after = 1.0


class Stopping(Unavailable):
    """The service stops before the stream has come to its end; what was told of it stands."""

    message = "The service is stopping. What was told of this stream stands; send the rest again."


class ConcurrencyLimit(Interceptor):
    """Stands behind Translate. Raises Starting, and once it is open Overloaded where it is full."""

    def __init__(self) -> None:
        super().__init__()
        # How many there may be, and what whoever comes beyond that is told.
        self._most_calls = self._most_streams = 0
        self._refusal: type[Unavailable] = Starting
        self._calls = 0
        self._streams = 0
        self._ending = asyncio.Event()
        # Tasks that are at work for a stream now, rather than for whoever reads it.
        self._at_work: set[asyncio.Task[Any]] = set()

    def open(self) -> None:
        """Lets calls in from now on."""
        self._most_calls, self._most_streams = MAX_CALLS, MAX_STREAMS
        self._refusal = Overloaded

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        if self._calls >= self._most_calls:
            raise self._refusal
        self._calls += 1
        try:
            return await proceed(request, context)
        finally:
            self._calls -= 1

    async def around_stream(
        self, method: Method, proceed: ProceedStream, request: Any, context: Context
    ) -> AsyncGenerator[Message, None]:
        if self._streams >= self._most_streams:
            raise self._refusal
        self._streams += 1
        try:
            async with aclosing(proceed(request, context)) as replies:
                while (reply := await self._next(replies)) is not None:
                    yield reply
        finally:
            self._streams -= 1

    def end_streams(self) -> None:
        """Has all streams end as Unavailable, and those that come."""
        self._ending.set()
        for task in self._at_work:
            task.cancel()

    async def _next(self, replies: AsyncGenerator[Message, None]) -> Message | None:
        """Returns the next reply, or None after the last. Raises Stopping."""
        if self._ending.is_set():
            raise Stopping
        task = asyncio.current_task()
        assert task is not None
        self._at_work.add(task)
        try:
            return await anext(replies, None)
        except asyncio.CancelledError:
            if self._ending.is_set() and task.cancelling() == 1:
                raise Stopping from None
            raise
        finally:
            self._at_work.discard(task)
            if self._ending.is_set():
                task.uncancel()
