"""Gives calls outside roster.v1 the same kind of statuses as all others.

Health and reflection come from libraries, and an unknown method has no handler at all. The
status that such a call fails with carries google.rpc.ErrorInfo, too, and an unexpected
exception stays in the log.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import grpc
from grpc.aio import AbortError, ServerInterceptor

from ..errors import Internal, MethodNotImplemented, RosterError
from ..messages import Context
from .base import PACKAGE
from .observe import enter_request
from .translate import abort
from .validate import not_a_message, tolerant

log = logging.getLogger(__name__)

_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class OtherPackages(ServerInterceptor):
    """The outermost interceptor, since an unknown method has nothing that others could wrap."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(details)
        if handler is None:
            return _UNKNOWN
        return handler if details.method.startswith(f"/{PACKAGE}") else _guarded(handler)


def _guarded(handler: Any) -> Any:
    (kind,) = (kind for kind in _KINDS if getattr(handler, kind) is not None)
    behaviour = getattr(handler, kind)
    guard = _each if inspect.isasyncgenfunction(behaviour) else _once
    return handler._replace(
        request_deserializer=tolerant(handler.request_deserializer),
        **{kind: partial(guard, behaviour)},
    )


async def _once(behaviour: Callable[..., Any], request: Any, context: Context) -> Any:
    try:
        return await behaviour(_checked(request), context)
    except Exception as error:  # noqa: BLE001 - the log gets it, the caller a status
        await _fail(context, error)


async def _each(
    behaviour: Callable[..., Any], request: Any, context: Context
) -> AsyncGenerator[Any, None]:
    try:
        async for reply in behaviour(_checked(request), context):
            yield reply
    except Exception as error:  # noqa: BLE001 - the log gets it, the caller a status
        await _fail(context, error)


def _checked(request: Any) -> Any:
    """Returns a request, or an iterator of requests. Raises ValidationError for no message."""
    if isinstance(request, AsyncIterable):
        return _each_checked(request)
    if request is None:
        raise not_a_message()
    return request


async def _each_checked(requests: AsyncIterable[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield _checked(request)


async def _fail(context: Context, error: Exception) -> None:
    """Ends a call with the status of an error."""
    if isinstance(error, AbortError):
        raise error
    request_id = enter_request(context)
    if isinstance(error, NotImplementedError):
        error = MethodNotImplemented()
    elif not isinstance(error, RosterError):
        log.error(
            "a call of another package failed", exc_info=error, extra={"requestId": request_id}
        )
        error = Internal()
    await abort(context, error)


async def _unknown(requests: Any, context: Context) -> None:
    await _fail(context, MethodNotImplemented())


# Nothing says of an unknown method whether it streams. This kind takes either.
_UNKNOWN: Any = grpc.stream_stream_rpc_method_handler(_unknown)
