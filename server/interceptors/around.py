"""What interceptors have in common: they wrap every unary call of roster.v1.

grpc.aio asks interceptors for a handler, not for an answer. An Around hands over
a handler that runs `around` with the rest of the call as `proceed`. Health and
reflection belong to other packages and pass untouched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.message import Message
from grpc.aio import ServerInterceptor
from roster.v1 import http_pb2

from ..messages import Context

PACKAGE = "roster.v1."

Proceed = Callable[[Any, Context], Awaitable[Message]]


@dataclass(frozen=True, slots=True)
class Method:
    """What the protos say of an rpc: its name as Service.Method, and who may call it."""

    name: str
    scope: str
    needs_verified_email: bool


@cache
def method_of(path: str) -> Method:
    """Returns what is known of the rpc at a path such as /roster.v1.TagService/GetTag.

    Raises TypeError if its access is not declared: an rpc must not be open by oversight.
    """
    service, _, name = path[1:].partition("/")
    descriptor = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    access = descriptor.GetOptions().Extensions[http_pb2.access]
    if not access.scope:
        raise TypeError(f"{path} does not declare the scope that it needs")
    return Method(f"{service.removeprefix(PACKAGE)}.{name}", access.scope, access.verified_email)


class Around(ServerInterceptor):
    """The base of an interceptor that wraps calls.

    A handler is wrapped once, not once a call: what depends on the call is
    looked at in `around`.
    """

    def __init__(self) -> None:
        self._wrapped: dict[str, tuple[Any, Any]] = {}

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        """Answers the call, by way of `proceed(request, context)` or otherwise."""
        return await proceed(request, context)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(details)
        if handler is None or not details.method.startswith(f"/{PACKAGE}"):
            return handler
        inner, wrapped = self._wrapped.get(details.method, (None, None))
        if inner is not handler:
            wrapped = self._wrap(method_of(details.method), handler)
            self._wrapped[details.method] = (handler, wrapped)
        return wrapped

    def _wrap(self, method: Method, handler: Any) -> Any:
        if handler.unary_unary is None:
            raise TypeError(f"{method.name} streams, which no interceptor handles")
        return grpc.unary_unary_rpc_method_handler(
            partial(self.around, method, handler.unary_unary),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )
