"""Tests spans: one per HTTP request, rpc and transaction, in one trace across processes."""

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

from roster.v1 import tags_pb2
from rosterd.server.config import SettingError
from rosterd.server.observability.observability import create_tracing

from ..components import running, wait_until
from ..conftest import Account, new_account
from ..fronts import GrpcFront, HttpFront
from ..processes import Service, start

PARENT = "b7ad6b7169203331"


def traceparent(trace: str) -> str:
    return f"00-{trace}-{PARENT}-01"


class Collector:
    """Receives spans over OTLP/HTTP."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.service_names: set[str] = set()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:  # noqa: N805 - self is the collector
                data = handler.rfile.read(int(handler.headers["Content-Length"]))
                self._add(ExportTraceServiceRequest.FromString(data))
                handler.send_response(200)
                handler.end_headers()

            def log_message(handler, *_: Any) -> None:  # noqa: N805
                """Writes no log."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a process that sends its spans to the collector."""
        return {
            "ROSTER_TRACING": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.server.server_port}",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }

    def _add(self, request: ExportTraceServiceRequest) -> None:
        for resource_spans in request.resource_spans:
            for attribute in resource_spans.resource.attributes:
                if attribute.key == "service.name":
                    self.service_names.add(attribute.value.string_value)
            for scope in resource_spans.scope_spans:
                self.spans += scope.spans

    def path(self, trace: str) -> list[str]:
        """Returns the names of the nested spans of a trace, the outermost first."""
        children = {
            span.parent_span_id.hex(): span for span in self.spans if span.trace_id.hex() == trace
        }
        names, parent = [], PARENT
        while parent in children:
            span = children[parent]
            names.append(span.name)
            parent = span.span_id.hex()
        return names

    def wait_for(self, trace: str, *names: str) -> None:
        """Waits for a trace of these nested spans."""
        wait_until(lambda: self.path(trace) == [*names], f"{self.path(trace)} is not {names}")


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever)
    thread.start()
    yield collector
    collector.server.shutdown()
    thread.join()
    collector.server.server_close()


@pytest.fixture(scope="module")
def traced(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that sends its spans to the collector."""
    service = start(tmp_path_factory.mktemp("traced"), **collector.settings)
    yield service
    assert service.stop() == 0


@pytest.fixture
def traced_account(traced: Service) -> Account:
    return new_account(traced, HttpFront("http", traced.http))


def test_spans_of_request_rpc_and_transaction_are_nested(
    collector: Collector, traced_account: Account
) -> None:
    trace, front = "0af7651916cd43dd8448eb211c80319c", traced_account.front
    assert isinstance(front, HttpFront)
    path, headers = "/api/subscribers/missing@example.com", {"traceparent": traceparent(trace)}
    front.exchange("GET", path, traced_account.key, headers=headers)

    spans = ("GET /api/subscribers/{id}", "SubscriberService.GetSubscriber", "read")
    collector.wait_for(trace, *spans)
    assert collector.service_names == {"roster"}
    assert "missing" not in str(collector.spans)
    wait_until(
        lambda: f'"traceId":"{trace}"' in traced_account.service.log.read_text(), "no trace id"
    )


def test_grpc_call_continues_the_trace_of_its_client(
    collector: Collector, traced_account: Account
) -> None:
    trace, front = "c91308c112be8448dd34dc6191567fa0", GrpcFront(traced_account.service.grpc)
    metadata = [
        ("authorization", f"Bearer {traced_account.key}"),
        ("traceparent", traceparent(trace)),
    ]
    front.stub("ListTags")(tags_pb2.ListTagsRequest(), metadata=metadata)
    front.channel.close()

    collector.wait_for(trace, "TagService.ListTags", "read")


def test_trace_continues_from_a_gateway_to_its_server(
    collector: Collector, traced_account: Account, tmp_path: Path
) -> None:
    trace = "5a1b651916cd43dd8448eb211c8031aa"
    settings = {**collector.settings, "ROSTER_UPSTREAM": traced_account.service.grpc}
    with running("serve-http", tmp_path, **settings) as gateway:
        front = HttpFront("http", gateway.http)
        headers = {"traceparent": traceparent(trace)}
        front.exchange("GET", "/api/tags", traced_account.key, headers=headers)

    collector.wait_for(trace, "GET /api/tags", "TagService.ListTags", "read")


def test_tracing_without_opentelemetry_is_an_error_with_the_package_to_install() -> None:
    with patch.dict(sys.modules, {"opentelemetry": None}):
        sys.modules.pop("rosterd.server.observability.tracing", None)
        with pytest.raises(SettingError, match=r"pip install --editable '\.\[otel\]'"):
            create_tracing()
