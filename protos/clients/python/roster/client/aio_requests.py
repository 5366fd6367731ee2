"""The requests of a stream, written so that its call ends with the status of the server.

Where grpc.aio is given an iterator, it writes what comes of it itself, and takes a write that
fails because the server has ended the call for a fault of its own: it puts INTERNAL in the
place of the status that has come (grpc/grpc#36066).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Iterable
from typing import Any

log = logging.getLogger(__name__)


def write(call: Any, requests: AsyncIterable[Any] | Iterable[Any]) -> None:
    """Begins to write requests to a call that was given no iterator; ends with the call.

    Where `requests` fails, the call is cancelled.
    """
    writing = asyncio.ensure_future(_write(call, requests))
    # This comes with the status, and so before a write can tell that it failed.
    call.add_done_callback(lambda _: writing.cancel())


async def _write(call: Any, requests: AsyncIterable[Any] | Iterable[Any]) -> None:
    try:
        if isinstance(requests, AsyncIterable):
            async for request in requests:
                await call.write(request)
        else:
            for request in requests:
                await call.write(request)
        await call.done_writing()
    except BaseException as error:
        # Nothing happens where it is the call that ended, and so ended this.
        call.cancel()
        if not isinstance(error, Exception):
            raise
        log.debug("the requests of a stream broke off", exc_info=error)
