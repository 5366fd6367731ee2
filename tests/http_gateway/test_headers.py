"""Conversion between HTTP headers and gRPC metadata, over both channels."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any
from unittest import mock

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request
from grpc import StatusCode
from multidict import CIMultiDict

from roster.v1 import errors_pb2, tags_pb2_grpc
from roster.v1 import tags_pb2 as pb
from rosterd.http_gateway.app import Gateway
from rosterd.http_gateway.headers import MAX_FORWARDED_FOR, request_metadata, response_headers
from rosterd.http_gateway.responses import Response
from rosterd.server.rpc.errors import REQUEST_ERROR_METADATA
from rosterd.server.serving.gateway_policy import POLICY

from .serving import OPTIONS, Register, channel_to

OWN = {"X-Request-Id": "abc"}
LIMIT = (("ratelimit", '"default";r=1;t=1'), ("ratelimit-policy", '"default";q=2;w=1'))
LIMIT_HEADERS = {"RateLimit": '"default";r=1;t=1', "RateLimit-Policy": '"default";q=2;w=1'}


class Tags(tags_pb2_grpc.TagServiceServicer):
    """Sends trailing metadata, and records the metadata of its calls."""

    def __init__(self, trailing: Sequence[tuple[str, str | bytes]] = ()) -> None:
        self.trailing = tuple(trailing)
        self.received: list[tuple[str, str | bytes]] = []

    def note(self, context: Any) -> None:
        self.received = [(name, value) for name, value in context.invocation_metadata()]
        context.set_trailing_metadata(self.trailing)

    async def GetTag(self, request: Any, context: Any) -> Any:
        self.note(context)
        if request.id == "missing":
            await context.abort(StatusCode.NOT_FOUND, "gone")
        return pb.GetTagResponse()

    async def DeleteTag(self, _request: Any, context: Any) -> Any:
        self.note(context)
        return pb.DeleteTagResponse()

    async def CreateTag(self, _request: Any, context: Any) -> Any:
        self.note(context)
        if REQUEST_ERROR_METADATA in dict(self.received):
            await context.abort(StatusCode.UNAUTHENTICATED, "no")
        return pb.CreateTagResponse()


def served_by(tags: Tags) -> Register:
    return partial(tags_pb2_grpc.add_TagServiceServicer_to_server, tags)


each_channel = pytest.mark.parametrize("kind", ["real", "in-process"])


def send_request(
    kind: str, tags: Tags, method: str, path: str, *headers: tuple[str, str], body: bytes = b""
) -> Response:
    """Sends a request to a gateway in front of the servicer."""

    async def main() -> Any:
        async with channel_to(kind, served_by(tags)) as channel:
            gateway = Gateway(channel, [pb.DESCRIPTOR.services_by_name["TagService"]], OPTIONS)
            sent = CIMultiDict([("X-Request-Id", "abc"), *headers])
            request = make_mocked_request(method, path, headers=sent, payload=payload(body))
            with mock.patch.object(web.Request, "response_headers", {}, create=True):
                return await gateway.handle(request)

    return asyncio.run(main())


def payload(body: bytes) -> Any:
    """Returns a body as aiohttp's server provides it."""
    loop = asyncio.get_running_loop()
    stream = StreamReader(BaseProtocol(loop), 2**16, loop=loop)
    stream.feed_data(body)
    stream.feed_eof()
    return stream


@each_channel
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("DELETE", "/api/tags/x", 204), ("GET", "/api/tags/missing", 404)],
    ids=[
        "no content",
        "error",
    ],
)
def test_trailing_metadata_becomes_response_headers(
    kind: str, method: str, path: str, status: int
) -> None:
    more = (("retry-after", "7"), ("idempotency-replayed", "true"))

    response = send_request(kind, Tags((*LIMIT, *more)), method, path)

    assert response.status == status
    replayed = {"Retry-After": "7", "Idempotency-Replayed": "true"}
    assert response.headers == {**OWN, **LIMIT_HEADERS, **replayed}


PAGE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Language": "de",
    "Content-Security-Policy": "default-src 'none'; style-src 'sha256-AAAA='",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Language",
    "X-Robots-Tag": "noindex",
}


@pytest.mark.parametrize("path", ["/api/tags/x", "/api/tags/missing"])
def test_headers_of_pages_are_returned(path: str) -> None:
    tags = Tags([(name.lower(), value) for name, value in PAGE_HEADERS.items()])

    assert send_request("in-process", tags, "GET", path).headers == {**OWN, **PAGE_HEADERS}


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ([], []),
        (["de-CH, de;q=0.9, *;q=0.1"], ["de-CH, de;q=0.9, *;q=0.1"]),
        (["de", "en"], ["de,en"]),
        (["é"], []),
    ],
    ids=["none", "one", "two", "not ASCII"],
)
def test_accept_language_is_forwarded_if_it_is_printable(
    sent: list[str], received: list[str]
) -> None:
    tags = Tags()

    send_request(
        "in-process", tags, "GET", "/api/tags/x", *[("Accept-Language", text) for text in sent]
    )

    assert [value for name, value in tags.received if name == "accept-language"] == received


