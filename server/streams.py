"""Streams of messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeVar

Message = TypeVar("Message")
_END = object()


async def one_ahead(messages: AsyncIterator[Message]) -> AsyncIterator[Message]:
    """Yields messages, and asks for the next one while the last one is being dealt with."""
    coming: asyncio.Future[Any] = asyncio.ensure_future(anext(messages, _END))
    try:
        while (message := await coming) is not _END:
            coming = asyncio.ensure_future(anext(messages, _END))
            yield message
    finally:
        coming.cancel()
