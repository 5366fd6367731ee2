"""Spans, by OpenTelemetry: one a request over HTTP, one an rpc, one a transaction.

They are joined by `traceparent`, in headers and in metadata, so that a trace goes on from
a client through a gateway to a server elsewhere. Where they are sent, how many of them and
under which name, the environment variables of OpenTelemetry say. A span has the name of an
rpc and the template of a path; nothing that a client sent, and no text of an error.

OpenTelemetry is not installed unless it is asked for, and not imported unless it is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..config import SETTINGS, SettingError

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

PARENT, STATE = "traceparent", "tracestate"
Metadata = tuple[tuple[str, str], ...]


class Tracing:
    """Makes spans, and sends them somewhere. Raises SettingError without OpenTelemetry."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        try:
            from opentelemetry import context, trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import OTELResourceDetector, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as error:
            raise SettingError(
                f"{SETTINGS['tracing'].environment} takes OpenTelemetry, which is not installed:"
                " pip install 'roster[otel]'"
            ) from error
        own = Resource.create({"service.name": "roster", "service.version": version("roster")})
        resource = own.merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("roster", version("roster"))
        self._context, self._trace = context, trace
        self._propagator = TraceContextTextMapPropagator()

    def request(self, method: str, trace: Metadata) -> RequestSpan:
        """Begins the span of a request over HTTP, within the trace that came with it."""
        span = self._begin(method, self._context_of(trace), self._trace.SpanKind.SERVER)
        span.set_attribute("http.request.method", method)
        return RequestSpan(span, method, self._metadata(span))

    def rpc(self, name: str, metadata: Iterable[tuple[str, str | bytes]]) -> RpcSpan:
        """Begins the span of an rpc; the transactions of the call are within it."""
        trace = tuple(
            (key, value)
            for key, value in metadata
            if key in (PARENT, STATE) and isinstance(value, str)
        )
        span = self._begin(name, self._context_of(trace), self._trace.SpanKind.SERVER)
        span.set_attribute("rpc.system.name", "grpc")
        # Never taken back: what comes after this call in the same context has a span of its own.
        self._context.attach(self._trace.set_span_in_context(span))
        return RpcSpan(span)

    def transaction(self, kind: str, system: str) -> Span:
        """Begins the span of a transaction within the call that asks for it."""
        span = self._begin(kind, None, self._trace.SpanKind.CLIENT)
        span.set_attribute("db.system.name", system)
        return span

    async def close(self) -> None:
        """Sends what was not sent yet."""
        await asyncio.to_thread(self._provider.shutdown)

    def _begin(self, name: str, context: Context | None, kind: Any) -> Span:
        return self._tracer.start_span(name, context=context, kind=kind)

    def _context_of(self, trace: Metadata) -> Context:
        return self._propagator.extract(dict(trace), context=self._context.Context())

    def _metadata(self, span: Span) -> Metadata:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, context=self._trace.set_span_in_context(span))
        return tuple(carrier.items())


class RequestSpan:
    """The span of a request over HTTP; `metadata` names it to the services."""

    def __init__(self, span: Span, method: str, metadata: Metadata) -> None:
        self._span, self._method = span, method
        self.metadata = metadata
        self.trace_id = f"{span.get_span_context().trace_id:032x}"

    def set_route(self, template: str) -> None:
        """Names it after the template of its path."""
        self._span.update_name(f"{self._method} {template}")
        self._span.set_attribute("http.route", template)

    def end(self, status: int) -> None:
        """Ends it with the status of the answer."""
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            fail(self._span, str(status))
        self._span.end()


class RpcSpan:
    """The span of an rpc."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self.trace_id = f"{span.get_span_context().trace_id:032x}"

    def end(self, code: str, *, failed: bool) -> None:
        """Ends it with the status of the call; `failed` where the service is to blame."""
        self._span.set_attribute("rpc.response.status_code", code)
        if failed:
            fail(self._span, code)
        self._span.end()


def fail(span: Span, kind: str) -> None:
    """Marks a span as failed, in this way."""
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)
