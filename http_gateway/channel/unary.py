"""Calls of the in-process channel with one response."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from grpc import StatusCode, aio

from .calls import BaseCall


class Call(BaseCall, aio.UnaryUnaryCall[Any, Any]):
    """A call with one response. Awaiting it runs it, and returns the response."""

    _response: Any = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._run().__await__()

    async def _run(self) -> Any:
        if self._status is StatusCode.CANCELLED:
            raise asyncio.CancelledError
        if self._status is None:
            # Without the loop, this is a system call in Python 3.11 (`get_by_id` in `make bench`).
            self._task = asyncio.current_task(self._method.loop)
            behavior = self._method.behavior or await self._method.resolve()
            try:
                if behavior is None:
                    self._set_unimplemented()
                else:
                    self._response = await behavior(self._request, self._context)
            except asyncio.CancelledError:
                self._finish(StatusCode.CANCELLED)
                raise
            except Exception as error:  # noqa: BLE001 - logged; the caller receives a status
                self._set_failed(error)
            self._finish(self._context.code() or StatusCode.OK)
        if self._status is not StatusCode.OK:
            raise self._error()
        return self._response
