"""Fields of messages that HTTP carries in headers, with the option `header`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from google.api.http_pb2 import HttpRule as Rule
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import ServiceDescriptor

from roster.v1 import http_pb2
from rosterd.http_gateway.openapi.document import document
from rosterd.http_gateway.routing.bindings import InvalidBinding, bindings_of
from rosterd.server.serving.gateway_policy import POLICY

from .client import ReceivedResponse
from .page_service import request
from .serving import OPTIONS, gateway_to, run
from .stream_service import add_known, file_of

ORIGIN = "https://www.example.com"
ALLOWED = replace(OPTIONS, cors_origins=frozenset({ORIGIN}))
PATCH = Rule(patch="/items/{id}", body="*")


def service_of(*, kind: str = "", reply: str = "Item", rule: Rule = PATCH) -> ServiceDescriptor:
    """Returns example.Service with UpdateItem, whose request reads If-Match and sends ETag."""
    fields = {"id": "", "name": ""}
    messages = {"Change": {**fields, "etag": kind}, "Item": {**fields, "etag": ""}}
    file = file_of({"UpdateItem": ("Change", reply, rule)}, messages, success_status=0)
    for message, header in zip(file.message_type, ("If-Match", "ETag"), strict=True):
        message.field[2].options.Extensions[http_pb2.header] = header
    file.service[0].method[0].options.Extensions[http_pb2.cross_origin] = not reply.startswith("*")
    pool = descriptor_pool.DescriptorPool()
    add_known(pool, http_pb2.DESCRIPTOR)
    pool.Add(file)
    return pool.FindServiceByName("example.Service")


def send(method: str, target: str, body: bytes = b"", **headers: str) -> ReceivedResponse:
    """Sends a request to a service that returns it as the item."""
    service = service_of()
    item = message_factory.GetMessageClass(service.methods_by_name["UpdateItem"].output_type)

    async def update(change: Any, _context: Any) -> Any:
        return item(id=change.id, name=change.name, etag=change.etag + change.name[1:])

    async def exchange() -> ReceivedResponse:
        async with gateway_to(
            "in-process", service=service, options=ALLOWED, UpdateItem=update
        ) as runner:
            return await request(runner, method, target, body, **headers)

    received: ReceivedResponse = run(exchange())
    return received


def test_header_becomes_the_field_and_the_field_of_the_response_a_header() -> None:
    received = send("PATCH", "/items/1", b'{"name": "a"}', If_Match='"x"', if_match="W/*")

    assert (received.status, received.headers["etag"]) == (200, '"x", W/*')
    assert json.loads(received.body) == {"id": "1", "name": "a"}


@pytest.mark.parametrize("body", [b"{}", rb'{"name": "a\r\nSet-Cookie: b"}'])
def test_value_that_is_empty_or_no_header_is_not_sent(body: bytes) -> None:
    received = send("PATCH", "/items/1", body)

    assert received.status == 200
    assert not received.headers.keys() & {"etag", "set-cookie"}


@pytest.mark.parametrize(
    ("target", "body", "field"),
    [
        ("/items/1", b'{"etag": "x"}', "etag"),
        ("/items/1?etag=x", b"{}", "etag"),
    ],
)
def test_field_in_a_header_is_in_neither_body_nor_query(
    target: str, body: bytes, field: str
) -> None:
    received = send("PATCH", target, body)

    (detail,) = json.loads(received.body)["error"]["details"]
    assert (received.status, detail["field"], detail["code"]) == (400, field, "UNKNOWN_FIELD")


def test_web_pages_of_allowed_origins_can_send_and_read_the_headers() -> None:
    preflight = send("OPTIONS", "/items/1", Origin=ORIGIN, Access_Control_Request_Method="PATCH")
    received = send("PATCH", "/items/1", b"{}", Origin=ORIGIN)

    assert "if-match" in preflight.headers["access-control-allow-headers"].split(", ")
    exposed = received.headers["access-control-expose-headers"]
    assert exposed == "X-Request-Id, Retry-After, ETag"


def test_openapi_describes_the_headers() -> None:
    described = document([service_of()], POLICY)
    operation = described["paths"]["/items/{id}"]["patch"]

    assert {"$ref": "#/components/parameters/IfMatch"} in operation["parameters"]
    assert described["components"]["parameters"]["IfMatch"]["in"] == "header"
    assert "ETag" in operation["responses"]["200"]["headers"]
    assert described["components"]["headers"]["ETag"]["schema"] == {"type": "string"}
    for schema in ("Change", "Item"):
        assert "etag" not in described["components"]["schemas"][schema]["properties"]


@pytest.mark.parametrize(
    "service",
    [service_of(kind="*"), service_of(kind="int32"), service_of(reply="*Item")],
    ids=["repeated", "number", "stream"],
)
def test_field_that_no_header_can_carry_stops_the_start(service: ServiceDescriptor) -> None:
    with pytest.raises(InvalidBinding, match="header"):
        list(bindings_of(service, POLICY.annotations))
