"""Records OpenTelemetry spans: one per HTTP request, rpc and transaction.

`traceparent` in headers and metadata connects them, so that a trace continues from a client
through a gateway to a server. The environment variables of OpenTelemetry configure the exporter,
sampling and service name. Span names are rpcs and path templates. Spans contain no client input
and no error messages.

OpenTelemetry is an optional dependency, so this module is imported only if tracing is on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from importlib.metadata import version

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

PARENT, STATE = "traceparent", "tracestate"
Metadata = tuple[tuple[str, str], ...]


class Tracing:
    """Creates and exports spans."""

    def __init__(self) -> None:
        default = Resource.create({"service.name": "roster", "service.version": version("roster")})
        resource = default.merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("roster", version("roster"))
        self._propagator = TraceContextTextMapPropagator()

    def request(self, method: str, parent: Metadata) -> RequestSpan:
        """Starts the span of an HTTP request, as part of its trace."""
        span = self._start(method, self._context_of(parent), SpanKind.SERVER)
        span.set_attribute("http.request.method", method)
        return RequestSpan(span, method, self._metadata(span))

    def rpc(self, name: str, metadata: Iterable[tuple[str, str | bytes]]) -> RpcSpan:
        """Starts the span of an rpc, which is the parent of the transactions of the call."""
        parent = tuple(
            (key, value)
            for key, value in metadata
            if key in (PARENT, STATE) and isinstance(value, str)
        )
        span = self._start(name, self._context_of(parent), SpanKind.SERVER)
        span.set_attribute("rpc.system.name", "grpc")
        # Never detached: the next call in the same context attaches its own span.
        context.attach(trace.set_span_in_context(span))
        return RpcSpan(span)

    def transaction(self, kind: str, system: str) -> Span:
        """Starts the span of a transaction, as part of the current call."""
        span = self._start(kind, None, SpanKind.CLIENT)
        span.set_attribute("db.system.name", system)
        return span

    @staticmethod
    def fail(span: Span, error_type: str) -> None:
        """Marks a span as failed."""
        span.set_attribute("error.type", error_type)
        span.set_status(StatusCode.ERROR)

    async def close(self) -> None:
        """Sends the remaining spans."""
        await asyncio.to_thread(self._provider.shutdown)

    def _start(self, name: str, parent: Context | None, kind: SpanKind) -> Span:
        return self._tracer.start_span(name, context=parent, kind=kind)

    def _context_of(self, parent: Metadata) -> Context:
        return self._propagator.extract(dict(parent), context=Context())

    def _metadata(self, span: Span) -> Metadata:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, context=trace.set_span_in_context(span))
        return tuple(carrier.items())


class RequestSpan:
    """The span of an HTTP request; `metadata` is its trace context for the services."""

    def __init__(self, span: Span, method: str, metadata: Metadata) -> None:
        self._span, self._method = span, method
        self.metadata = metadata
        self.trace_id = f"{span.get_span_context().trace_id:032x}"

    def set_route(self, template: str) -> None:
        self._span.update_name(f"{self._method} {template}")
        self._span.set_attribute("http.route", template)

    def end(self, status: int) -> None:
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            Tracing.fail(self._span, str(status))
        self._span.end()


class RpcSpan:
    def __init__(self, span: Span) -> None:
        self._span = span
        self.trace_id = f"{span.get_span_context().trace_id:032x}"

    def end(self, code: str, *, failed: bool) -> None:
        self._span.set_attribute("rpc.response.status_code", code)
        if failed:
            Tracing.fail(self._span, code)
        self._span.end()
