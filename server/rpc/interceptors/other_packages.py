"""Adds google.rpc details to the errors of calls outside roster.v1.

Health and reflection come from libraries, and an unknown method has no handler. Their errors
also have google.rpc.ErrorInfo, and an unexpected exception is logged and not sent.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import Any, NoReturn

import grpc
from grpc.aio import AbortError

from ...values.counts import RunningCounts
from ..errors import Internal, MethodNotImplemented, Overloaded, RosterError
from ..messages import Context
from .base import PACKAGE, HandlerInterceptor, surrounded
from .error_status import abort, abort_unobserved
from .observe import enter_request
from .validate import tolerant, undecodable_request

log = logging.getLogger(__name__)

# Streams of health and reflection, in total and of one address. They need no key and have no
# deadline.
MAX_STREAMS, MAX_STREAMS_OF_ADDRESS = 1_000, 250
_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


async def _unknown(_requests: Any, context: Context) -> None:
    await abort_unobserved(context, MethodNotImplemented())


class OtherPackages(HandlerInterceptor):
    """Runs before InterceptorChain, which has no handler to wrap for an unknown method."""

    # Whether an unknown method streams is not known. This kind accepts both.
    unknown: Any = grpc.stream_stream_rpc_method_handler(_unknown)

    def __init__(self, max_streams: int = MAX_STREAMS) -> None:
        super().__init__()
        self._max_streams = max_streams
        self._streams: RunningCounts[str] = RunningCounts()

    def wrap(self, path: str, handler: Any) -> Any:
        if path.startswith(f"/{PACKAGE}"):
            return handler
        (kind,) = (kind for kind in _KINDS if getattr(handler, kind) is not None)
        behavior = getattr(handler, kind)
        around = partial(self._guarded, is_stream=handler.response_streaming)
        return handler._replace(
            request_deserializer=tolerant(handler.request_deserializer),
            **{kind: surrounded(behavior, around)},
        )

    @asynccontextmanager
    async def _guarded(
        self, request: Any, context: Context, *, is_stream: bool
    ) -> AsyncGenerator[Any, None]:
        try:
            with self._counted(context) if is_stream else nullcontext():
                yield _checked(request)
        except Exception as error:  # noqa: BLE001 - logged, and sent as INTERNAL
            await _fail(context, error)

    @contextmanager
    def _counted(self, context: Context) -> Iterator[None]:
        address = context.peer().rpartition(":")[0]
        of_address = self._streams[address]
        if self._streams.total() >= self._max_streams or of_address >= MAX_STREAMS_OF_ADDRESS:
            raise Overloaded
        with self._streams.one(address):
            yield


def _checked(request: Any) -> Any:
    """Returns a request, or an iterator of requests. Raises ValidationError for invalid bytes."""
    if isinstance(request, AsyncIterable):
        return _checked_stream(request)
    if request is None:
        raise undecodable_request()
    return request


async def _checked_stream(requests: AsyncIterable[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield _checked(request)


async def _fail(context: Context, error: Exception) -> NoReturn:
    """Ends a call with the status of an error. Always raises."""
    if isinstance(error, AbortError):
        raise error
    request_id = enter_request(context, context.invocation_metadata() or ())
    if isinstance(error, NotImplementedError):
        error = MethodNotImplemented()
    elif not isinstance(error, RosterError):
        log.error(
            "a call of another package failed", exc_info=error, extra={"requestId": request_id}
        )
        error = Internal()
    await abort(context, error)
