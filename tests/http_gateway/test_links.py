"""The Link header with the next page."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from google.api import annotations_pb2
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor, ServiceDescriptor
from grpc import unary_unary_rpc_method_handler
from hypothesis import given
from hypothesis import strategies as st

from roster.v1 import http_pb2
from rosterd.http_gateway.app import Gateway
from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.http_gateway.links import next_page
from rosterd.http_gateway.options import Options
from rosterd.http_gateway.responses import Response
from rosterd.http_gateway.routing.bindings import InvalidBinding
from rosterd.http_gateway.routing.routes import Routes
from rosterd.server.serving.gateway_policy import POLICY

F = FieldDescriptor


def service_of(
    *, token_field: str = "page_token", next_fields: tuple[str, ...] = ("next",)
) -> ServiceDescriptor:
    """Returns example.Service with a list method at /a/{id}.

    The request has the page token field `token_field`. The fields `next_fields` of the response are
    marked as the next page token.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name="links.proto", package="example", syntax="proto3"
    )
    request, reply = file.message_type.add(name="Request"), file.message_type.add(name="Reply")
    for number, name in enumerate(("id", "page", "q", token_field), start=1):
        request.field.add(name=name, number=number, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    for number, name in enumerate(next_fields, start=1):
        field = reply.field.add(
            name=name, number=number, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL
        )
        field.options.Extensions[http_pb2.next_link] = True
    method = file.service.add(name="Service").method.add(
        name="List", input_type=".example.Request", output_type=".example.Reply"
    )
    method.options.Extensions[annotations_pb2.http].get = "/a/{id}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool.FindServiceByName("example.Service")


def send_request(target: str, token: str, method: str = "GET") -> Response:
    """Requests a list whose next page has a token."""
    service = service_of()
    reply = message_factory.GetMessageClass(service.methods_by_name["List"].output_type)

    async def handle(_request: Any, _context: Any) -> Any:
        return reply(next=token)

    def register(server: Any) -> None:
        handler = unary_unary_rpc_method_handler(handle)
        server.add_registered_method_handlers("example.Service", {"List": handler})

    async def main() -> Any:
        gateway = Gateway(InProcessChannel(register, ()), [service], Options(policy=POLICY))
        with mock.patch.object(web.Request, "response_headers", {}, create=True):
            return await gateway.handle(make_mocked_request(method, target))

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("target", "link"),
    [
        ("/a/x", "/a/x?pageToken=t"),
        ("/a/x?page=2&q=y", "/a/x?q=y&pageToken=t"),
        ("/a/x?q=y&page_token=s", "/a/x?q=y&pageToken=t"),
        ("/a/x?p%61ge_token=s", "/a/x?pageToken=t"),
        ("/a/x?q=a%26page%3D2+b", "/a/x?q=a%26page%3D2+b&pageToken=t"),
        ("/a/%C3%A9%2F?q=", "/a/%C3%A9%2F?q=&pageToken=t"),
        ("http://evil.test/a/x?q=y", "/a/x?q=y&pageToken=t"),
    ],
)
def test_link_is_the_request_with_the_next_token(target: str, link: str) -> None:
    response = send_request(target, "t")

    assert response.status == 200, response.body
    assert response.headers["Link"] == f'<{link}>; rel="next"'


def test_last_page_has_no_link() -> None:
    assert "Link" not in send_request("/a/x", "").headers


# Invalid UTF-8 as decoded by aiohttp's parser in Python.
undecoded = st.integers(0xDC80, 0xDCFF).map(chr)
anything = st.text(st.characters(codec="utf-8", exclude_characters="?") | undecoded)


@given(anything, anything, st.text())
def test_link_is_always_one_header_value(path: str, query: str, token: str) -> None:
    link = next_page(path, query, token)

    assert re.fullmatch(r'<[!#-;=?-\[\]_a-z~]*>; rel="next"', link)
    target = link[1 : link.index(">")]
    assert parse_qsl(urlsplit(target).query, keep_blank_values=True)[-1] == ("pageToken", token)


@pytest.mark.parametrize(
    "service",
    [
        pytest.param({"token_field": "token"}, id="no request field"),
        pytest.param({"next_fields": ("next", "other")}, id="two response fields"),
    ],
)
def test_ambiguous_page_token_fields_fail_startup(service: dict[str, Any]) -> None:
    with pytest.raises(InvalidBinding, match=r"example\.Service\.List"):
        Routes([service_of(**service)], POLICY.annotations)
