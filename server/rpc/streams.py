"""Starts streamed responses, and reads streams ahead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from .errors import Unavailable
from .messages import Context

Message = TypeVar("Message")
Watched = TypeVar("Watched")
# Seconds between two reads of what a stream watches.
WATCH_SECONDS = 0.5
_END = object()


class WatchMethods:
    """A part of services with streams that watch something until the service stops.

    The service sets the attribute.
    """

    _stopping: asyncio.Event

    def serve(self, *, serving: bool) -> None:
        """Allows watching, or ends all streams so that the service can stop."""
        if serving:
            self._stopping.clear()
        else:
            self._stopping.set()

    async def _watch(
        self,
        context: Context,
        found: Watched,
        read: Callable[[], Awaitable[Watched]],
        is_running: Callable[[Watched], bool],
    ) -> AsyncIterator[Watched]:
        """Accepts the call, and yields what was found and each change of it until it has ended."""
        await accept(context)
        yield found
        while is_running(found):
            await self._pause()
            before = found
            with suppress(Unavailable):
                found = await read()
            if found != before:
                yield found

    async def _pause(self) -> None:
        """Waits. Raises Unavailable when the service stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WATCH_SECONDS):
                await self._stopping.wait()
        if self._stopping.is_set():
            raise Unavailable


async def accept(context: Context, *headers: tuple[str, str]) -> None:
    """Sends the initial metadata of a streamed response; called once the request is valid.

    Over HTTP the client then has the status 200, and a later failure ends the stream. The
    metadata contains what the interceptors set for the trailers, such as the request ID and
    the rate limit. It is never empty: a gateway uses it to distinguish the start of a response
    from a trailers-only response. `headers` are added to it.
    """
    await context.send_initial_metadata((*(context.trailing_metadata() or ()), *headers))


async def accept_with_first(
    context: Context, messages: AsyncIterator[Message]
) -> AsyncGenerator[Message, None]:
    """Yields messages, and accepts the call when the first one is available or there is none."""
    accepted = False
    async for message in messages:
        if not accepted:
            accepted = True
            await accept(context)
        yield message
    if not accepted:
        await accept(context)


async def prefetch(messages: AsyncIterator[Message]) -> AsyncGenerator[Message, None]:
    """Yields messages, and reads the next one while the consumer processes the last one.

    A consumer that is canceled while it waits is always canceled, even if the read ignores
    the cancellation. Closing the generator waits for a pending read to end.
    """
    pending: asyncio.Future[Any] = asyncio.ensure_future(anext(messages, _END))
    try:
        while True:
            # wait(), because awaiting the task would forward a cancellation to it, and a
            # write that can no longer be canceled would swallow it.
            if not pending.done():
                await asyncio.wait([pending])
            message = pending.result()
            if message is _END:
                return
            pending = asyncio.ensure_future(anext(messages, _END))
            yield message
    finally:
        await end(pending)


async def end(pending: asyncio.Future[Any]) -> None:
    """Cancels a task and waits until it has ended, with any outcome.

    Keeps waiting if the caller is canceled meanwhile: a running generator cannot be closed.
    """
    pending.cancel()
    cancelled = False
    while not pending.done():
        try:
            await asyncio.wait([pending])
        except asyncio.CancelledError:
            cancelled = True
    if not pending.cancelled():
        pending.exception()
    if cancelled:
        raise asyncio.CancelledError
