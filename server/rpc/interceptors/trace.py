"""Records a span for each call, as part of the trace in its metadata."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...observability.request_record import current
from .base import Call, Interceptor

if TYPE_CHECKING:
    from ...observability.tracing import RpcSpan, Tracing

# Statuses that are errors of a server in OpenTelemetry's semantic conventions.
_SERVER_ERRORS = frozenset(
    {"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"}
)


class Trace(Interceptor):
    """Runs after Observe, so that the log line has the trace ID."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def intercept(self, call: Call) -> None:
        span = self._tracing.rpc(call.method.name, call.metadata)
        record = current()
        if record is not None:
            record.trace_id = span.trace_id
        call.done_callbacks.append(partial(_end, span))


def _end(span: RpcSpan, call: Call) -> None:
    status = call.status()
    span.end(status, failed=status in _SERVER_ERRORS)
