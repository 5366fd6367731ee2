"""Adds google.rpc details to the errors of calls outside roster.v1.

Health and reflection come from libraries, and an unknown method has no handler. Their errors
also have google.rpc.ErrorInfo, and an unexpected exception is logged and not sent.
"""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
)
from contextlib import aclosing, contextmanager, nullcontext
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

# Streams of health and reflection, in total and of one address. They need no key and have no
# deadline.
MAX_STREAMS, MAX_STREAMS_OF_ADDRESS = 1_000, 250
_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class OtherPackages(ServerInterceptor):
    """Runs before InterceptorChain, which has no handler to wrap for an unknown method."""

    def __init__(self, max_streams: int = MAX_STREAMS) -> None:
        self._max_streams = max_streams
        self._streams: Counter[str] = Counter()
        # The handler of a method, and the one that replaces it.
        self._wrapped: dict[str, tuple[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(details)
        if handler is None:
            return _UNKNOWN
        if details.method.startswith(f"/{PACKAGE}"):
            return handler
        inner, wrapped = self._wrapped.get(details.method, (None, None))
        if inner != handler:
            wrapped = self._wrap(handler)
            self._wrapped[details.method] = (handler, wrapped)
        return wrapped

    def _wrap(self, handler: Any) -> Any:
        (kind,) = (kind for kind in _KINDS if getattr(handler, kind) is not None)
        behavior = getattr(handler, kind)
        run = self._run_stream if inspect.isasyncgenfunction(behavior) else self._run_coroutine
        return handler._replace(
            request_deserializer=tolerant(handler.request_deserializer),
            **{kind: partial(run, behavior, handler.response_streaming)},
        )

    async def _run_coroutine(
        self, behavior: Callable[..., Any], is_stream: bool, request: Any, context: Context
    ) -> Any:
        try:
            with self._counted(context) if is_stream else nullcontext():
                return await behavior(_checked(request), context)
        except Exception as error:  # noqa: BLE001 - logged, and sent as INTERNAL
            await _fail(context, error)

    async def _run_stream(
        self, behavior: Callable[..., Any], is_stream: bool, request: Any, context: Context
    ) -> AsyncGenerator[Any, None]:
        try:
            with self._counted(context) if is_stream else nullcontext():
                async with aclosing(behavior(_checked(request), context)) as replies:
                    async for reply in replies:
                        yield reply
        except Exception as error:  # noqa: BLE001 - logged, and sent as INTERNAL
            await _fail(context, error)

    @contextmanager
    def _counted(self, context: Context) -> Iterator[None]:
        address = context.peer().rpartition(":")[0]
        of_address = self._streams[address]
        if self._streams.total() >= self._max_streams or of_address >= MAX_STREAMS_OF_ADDRESS:
            raise Overloaded
        self._streams[address] += 1
        try:
            yield
        finally:
            self._streams[address] -= 1
            if not self._streams[address]:
                del self._streams[address]


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
