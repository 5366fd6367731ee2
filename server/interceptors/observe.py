"""What is noted of every call, and the request id that it is found by."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from google.protobuf.message import Message
from grpc import StatusCode

from .. import caller
from ..messages import Context
from ..observability.request_record import Call, current, enter
from ..observability.request_stats import RequestStats
from .base import Interceptor, Method, Proceed, ProceedStream

REQUEST_ID = "x-request-id"
_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Observe(Interceptor):
    """The outermost interceptor. Takes or makes the request id, counts the call and logs it.

    The line names the rpc, the account, the status, the time taken and the sizes of both
    sides; never a key, a secret or anything of a subscriber. A call that came over HTTP into
    this process is noted in the record of its request, and whoever began that writes the line.
    """

    def __init__(self, calls: RequestStats) -> None:
        super().__init__()
        self._calls = calls

    def _wrap(self, method: Method, handler: Any) -> Any:
        handler = handler._replace(
            request_deserializer=_received(handler.request_deserializer),
            response_serializer=_sent(handler.response_serializer),
        )
        return super()._wrap(method, handler)

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        call, started, outcome = self._begin(context), time.perf_counter(), "OK"
        try:
            return await proceed(request, context)
        except asyncio.CancelledError:
            outcome = "CANCELLED"
            raise
        finally:
            self._end(method, context, call, started, outcome)

    async def around_stream(
        self, method: Method, proceed: ProceedStream, request: Any, context: Context
    ) -> AsyncGenerator[Message, None]:
        call, started, outcome = self._begin(context), time.perf_counter(), "OK"
        try:
            async with aclosing(proceed(request, context)) as replies:
                async for reply in replies:
                    # A client that leaves between two replies is noted before this ends.
                    call.account = call.account or caller.account_id_or_none()
                    yield reply
        except (asyncio.CancelledError, GeneratorExit):
            outcome = "CANCELLED"
            raise
        finally:
            self._end(method, context, call, started, outcome)

    def _begin(self, context: Context) -> Call:
        """Takes or makes the request id, and tells both the rest of the call and the client."""
        self._calls.rpcs_running += 1
        call = current() or _new_call()
        call.request_id = enter_request(context)
        return call

    def _end(
        self, method: Method, context: Context, call: Call, started: float, outcome: str
    ) -> None:
        code = context.code()
        call.code = code.name if isinstance(code, StatusCode) else outcome
        call.account = caller.account_id_or_none()
        self._calls.count_rpc(method.name, call.code, time.perf_counter() - started)
        if not call.method:
            call.route = method.name
            self._calls.end(call)


def _new_call() -> Call:
    call = Call()
    enter(call)
    return call


def _received(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Notes the size of what a socket brings, which may be the first that is heard of a call."""

    def read(data: bytes) -> Any:
        call = current() or _new_call()
        call.received += len(data)
        return deserialize(data)

    return read


def _sent(serialize: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Notes the size of what goes to a socket; of an answer, after `around` is done with it."""

    def write(message: Any) -> bytes:
        data = serialize(message)
        call = current()
        if call is not None:
            call.sent += len(data)
        return data

    return write


def enter_request(context: Context) -> str:
    """Takes or makes the request id of a call, and returns it to the client."""
    request_id = accepted(context) or secrets.token_hex(16)
    caller.enter_request(request_id)
    context.set_trailing_metadata(((REQUEST_ID, request_id),))
    return request_id


def accepted(context: Context) -> str | None:
    """Returns the request id that came with the call, if it is one that may be echoed."""
    for name, value in context.invocation_metadata() or ():
        if name == REQUEST_ID and isinstance(value, str) and _ACCEPTED.fullmatch(value):
            return value
    return None
