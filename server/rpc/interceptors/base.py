"""The base class of interceptors, the calls that they handle, and the declarations of rpcs."""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from functools import cache
from typing import Any

import grpc
from google.api import annotations_pb2
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from grpc import StatusCode
from grpc.aio import ServerInterceptor

from roster.v1 import http_pb2

from ..caller import Caller
from ..errors import RosterError
from ..messages import Context

PACKAGE = "roster.v1."
# A variable in the path template of a binding, such as {id}.
_VARIABLE = re.compile(r"\{([a-z_]+)")


@dataclass(frozen=True, slots=True)
class Method:
    """The declaration of an rpc in the protobuf files.

    `name` is Service.Method. An `is_public` rpc needs no API key. `path_fields` are the request
    fields in the HTTP path. `audited_action` is empty if the audit log does not record the rpc, and
    `audited_if` names the bool of a request without which a call is not recorded.
    `stored_response_type` is the response type of an rpc that takes an idempotency key, and None
    for other rpcs.
    """

    name: str
    scope: str
    is_public: bool
    needs_verified_email: bool
    client_streaming: bool
    server_streaming: bool
    path_fields: frozenset[str]
    takes_forms: bool
    audited_action: str
    audited_if: str
    stored_response_type: type[Message] | None


@cache
def method_of(path: str) -> Method:
    """Returns the declaration of the rpc at a path such as /roster.v1.TagService/GetTag.

    Raises TypeError if it declares neither a scope nor that it is public.
    """
    service, _, name = path[1:].partition("/")
    descriptor = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    access = descriptor.GetOptions().Extensions[http_pb2.access]
    audit = descriptor.GetOptions().Extensions[http_pb2.audit]
    if bool(access.scope) is access.public:
        raise TypeError(f"{path} must declare either a scope or that it is public")
    return Method(
        name=f"{service.removeprefix(PACKAGE)}.{name}",
        scope=access.scope,
        is_public=access.public,
        needs_verified_email=access.verified_email,
        client_streaming=descriptor.client_streaming,
        server_streaming=descriptor.server_streaming,
        path_fields=_path_fields(descriptor),
        audited_action=audit.action,
        audited_if=audit.only_if,
        takes_forms=descriptor.GetOptions().HasExtension(http_pb2.form),
        stored_response_type=_stored_response_type(descriptor),
    )


def _path_fields(method: MethodDescriptor) -> frozenset[str]:
    rule = method.GetOptions().Extensions[annotations_pb2.http]
    return frozenset(_VARIABLE.findall(getattr(rule, rule.WhichOneof("pattern"))))


def _stored_response_type(method: MethodDescriptor) -> type[Message] | None:
    options = method.GetOptions()
    if options.Extensions[http_pb2.access].public:
        return None  # Responses are stored per account.
    # An update can create the resource (AIP-134).
    creates = options.Extensions[annotations_pb2.http].post or "allow_missing" in (
        method.input_type.fields_by_name
    )
    is_idempotent = options.idempotency_level != options.IDEMPOTENCY_UNKNOWN
    if creates and not is_idempotent and not method.client_streaming:
        return message_factory.GetMessageClass(method.output_type)
    return None


