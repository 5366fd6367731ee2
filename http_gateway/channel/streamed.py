"""Calls of the in-process channel with a stream of responses or requests.

The behavior of a streaming rpc runs while its next response is awaited, and is suspended
between two responses. Therefore nothing is buffered. Canceling a call cancels a running behavior
with its task, and closes the generator of a suspended one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import Any

from grpc import StatusCode, aio

from .calls import BaseCall, MultiCallable
from .context import Metadata

log = logging.getLogger(__name__)


class StreamCall(BaseCall, aio.UnaryStreamCall[Any, Any]):
    """A call with a stream of responses, over which it iterates. Raises AioRpcError if it fails."""

    def __init__(
        self, method: MultiCallable, request: Any, metadata: Metadata, timeout: float | None
    ) -> None:
        super().__init__(method, request, metadata, timeout)
        self._started = self._context.started = asyncio.Event()
        self._responses: AsyncGenerator[Any, None] | None = None
        self._closing: asyncio.Task[None] | None = None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._status is StatusCode.CANCELLED:
            raise asyncio.CancelledError
        if self._status is not None:
            raise StopAsyncIteration
        self._task = asyncio.current_task()
        try:
            return await self._next()
        except StopAsyncIteration:
            pass
        except asyncio.CancelledError:
            self._finish(StatusCode.CANCELLED)
            raise
        except Exception as error:  # noqa: BLE001 - logged; the caller receives a status
            self._set_failed(error)
        finally:
            self._task = None
        self._finish(self._context.code() or StatusCode.OK)
        if self._status is not StatusCode.OK:
            raise self._error()
        raise StopAsyncIteration

    async def _next(self) -> Any:
        if self._responses is None:
            behavior = self._method.behavior or await self._method.resolve()
            if behavior is None:
                self._set_unimplemented()
                raise StopAsyncIteration
            self._responses = behavior(self._request, self._context)
        response = await anext(self._responses)
        self._started.set()
        return response

    def _finish(self, status: StatusCode) -> None:
        super()._finish(status)
        self._started.set()

    async def initial_metadata(self) -> aio.Metadata:
        """Waits until the response has started, and returns its initial metadata.

        The behavior runs only while another task reads the call.
        """
        await self._started.wait()
        return await super().initial_metadata()

    async def read(self) -> Any:
        return await anext(self, aio.EOF)

    def cancel(self) -> bool:
        is_suspended = self._task is None
        was_cancelled = super().cancel()
        if was_cancelled and is_suspended and self._responses is not None:
            self._closing = asyncio.ensure_future(self._close(self._responses))
        return was_cancelled

    async def _close(self, responses: AsyncGenerator[Any, None]) -> None:
        try:
            await responses.aclose()
        except Exception:
            log.exception("%s failed when it was canceled", self._method.name)


async def forward_requests(requests: AsyncIterable[Any]) -> AsyncIterator[Any]:
    """Yields the requests of a client.

    If the client's iterator raises, the call is canceled, as over a network channel.
    """
    try:
        async for request in requests:
            yield request
    except Exception as error:
        log.debug("the iterator of requests failed", exc_info=error)
        raise asyncio.CancelledError from error
