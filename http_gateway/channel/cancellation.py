"""Distinguishes a call that the server canceled from a canceled task."""

from __future__ import annotations

import asyncio
from typing import Any

from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata


async def cancellation_error(call: Any) -> AioRpcError | None:
    """Returns the error of a call that ended as CANCELLED.

    Reading a stream of grpc.aio raises CancelledError for such a call, too. Returns None if the
    current task is being canceled. The caller then raises the exception again: a function that
    has it as an argument would be part of its traceback, which keeps what the call has read in
    memory until the next collection of garbage.
    """
    task = asyncio.current_task()
    if task is None or task.cancelling():
        return None
    trailing, details = await call.trailing_metadata(), await call.details()
    return AioRpcError(StatusCode.CANCELLED, Metadata(), trailing, details)
