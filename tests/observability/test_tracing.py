"""Spans: one a request, one an rpc, one a transaction; joined over fronts and processes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from server.config import SettingError
from server.observability.tracing import Tracing

from ..conftest import new_account
from ..fronts import GrpcFront, HttpFront
from ..parts import running
from ..processes import start

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADER = {"traceparent": f"00-{TRACE}-{PARENT}-01"}


class Collector:
    """Takes spans as OpenTelemetry's protocol sends them, and keeps them."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.names: set[str] = set()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:  # noqa: N805 - self is the collector
                data = handler.rfile.read(int(handler.headers["Content-Length"]))
                self._take(ExportTraceServiceRequest.FromString(data))
                handler.send_response(200)
                handler.end_headers()

            def log_message(handler, *_: Any) -> None:  # noqa: N805
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def settings(self) -> dict[str, str]:
        """How a process is told to send its spans here."""
        return {
            "ROSTER_TRACING": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.server.server_port}",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        }

    def _take(self, request: ExportTraceServiceRequest) -> None:
        for told in request.resource_spans:
            for attribute in told.resource.attributes:
                if attribute.key == "service.name":
                    self.names.add(attribute.value.string_value)
            for scope in told.scope_spans:
                self.spans += scope.spans

    def chain(self, trace: str) -> list[str]:
        """Returns the names of a trace's spans, each within the one before, from the outermost."""
        within = {
            span.parent_span_id.hex(): span for span in self.spans if span.trace_id.hex() == trace
        }
        names, parent = [], PARENT
        while parent in within:
            span = within[parent]
            names.append(span.name)
            parent = span.span_id.hex()
        return names


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_a_request_its_rpc_and_its_transaction_are_one_trace(
    collector: Collector, tmp_path: Path
) -> None:
    service = start(tmp_path, **collector.settings)
    front, grpc = HttpFront("http", service.http), GrpcFront(service.grpc)
    account = new_account(service, front)
    front.exchange("GET", "/api/subscribers/nobody@example.com", account.key, headers=HEADER)
    front.exchange("POST", "/api/tags", account.key, body=b'{"name": "a"}')
    other = TRACE[::-1]
    metadata = [
        ("authorization", f"Bearer {account.key}"),
        ("traceparent", f"00-{other}-{PARENT}-01"),
    ]
    grpc.stub("ListTags")(_request("ListTags"), metadata=metadata)
    grpc.channel.close()
    assert service.stop() == 0

    assert collector.chain(TRACE) == [
        "GET /api/subscribers/{id}",
        "SubscriberService.GetSubscriber",
        "read",
    ]
    assert collector.chain(other) == ["TagService.ListTags", "read"]
    assert {span.name for span in collector.spans} >= {"POST /api/tags", "write"}
    assert collector.names == {"roster"}
    assert "nobody" not in str(collector.spans)
    assert f'"traceId":"{TRACE}"' in service.log.read_text()


def _request(rpc: str) -> Any:
    from google.protobuf import message_factory

    from ..fronts import METHODS

    return message_factory.GetMessageClass(METHODS[rpc].input_type)()


def test_a_trace_goes_on_from_a_gateway_to_a_server_elsewhere(
    collector: Collector, tmp_path: Path
) -> None:
    service = start(tmp_path, **collector.settings)
    settings = {**collector.settings, "ROSTER_UPSTREAM": service.grpc}
    with running("gateway", tmp_path, **settings) as gateway:
        front = HttpFront("http", gateway.http)
        account = new_account(service, front)
        front.exchange("GET", "/api/tags", account.key, headers=HEADER)
    assert service.stop() == 0

    assert collector.chain(TRACE) == ["GET /api/tags", "TagService.ListTags", "read"]


def test_without_opentelemetry_who_asks_for_spans_is_told_what_to_install() -> None:
    with (
        patch.dict(sys.modules, {"opentelemetry": None}),
        pytest.raises(SettingError, match=r"pip install 'roster\[otel\]'"),
    ):
        Tracing()
