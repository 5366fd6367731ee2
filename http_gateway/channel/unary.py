"""Calls of the in-process channel that are answered once."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from grpc import StatusCode, aio

from .calls import BaseCall, Method
from .context import Metadata


class Call(BaseCall, aio.UnaryUnaryCall[Any, Any]):
    """A call that is answered once. Awaiting it runs it; gives the response or AioRpcError."""

    def __init__(
        self, method: Method, request: Any, metadata: Metadata, timeout: float | None
    ) -> None:
        super().__init__(method, request, metadata, timeout)
        self._response: Any = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._run().__await__()

    async def _run(self) -> Any:
        if self._outcome is StatusCode.CANCELLED:
            raise asyncio.CancelledError
        if self._outcome is None:
            self._response = await self._run_handler()
            self._finish(self._context.code() or StatusCode.OK)
        if self._outcome is not StatusCode.OK:
            raise self._error()
        return self._response

    async def _run_handler(self) -> Any:
        self._task = asyncio.current_task()
        behaviour = self._method.behaviour or await self._method.resolve()
        if behaviour is None:
            return self._is_unknown()
        try:
            return await behaviour(self._request, self._context)
        except asyncio.CancelledError:
            self._finish(StatusCode.CANCELLED)
            raise
        except Exception as error:  # noqa: BLE001 - the log gets it, the caller a status
            self._raised(error)
        return None
