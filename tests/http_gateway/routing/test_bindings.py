"""Valid and invalid google.api.http rules."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest import mock

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.http_parser import HttpRequestParser

from rosterd.http_gateway.app import Gateway
from rosterd.http_gateway.routing.bindings import InvalidBinding, bindings_of
from rosterd.http_gateway.routing.methods import METHODS
from rosterd.http_gateway.routing.routes import Routes

from ...cases import each
from .protos import library, library_with


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param('get: "/a/{place.shelf}/{place.row_number}"', id="nested fields"),
        pytest.param('get: "/a/{moment}"', id="timestamp"),
        pytest.param('get: "/a/{place.next.next.shelf=b/*}"', id="recursive message"),
        pytest.param(
            'get: "/a/{third.shelf}/{third.row_number}"', id="two fields of one oneof member"
        ),
        pytest.param('post: "/a" body: "more"', id="Struct as body"),
        pytest.param('post: "/a/{place.shelf}" body: "place"', id="field of the body in the path"),
        pytest.param('custom { kind: "REPORT" path: "/a" } body: "*"', id="custom method"),
        pytest.param('custom { kind: "*" path: "/a" } body: "*"', id="all methods"),
        pytest.param('get: "/a" response_body: "labels"', id="map as response body"),
    ],
)
def test_valid_rule_is_bound(rule: str) -> None:
    (binding,) = bindings_of(library_with(rule))

    assert binding.rpc == "/library.Other/Wrong"


@each(
    ("rule", "reason"),
    [
        ('body: "*"', "start with a slash"),
        ('get: "/a/{nothing}"', "no field 'nothing'"),
        ('get: "/a/{place.nothing}"', "no field 'place.nothing'"),
        ('get: "/a/{moment.seconds}"', "no field 'moment.seconds'"),
        ('get: "/a/{texts}"', "texts is or enters a repeated field"),
        ('get: "/a/{places.shelf}"', "places.shelf is or enters a repeated field"),
        ('get: "/a/{place}"', "place is a message that text cannot represent"),
        ('get: "/a/{text}/{text}"', "contains the variable text twice"),
        ('get: "/a/{one}/{other}"', "one and other are both bound"),
        ('post: "/a/{one}" body: "third"', "one and third are both bound"),
        ('get: "/a/{text=**}/b"', "allowed only as the last"),
        ('get: "/a" body: "*"', "GET has no body"),
        ('custom { kind: "" path: "/a" }', "'' is not a valid HTTP method"),
        ('custom { kind: "APPROVE" path: "/a" }', "'APPROVE' is not a valid HTTP method"),
        ('post: "/a" body: "nothing"', "no field 'nothing' that can be the body"),
        ('post: "/a" body: "place.shelf"', "no field 'place.shelf' that can be the body"),
        ('post: "/a/{text}" body: "text"', "the field 'text' is both the body and a variable"),
        ('get: "/a" response_body: "nothing"', "that can be the response body"),
        ('get: "/b" additional_bindings { get: "/a/{nothing}" }', "no field 'nothing'"),
    ],
)
def test_invalid_rule_fails_startup_with_rpc_path_and_reason(rule: str, reason: str) -> None:
    with pytest.raises(InvalidBinding) as caught:
        Routes([library_with(rule)])

    text = str(caught.value)
    assert text.startswith("library.Other.Wrong cannot be bound to ")
    assert '"/a' not in rule or "'/a" in text
    assert reason in text


def test_additional_bindings_cannot_be_nested() -> None:
    rule = 'get: "/a" additional_bindings { get: "/b" additional_bindings { get: "/c" } }'

    with pytest.raises(InvalidBinding, match=r"library\.Other\.Wrong has additional bindings"):
        Routes([library_with(rule)])


def parsed_methods(method: str) -> list[Any]:
    """Returns the method that aiohttp's parser reads from a request."""
    loop = mock.Mock(asyncio.AbstractEventLoop)
    parser = HttpRequestParser(BaseProtocol(loop), loop, 1024)
    messages, _, _ = parser.feed_data(f"{method} /a HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    return [message.method for message, _ in messages]


@each("method", sorted(METHODS))
def test_aiohttp_accepts_every_method_that_can_be_bound(method: str) -> None:
    assert parsed_methods(method) == [method]


@each("method", ["APPROVE", "PRI"])
def test_aiohttp_rejects_methods_that_cannot_be_bound(method: str) -> None:
    assert method not in METHODS
    with pytest.raises(BadHttpMessage):
        parsed_methods(method)


@each("path", ["/docs", "/openapi.json", "/healthz", "/readyz"])
@each("rule", ['get: "{path}"', 'get: "/**"'])
def test_binding_that_hides_a_gateway_page_fails_startup(path: str, rule: str) -> None:
    with pytest.raises(InvalidBinding, match=r"library\.Other\.Wrong .* takes /"):
        Gateway(mock.Mock(), [library_with(rule.format(path=path))])


@each("path", ["/{place.shelf=v1/files/**}", "/v1/files/**"])
def test_path_of_another_rpc_fails_startup_and_both_are_named(path: str) -> None:
    with pytest.raises(InvalidBinding) as caught:
        Routes([library(), library_with(f'get: "{path}"')])

    assert f"library.Other.Wrong (GET {path})" in str(caught.value)
    assert "library.Library.GetFile (GET /v1/files/{path=**})" in str(caught.value)
