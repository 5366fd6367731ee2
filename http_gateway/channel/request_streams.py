"""Client-streaming calls over a network channel.

If grpc.aio gets an iterator, it writes the requests itself. When the server ends the call early, a
write fails, and grpc.aio replaces the received status with INTERNAL (grpc/grpc#36066).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Callable
from typing import Any

log = logging.getLogger(__name__)


def writing_requests(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a multi-callable that writes the requests of its calls itself.

    Such calls end with the status of the server even if requests are left to write.
    """

    def call(requests: AsyncIterable[Any], **options: Any) -> Any:
        started = method(None, **options)
        writing = asyncio.ensure_future(_write(started, requests))
        # The callback runs when the status arrives, before a write can fail.
        started.add_done_callback(lambda _: writing.cancel())
        return started

    return call


async def _write(call: Any, requests: AsyncIterable[Any]) -> None:
    """Writes the requests. If the iterator raises, the call is canceled."""
    try:
        async for request in requests:
            await call.write(request)
        await call.done_writing()
    except BaseException as error:
        # Has no effect if the end of the call canceled this task.
        call.cancel()
        if not isinstance(error, Exception):
            raise
        log.debug("the iterator of requests failed", exc_info=error)
