"""One log line a call, at the edge, and the request id that it is found by."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from google.protobuf.message import Message
from grpc import StatusCode

from .. import caller
from ..messages import Context
from .around import Around, Method, Proceed, ProceedStream
from .call_log import CallLog

REQUEST_ID = "x-request-id"
_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Observe(Around):
    """The outermost interceptor. Takes or makes the request id and logs the outcome.

    The line names the rpc, the account, the status and the time taken; never a
    key, a secret or anything of a subscriber.
    """

    def __init__(self, call_log: CallLog) -> None:
        super().__init__()
        self._log = call_log

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        request_id, started, outcome = _begin(context), time.perf_counter(), "OK"
        try:
            return await proceed(request, context)
        except asyncio.CancelledError:
            outcome = "CANCELLED"
            raise
        finally:
            self._note(method, context, request_id, started, outcome)

    async def around_stream(
        self, method: Method, proceed: ProceedStream, request: Any, context: Context
    ) -> AsyncGenerator[Message, None]:
        request_id, started, outcome = _begin(context), time.perf_counter(), "OK"
        try:
            async with aclosing(proceed(request, context)) as replies:
                async for reply in replies:
                    yield reply
        except (asyncio.CancelledError, GeneratorExit):
            outcome = "CANCELLED"
            raise
        finally:
            self._note(method, context, request_id, started, outcome)

    def _note(
        self, method: Method, context: Context, request_id: str, started: float, outcome: str
    ) -> None:
        if self._log.enabled:
            code = context.code()
            self._log.write(
                rpc=method.name,
                code=code.name if isinstance(code, StatusCode) else outcome,
                seconds=time.perf_counter() - started,
                account=caller.account_id_or_none(),
                request_id=request_id,
            )


def _begin(context: Context) -> str:
    """Takes or makes the request id, and tells both the rest of the call and the client."""
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
