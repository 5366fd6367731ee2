"""What interceptors have in common: they wrap every call of roster.v1.

grpc.aio asks interceptors for a handler, not for an answer. An Around hands over
a handler that runs `around` with the rest of the call as `proceed`, or, where the
answer is a stream, `around_stream`. Health and reflection belong to other packages
and pass untouched; `other_packages` is for them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import grpc
from google.api import annotations_pb2
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from grpc.aio import ServerInterceptor
from roster.v1 import http_pb2

from ..messages import Context

PACKAGE = "roster.v1."
# A variable in the path template of a binding, such as {id}.
_VARIABLE = re.compile(r"\{([a-z_]+)")

Proceed = Callable[[Any, Context], Awaitable[Message]]
# `request` is a message, or an async iterator of messages where the client streams.
ProceedStream = Callable[[Any, Context], AsyncGenerator[Message, None]]


@dataclass(frozen=True, slots=True)
class Method:
    """What the protos say of an rpc: its name as Service.Method, and who may call it.

    `path_fields` are the names of the request's fields that HTTP has in the path.
    `has_stored_response` is the type of the answers that are kept for idempotency keys, None
    for an rpc that takes no such key.
    """

    name: str
    scope: str
    needs_verified_email: bool
    path_fields: frozenset[str]
    has_stored_response: type[Message] | None


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
    return Method(
        name=f"{service.removeprefix(PACKAGE)}.{name}",
        scope=access.scope,
        needs_verified_email=access.verified_email,
        path_fields=_path_fields(descriptor),
        has_stored_response=_has_stored_response(descriptor),
    )


def _path_fields(method: MethodDescriptor) -> frozenset[str]:
    rule = method.GetOptions().Extensions[annotations_pb2.http]
    return frozenset(_VARIABLE.findall(getattr(rule, rule.WhichOneof("pattern"))))


def _has_stored_response(method: MethodDescriptor) -> type[Message] | None:
    """Returns the type of the answer of an rpc that has an effect and is a POST over HTTP.

    A stream takes no key: an import says itself how it is sent again.
    """
    options = method.GetOptions()
    is_post = bool(options.Extensions[annotations_pb2.http].post)
    if (
        not is_post
        or method.client_streaming
        or options.idempotency_level == options.NO_SIDE_EFFECTS
    ):
        return None
    return message_factory.GetMessageClass(method.output_type)


def add_trailing_metadata(context: Context, *pairs: tuple[str, str | bytes]) -> None:
    """Says more at the end of the call, beside what others have said."""
    context.set_trailing_metadata((*(context.trailing_metadata() or ()), *pairs))


class Interceptor(ServerInterceptor):
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

    async def around_stream(
        self, method: Method, proceed: ProceedStream, request: Any, context: Context
    ) -> AsyncGenerator[Message, None]:
        """Answers the call with a stream, by way of `proceed(request, context)` or otherwise."""
        async with aclosing(proceed(request, context)) as replies:
            async for reply in replies:
                yield reply

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
        if handler.unary_unary is not None:
            return handler._replace(unary_unary=partial(self.around, method, handler.unary_unary))
        for kind in ("unary_stream", "stream_stream"):
            proceed = getattr(handler, kind)
            if proceed is not None:
                return handler._replace(**{kind: partial(self.around_stream, method, proceed)})
        raise TypeError(f"{method.name} answers a stream with one message, which nothing here does")
