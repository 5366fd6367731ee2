"""Streams of messages, and the start of a response that is a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeVar

from .messages import Context

Message = TypeVar("Message")
_END = object()


async def accept(context: Context) -> None:
    """Sends the initial metadata of a streamed response; called once the request is valid.

    From here on the client has a status, which over HTTP is 200, and what fails later ends the
    stream. The metadata holds what the interceptors have noted for the end of the call, such as
    the request ID and the rate limit. It is never empty, by which a gateway tells the start of
    a response from one that consists of trailers only.
    """
    await context.send_initial_metadata(context.trailing_metadata() or ())


async def accept_with_first(
    context: Context, messages: AsyncIterator[Message]
) -> AsyncGenerator[Message, None]:
    """Yields messages, and accepts the call when the first of them is there."""
    accepted = False
    async for message in messages:
        if not accepted:
            accepted = True
            await accept(context)
        yield message


async def prefetch(messages: AsyncIterator[Message]) -> AsyncGenerator[Message, None]:
    """Yields messages, and asks for the next one while the last one is being dealt with.

    Whoever is cancelled while waiting here is cancelled, whatever the asking does with
    it; and when this is closed, nothing that it asked for is still going on.
    """
    pending: asyncio.Future[Any] = asyncio.ensure_future(anext(messages, _END))
    try:
        while True:
            # Waited for and not awaited, which would hand a cancellation on to a write
            # that is past recall and returns as if nothing had been said.
            if not pending.done():
                await asyncio.wait([pending])
            message = pending.result()
            if message is _END:
                return
            pending = asyncio.ensure_future(anext(messages, _END))
            yield message
    finally:
        await _end(pending)


async def _end(pending: asyncio.Future[Any]) -> None:
    """Waits until a task has ended that nobody wants any more, however it ends.

    Also if whoever waits is cancelled meanwhile: what still runs could not be closed.
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
