"""Streams of messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeVar

Message = TypeVar("Message")
_END = object()


async def one_ahead(messages: AsyncIterator[Message]) -> AsyncGenerator[Message, None]:
    """Yields messages, and asks for the next one while the last one is being dealt with.

    Whoever is cancelled while waiting here is cancelled, whatever the asking does with
    it; and when this is closed, nothing that it asked for is still going on.
    """
    coming: asyncio.Future[Any] = asyncio.ensure_future(anext(messages, _END))
    try:
        while True:
            # Waited for and not awaited, which would hand a cancellation on to a write
            # that is past recall and returns as if nothing had been said.
            if not coming.done():
                await asyncio.wait([coming])
            message = coming.result()
            if message is _END:
                return
            coming = asyncio.ensure_future(anext(messages, _END))
            yield message
    finally:
        await _end(coming)


async def _end(coming: asyncio.Future[Any]) -> None:
    """Waits until a task has ended that nobody wants any more, however it ends.

    Also if whoever waits is cancelled meanwhile: what still runs could not be closed.
    """
    coming.cancel()
    cancelled = False
    while not coming.done():
        try:
            await asyncio.wait([coming])
        except asyncio.CancelledError:
            cancelled = True
    if not coming.cancelled():
        coming.exception()
    if cancelled:
        raise asyncio.CancelledError
