"""A span for every rpc, within the trace that the call names; only where there are spans at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from google.protobuf.message import Message
from grpc import StatusCode

from ..messages import Context
from ..observability.request_record import current
from ..observability.tracing import RpcSpan, Tracing
from .base import Interceptor, Method, Proceed, ProceedStream

# What a server is to blame for, by OpenTelemetry's conventions.
_FAILURES = frozenset(
    {"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"}
)


class Trace(Interceptor):
    """Stands right after Observe, so that the line of a call can name its trace."""

    def __init__(self, tracing: Tracing) -> None:
        super().__init__()
        self._tracing = tracing

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        span, outcome = self._begin(method, context), "OK"
        try:
            return await proceed(request, context)
        except asyncio.CancelledError:
            outcome = "CANCELLED"
            raise
        finally:
            _end(span, context, outcome)

    async def around_stream(
        self, method: Method, proceed: ProceedStream, request: Any, context: Context
    ) -> AsyncGenerator[Message, None]:
        span, outcome = self._begin(method, context), "OK"
        try:
            async with aclosing(proceed(request, context)) as replies:
                async for reply in replies:
                    yield reply
        except (asyncio.CancelledError, GeneratorExit):
            outcome = "CANCELLED"
            raise
        finally:
            _end(span, context, outcome)

    def _begin(self, method: Method, context: Context) -> RpcSpan:
        span = self._tracing.rpc(method.name, context.invocation_metadata() or ())
        call = current()
        if call is not None:
            call.trace_id = span.trace_id
        return span


def _end(span: RpcSpan, context: Context, outcome: str) -> None:
    code = context.code()
    name = code.name if isinstance(code, StatusCode) else outcome
    span.end(name, failed=name in _FAILURES)
