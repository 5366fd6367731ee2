"""Tells a call that the server has cancelled from a task that was."""

from __future__ import annotations

import asyncio
from typing import Any

from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata


async def failure_of(cancelled: asyncio.CancelledError, call: Any) -> AioRpcError:
    """Returns the failure of a call that ended as CANCELLED and not because its task did.

    Reading a stream of grpc.aio raises CancelledError in both cases. Raises `cancelled` if it
    is the current task that is being cancelled.
    """
    task = asyncio.current_task()
    if task is None or task.cancelling():
        raise cancelled
    trailing, details = await call.trailing_metadata(), await call.details()
    return AioRpcError(StatusCode.CANCELLED, Metadata(), trailing, details)
