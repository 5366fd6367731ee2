"""Distinguishes a call that the server canceled from a canceled task."""

from __future__ import annotations

import asyncio
from typing import Any

from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata


async def cancellation_error(cancelled: asyncio.CancelledError, call: Any) -> AioRpcError:
    """Returns the error of a call that ended as CANCELLED.

    Reading a stream of grpc.aio raises CancelledError for such a call, too. Raises `cancelled`
    if the current task is being canceled.
    """
    task = asyncio.current_task()
    if task is None or task.cancelling():
        raise cancelled
    trailing, details = await call.trailing_metadata(), await call.details()
    return AioRpcError(StatusCode.CANCELLED, Metadata(), trailing, details)
