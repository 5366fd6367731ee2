"""Counts, logs and traces HTTP requests.

Implements the interfaces of http_gateway.observability, without importing them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from .request_record import RequestRecord, enter
from .request_stats import RequestStats

if TYPE_CHECKING:
    from .tracing import RequestSpan, Tracing

Metadata = tuple[tuple[str, str], ...]

# Other methods are recorded as OTHER, because they are text from a client.
_METHODS = {
    name: name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
}
OTHER = "OTHER"


class HttpRequest(RequestRecord):
    """An HTTP request in progress. HttpRequests sets `stats` and `trace`."""

    stats: RequestStats
    # The trace context that is sent to the services.
    trace: Metadata
    _span: RequestSpan | None = None

    def set_span(self, span: RequestSpan) -> None:
        self._span, self.trace, self.trace_id = span, span.metadata, span.trace_id

    def set_route(self, rpc: str, template: str) -> None:
        self._set_route(name_of(rpc), template)

    def set_page(self, path: str) -> None:
        self._set_route(path, path)

    def _set_route(self, route: str, template: str) -> None:
        self.route = route
        if self._span is not None:
            self._span.set_route(template)

    def end(self, status: int, received: int, sent: int) -> None:
        self.status, self.received, self.sent = status, received, sent
        self.stats.finish(self)
        self.stats.count_request(self)
        if self._span is not None:
            self._span.end(status)


class HttpRequests:
    """Observes the HTTP requests of a process."""

    def __init__(self, stats: RequestStats, tracing: Tracing | None) -> None:
        self._stats = stats
        self._tracing = tracing

    def start(self, method: str, request_id: str, peer: str, trace: Metadata) -> HttpRequest:
        request = HttpRequest(request_id)
        request.method = _METHODS.get(method, OTHER)
        request.stats, request.trace = self._stats, trace
        request.client_address = peer
        enter(request)
        self._stats.requests_running += 1
        if self._tracing is not None:
            request.set_span(self._tracing.request(request.method, trace))
        return request


@cache
def name_of(rpc: str) -> str:
    """Returns Service.Method for the path of an rpc."""
    service, _, method = rpc.rpartition("/")
    return f"{service.rpartition('.')[2]}.{method}"