def test_response_to_an_invalid_body_has_the_headers_of_its_call() -> None:
    response = send_request("in-process", Tags(LIMIT), "POST", "/api/tags", body=b"{")

    assert response.status == 401
    assert response.headers == {**OWN, **LIMIT_HEADERS, "WWW-Authenticate": "Bearer"}


@each_channel
def test_other_metadata_is_not_returned(kind: str) -> None:
    metadata = (("x-other", "1"), ("set-cookie", "a=b"), ("ratelimit-bin", b"\0"), *LIMIT)

    assert send_request(kind, Tags(metadata), "GET", "/api/tags/x").headers == {
        **OWN,
        **LIMIT_HEADERS,
    }


@pytest.mark.parametrize("value", ["7\r\nSet-Cookie: a=b", "7\n", "é", b"7", "\x7f"])
def test_invalid_header_values_are_dropped(value: str | bytes) -> None:
    assert response_headers([("retry-after", value), *LIMIT], POLICY.headers) == LIMIT_HEADERS


# Headers that could identify the caller, or spoof metadata of the gateway or the server.
SPOOFED = [
    ("Cookie", "a=b"),
    ("X-Account-Id", "1"),
    ("Account", "1"),
    ("X-Forwarded-For", "10.0.0.1"),
    ("Forwarded", "for=10.0.0.1"),
    ("X-Forwarded-User", "admin"),
    ("X-Real-Ip", "10.0.0.1"),
    ("Grpc-Metadata-Authorization", "Bearer x"),
    ("Grpc-Timeout", "20S"),
    ("Grpc-Status", "0"),
    ("Grpc-Trace-Bin", "AA"),
    ("RateLimit", "1"),
    ("Authorization-Bin", "AA"),
    (REQUEST_ERROR_METADATA, "AA"),
    ("Tracestate", "a=1"),
    ("Traceparent", "spoofed"),
    ("Te", "trailers"),
]


@each_channel
def test_other_headers_are_not_forwarded(kind: str) -> None:
    tags = Tags()

    send_request(kind, tags, "GET", "/api/tags/x", *SPOOFED)

    assert [name for name, _ in tags.received if name != "user-agent"] == ["x-request-id"]


@pytest.mark.parametrize(
    ("sent", "forwarded"),
    [
        (["192.0.2.1", "192.0.2.2"], "192.0.2.1,192.0.2.2,127.0.0.1"),
        # The client chooses the beginning; proxies append to the end.
        (["x" * 2 * MAX_FORWARDED_FOR, "192.0.2.2"], f"{'x' * 502},192.0.2.2,127.0.0.1"),
        (["é"], "127.0.0.1"),
    ],
    ids=["two", "too long", "not ASCII"],
)
def test_end_of_forwarded_for_is_passed_on_with_the_peer(sent: list[str], forwarded: str) -> None:
    transport = mock.Mock(get_extra_info=lambda name, *_: {"peername": ("127.0.0.1", 1)}.get(name))
    headers = CIMultiDict([("X-Forwarded-For", hops) for hops in sent])
    request: Any = make_mocked_request("GET", "/", headers=headers, transport=transport)

    metadata = dict(request_metadata(request, "abc", (), ()))

    assert metadata["x-forwarded-for"] == forwarded


@each_channel
def test_trace_context_and_credentials_are_forwarded(kind: str) -> None:
    tags = Tags()
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    sent = [("X-Api-Key", "k"), ("Authorization", "Bearer t"), ("Idempotency-Key", "i")]

    send_request(
        kind, tags, "GET", "/api/tags/x", ("Traceparent", parent), ("Tracestate", "a=1"), *sent
    )

    forwarded = {name: value for name, value in tags.received if name != "user-agent"}
    assert forwarded == {
        "x-request-id": "abc",
        "authorization": "Bearer t",
        "x-api-key": "k",
        "idempotency-key": "i",
        "traceparent": parent,
        "tracestate": "a=1",
    }


def test_idempotency_key_that_is_not_ascii_is_reported_to_the_server() -> None:
    tags = Tags()

    send_request(
        "in-process", tags, "POST", "/api/tags", ("Idempotency-Key", "é"), body=b'{"name": "vip"}'
    )

    error = errors_pb2.Error.FromString(dict(tags.received)[REQUEST_ERROR_METADATA])
    assert error == errors_pb2.Error(
        reason="VALIDATION_ERROR",
        message="The request is not valid.",
        details=[
            {
                "field": "Idempotency-Key",
                "code": "INVALID_CHARACTER",
                "message": "must be printable ASCII",
            }
        ],
    )