class Steps:
    """Measures the time that a coroutine runs, without its waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def of(self, work: Awaitable[Any]) -> Awaitable[Any]:
        return _Measured(work, self)


class _Measured:
    """Runs a coroutine step by step."""

    def __init__(self, work: Awaitable[Any], steps: Steps) -> None:
        self._work, self._steps = work, steps

    def __await__(self) -> Generator[Any, Any, Any]:
        iterator: Any = self._work.__await__()
        step, argument = iterator.send, None
        while True:
            began = time.perf_counter()
            try:
                pending = step(argument)
            except StopIteration as ended:
                return ended.value
            finally:
                self._steps.seconds += time.perf_counter() - began
            try:
                step, argument = iterator.send, (yield pending)
            except BaseException as error:  # noqa: BLE001 - raised in the coroutine
                step, argument = iterator.throw, error


class Call:
    """A call, from its first interceptor to its end.

    `request` is a message, or an async iterator of messages if the client streams.
    """

    # Set by Observe; empty if it is unknown.
    client_address = ""
    # Set by Authenticate. Without a `rate_limit_key`, the limit of the account applies.
    caller: Caller | None = None
    account_id = ""
    rate_limit_key = ""
    # Set by FairShare if it measures the handler.
    steps: Steps | None = None
    was_cancelled = False
    _error: RosterError | None = None

    def __init__(
        self,
        method: Method,
        request: Any,
        context: Context,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.method = method
        self.request = request
        self.context = context
        # Converted once: grpc.aio builds the tuple each time it is read.
        self.metadata = context.invocation_metadata() or ()
        # Run with the call at its end, the last one first.
        self.done_callbacks: list[Callable[[Call], object]] = []
        # Without the loop, this is a system call in Python 3.11 (`get_by_id` in `make bench`).
        self._task = asyncio.current_task(loop)

    def cancel(self, error: RosterError) -> None:
        """Ends the call with an error.

        While a client reads a response of a stream, its task may be doing something else. Such
        a call ends when the client asks for the next response.
        """
        if self._error is None:
            self._error = error
            if self._task is not None:
                self._task.cancel()

    def resume(self) -> None:
        """Lets `cancel` cancel the current task. Raises the error if it was called before."""
        if self._error is not None:
            raise self._error
        self._task = asyncio.current_task()

    def suspend(self) -> None:
        """Protects the task from `cancel`, and takes back a cancellation by it."""
        if self._error is not None and self._task is not None:
            self._task.uncancel()
        self._task = None

    def cancellation_error(self) -> RosterError | None:
        """Returns the error of `cancel`, or None if the client has canceled the task."""
        is_only_cancellation = self._task is not None and self._task.cancelling() == 1
        return self._error if is_only_cancellation else None

    def finish(self) -> None:
        """Runs the callbacks."""
        self.suspend()
        for callback in reversed(self.done_callbacks):
            callback(self)

    def status(self) -> str:
        """Returns the name of the status code of a finished call."""
        code: Any = self.context.code()  # None or 0 if the handler has not set it
        if isinstance(code, StatusCode):
            return code.name
        return "CANCELLED" if self.was_cancelled else "OK"


class Interceptor:
    """One concern of a call that runs before its handler."""

    def applies_to(self, _method: Method) -> bool:
        """Whether calls of a method are intercepted."""
        return True

    def intercept(self, call: Call) -> Awaitable[None] | None:
        """Accepts the call, or raises an exception. May replace the request.

        Interceptors that do not wait are plain functions, because every call runs all of them.
        """
        raise NotImplementedError

    def wrap(self, handler: Any) -> Any:
        """Returns a method handler that reads or writes messages differently."""
        return handler


class HandlerInterceptor(ServerInterceptor):
    """Replaces the handlers of methods, each once, not once per call."""

    # The handler of unknown methods.
    unknown: Any = None

    def __init__(self) -> None:
        self._wrapped: dict[str, tuple[Any, Any]] = {}

    def wrap(self, path: str, handler: Any) -> Any:
        """Returns what replaces the handler of the method at a path."""
        raise NotImplementedError

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(details)
        if handler is None:
            return self.unknown
        inner, wrapped = self._wrapped.get(details.method, (None, None))
        if inner is not handler and inner != handler:
            wrapped = self.wrap(details.method, handler)
            self._wrapped[details.method] = (handler, wrapped)
        return wrapped


def surrounded(
    behavior: Callable[..., Any], around: Callable[[Any, Context], AbstractAsyncContextManager[Any]]
) -> Callable[..., Any]:
    """Returns a behavior that runs within `around`, which yields the request to pass on."""

    async def respond(request: Any, context: Context) -> Any:
        async with around(request, context) as accepted:
            return await behavior(accepted, context)

    async def stream(request: Any, context: Context) -> AsyncGenerator[Any, None]:
        async with (
            around(request, context) as accepted,
            aclosing(behavior(accepted, context)) as responses,
        ):
            async for response in responses:
                yield response

    return stream if inspect.isasyncgenfunction(behavior) else respond


def add_trailing_metadata(context: Context, *pairs: tuple[str, str | bytes]) -> None:
    """Appends to the trailing metadata of a call."""
    context.set_trailing_metadata((*(context.trailing_metadata() or ()), *pairs))
