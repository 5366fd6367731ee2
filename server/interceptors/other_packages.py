"""Adds google.rpc details to the errors of calls outside roster.v1.

Health and reflection come from libraries, and an unknown method has no handler. Their errors
also have google.rpc.ErrorInfo, and an unexpected exception is logged and not sent.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
)
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any

import grpc
from grpc.aio import AbortError, ServerInterceptor

from ..errors import Internal, MethodNotImplemented, Overloaded, RosterError
from ..messages import Context
from .base import PACKAGE
from .error_status import abort
from .observe import enter_request
from .validate import tolerant, undecodable_request

log = logging.getLogger(__name__)

# Streams of health and reflection. They need no key and have no deadline.
MAX_STREAMS = 1_000
_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class OtherPackages(ServerInterceptor):
    """Runs before InterceptorChain, which has no handler to wrap for an unknown method."""

    def __init__(self, max_streams: int = MAX_STREAMS) -> None:
        self._max_streams = max_streams
        self._streams = 0

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(details)
        if handler is None:
            return _UNKNOWN
        return handler if details.method.startswith(f"/{PACKAGE}") else self._wrap(handler)

    def _wrap(self, handler: Any) -> Any:
        (kind,) = (kind for kind in _KINDS if getattr(handler, kind) is not None)
        behavior = getattr(handler, kind)
        run = self._run_stream if inspect.isasyncgenfunction(behavior) else self._run_coroutine
        return handler._replace(
            request_deserializer=tolerant(handler.request_deserializer),
            **{kind: partial(run, behavior, int(handler.response_streaming))},
        )

    async def _run_coroutine(
        self, behavior: Callable[..., Any], streams: int, request: Any, context: Context
    ) -> Any:
        try:
            with self._counted(streams):
                return await behavior(_checked(request), context)
        except Exception as error:  # noqa: BLE001 - logged, and sent as INTERNAL
            await _fail(context, error)

    async def _run_stream(
        self, behavior: Callable[..., Any], streams: int, request: Any, context: Context
    ) -> AsyncGenerator[Any, None]:
        try:
            with self._counted(streams):
                async with aclosing(behavior(_checked(request), context)) as replies:
                    async for reply in replies:
                        yield reply
        except Exception as error:  # noqa: BLE001 - logged, and sent as INTERNAL
            await _fail(context, error)

    @contextmanager
    def _counted(self, streams: int) -> Iterator[None]:
        if self._streams + streams > self._max_streams:
            raise Overloaded
        self._streams += streams
        try:
            yield
        finally:
            self._streams -= streams


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


async def _fail(context: Context, error: Exception) -> None:
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


async def _unknown(_requests: Any, context: Context) -> None:
    await _fail(context, MethodNotImplemented())


# Whether an unknown method streams is not known. This kind accepts both.
_UNKNOWN: Any = grpc.stream_stream_rpc_method_handler(_unknown)
