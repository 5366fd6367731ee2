"""Watches what comes in over HTTP: counts it, has a line written, begins a span if there are any.

It does for a gateway what http_gateway.observability describes, and knows nothing of one.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from .request_record import RequestRecord, enter
from .request_stats import RequestStats

if TYPE_CHECKING:
    from .tracing import RequestSpan, Tracing

Metadata = tuple[tuple[str, str], ...]

# Whatever else a client calls a method stays out of the log.
_METHODS = {
    name: name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
}
OTHER = "OTHER"


class Request(RequestRecord):
    """One request until it is answered."""

    _span: RequestSpan | None = None

    def __init__(self, calls: RequestStats, method: str, request_id: str, trace: Metadata) -> None:
        super().__init__(request_id)
        self._calls = calls
        self.method = method
        # What the services are told of the trace that the request belongs to.
        self.trace = trace

    def traced_by(self, span: RequestSpan) -> None:
        """Notes the span of it."""
        self._span, self.trace, self.trace_id = span, span.metadata, span.trace_id

    def set_route(self, rpc: str, template: str) -> None:
        """Notes which rpc answers it, by its path, and by which template of a path it was found."""
        self.route = name_of(rpc)
        if self._span is not None:
            self._span.set_route(template)

    def set_page(self, path: str) -> None:
        """Notes that a page of the gateway answers it."""
        self.route = path
        if self._span is not None:
            self._span.set_route(path)

    def end(self, status: int, received: int, sent: int) -> None:
        """Notes its status, and the sizes of both bodies."""
        self.status, self.received, self.sent = status, received, sent
        self._calls.end(self)
        self._calls.count_request(self)
        if self._span is not None:
            self._span.end(status)


class Requests:
    """What a gateway tells of each request."""

    def __init__(self, calls: RequestStats, tracing: Tracing | None) -> None:
        self._calls = calls
        self._tracing = tracing

    def start(self, method: str, request_id: str, trace: Metadata) -> Request:
        """Notes that a request came, which belongs to this trace if to any."""
        request = Request(self._calls, _METHODS.get(method, OTHER), request_id, trace)
        enter(request)
        self._calls.requests_running += 1
        if self._tracing is not None:
            request.traced_by(self._tracing.request(request.method, trace))
        return request


@cache
def name_of(rpc: str) -> str:
    """Returns the path of an rpc as Service.Method."""
    service, _, method = rpc.rpartition("/")
    return f"{service.rpartition('.')[2]}.{method}"
