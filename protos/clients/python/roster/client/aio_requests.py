"""Writes the requests of a stream so that the call ends with the status of the server.

If grpc.aio gets an iterator, it writes the requests itself. When the server ends the call early,
a write fails, and grpc.aio replaces the received status with INTERNAL (grpc/grpc#36066).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Iterable
from typing import Any

log = logging.getLogger(__name__)


def write(call: Any, requests: AsyncIterable[Any] | Iterable[Any]) -> None:
    """Starts to write requests to a call without an iterator; stops when the call ends.

    If `requests` raises, the call is cancelled.
    """
    writing = asyncio.ensure_future(_write(call, requests))
    # The callback runs when the status arrives, before a write can fail.
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
        # Has no effect if the end of the call cancelled this task.
        call.cancel()
        if not isinstance(error, Exception):
            raise
        log.debug("the request iterator of a stream failed", exc_info=error)
