"""Which rules are bindings, and what is said of those that are none."""

from __future__ import annotations

import asyncio
from http import HTTPMethod
from typing import Any
from unittest import mock

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.http_parser import HttpRequestParser

from http_gateway.app import Gateway
from http_gateway.routing.bindings import InvalidBinding, bindings_of
from http_gateway.routing.methods import METHODS
from http_gateway.routing.routes import Routes

from .protos import library, library_with


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param('get: "/a/{place.shelf}/{place.row_number}"', id="fields within"),
        pytest.param('get: "/a/{moment}"', id="a timestamp"),
        pytest.param('get: "/a/{place.next.next.shelf=b/*}"', id="a message within itself"),
        pytest.param('get: "/a/{third.shelf}/{third.row_number}"', id="two of one in a oneof"),
        pytest.param('post: "/a" body: "places"', id="a body of messages"),
        pytest.param('post: "/a" body: "more"', id="a body of any JSON"),
        pytest.param('post: "/a/{place.shelf}" body: "place"', id="a part of the body in the path"),
        pytest.param('delete: "/a" body: "text"', id="DELETE with a body"),
        pytest.param('custom { kind: "REPORT" path: "/a" } body: "*"', id="a method of its own"),
        pytest.param('custom { kind: "*" path: "/a" } body: "*"', id="any method"),
        pytest.param('get: "/a" response_body: "labels"', id="a map as the answer"),
    ],
)
def test_a_rule_by_the_specification_is_a_binding(rule: str) -> None:
    (binding,) = bindings_of(library_with(rule))

    assert binding.rpc == "/library.Other/Wrong"


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ('body: "*"', "begin with a slash"),
        ('get: "/a/{nothing}"', "no field 'nothing'"),
        ('get: "/a/{place.nothing}"', "no field 'place.nothing'"),
        ('get: "/a/{text.shelf}"', "no field 'text.shelf'"),
        ('get: "/a/{place.rowNumber}"', "no field 'place.rowNumber'"),
        ('get: "/a/{moment.seconds}"', "no field 'moment.seconds'"),
        ('get: "/a/{texts}"', "texts leads to a repeated field"),
        ('get: "/a/{places.shelf}"', "places.shelf leads to a repeated field"),
        ('get: "/a/{labels}"', "labels leads to a repeated field or a map"),
        ('get: "/a/{place}"', "place is a message that no text"),
        ('get: "/a/{more}"', "more is a message that no text"),
        ('get: "/a/{text}/{text}"', "text stands in the path twice"),
        ('get: "/a/{one}/{other}"', "one and other are of one oneof"),
        ('get: "/a/{third.shelf}/{one}"', "third and one are of one oneof"),
        ('post: "/a/{one}" body: "third"', "one and third are of one oneof"),
        ('get: "/a/{text=**}/b"', "may only be the last"),
        ('get: "/a" body: "*"', "GET has no body"),
        ('get: "/a" body: "text"', "GET has no body"),
        ('custom { kind: "HEAD" path: "/a" } body: "*"', "HEAD has no body"),
        ('custom { kind: "TRACE" path: "/a" } body: "*"', "TRACE has no body"),
        ('custom { kind: "" path: "/a" }', "'' is not a valid HTTP method"),
        ('custom { kind: "get" path: "/a" }', "'get' is not a valid HTTP method"),
        ('custom { kind: "CONNECT" path: "/a" }', "'CONNECT' is not a valid HTTP method"),
        ('custom { kind: "APPROVE" path: "/a" }', "'APPROVE' is not a valid HTTP method"),
        ('post: "/a" body: "nothing"', "no field 'nothing' that could be the body"),
        ('post: "/a" body: "place.shelf"', "no field 'place.shelf' that could be the body"),
        ('post: "/a/{text}" body: "text"', "the path holds the field 'text'"),
        ('get: "/a" response_body: "nothing"', "that could be the response body"),
        ('get: "/a" response_body: "place.shelf"', "that could be the response body"),
        ('get: "/b" additional_bindings { get: "/a/{nothing}" }', "no field 'nothing'"),
        ('get: "/b" additional_bindings { body: "*" }', "begin with a slash"),
    ],
)
def test_a_rule_that_no_request_fits_stops_the_start_with_rpc_path_and_reason(
    rule: str, why: str
) -> None:
    with pytest.raises(InvalidBinding) as caught:
        Routes([library_with(rule)])

    text = str(caught.value)
    assert text.startswith("library.Other.Wrong cannot be bound to ")
    assert '"/a' not in rule or "'/a" in text
    assert why in text


def test_additional_bindings_have_none_themselves() -> None:
    rule = 'get: "/a" additional_bindings { get: "/b" additional_bindings { get: "/c" } }'

    with pytest.raises(InvalidBinding, match=r"library\.Other\.Wrong has additional bindings"):
        Routes([library_with(rule)])


def parsed(method: str) -> list[Any]:
    """Returns what aiohttp reads of a request of a method."""
    loop = mock.Mock(asyncio.AbstractEventLoop)
    parser = HttpRequestParser(BaseProtocol(loop), loop, 1024)
    messages, _, _ = parser.feed_data(f"{method} /a HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    return [message.method for message, _ in messages]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_methods_that_can_be_bound_are_those_of_requests(method: str) -> None:
    assert parsed(method) == [method]


def test_methods_of_the_standard_can_be_bound_but_connect() -> None:
    assert {method.value for method in HTTPMethod} - {"CONNECT"} <= METHODS


@pytest.mark.parametrize("method", ["APPROVE", "FOO", "GETS", "PLAY", "PRI"])
def test_methods_that_cannot_be_bound_are_those_of_no_request(method: str) -> None:
    assert method not in METHODS
    with pytest.raises(BadHttpMessage):
        parsed(method)


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/healthz", "/readyz"])
@pytest.mark.parametrize(
    "rule", ['get: "{path}"', 'post: "{path}" body: "*"', 'get: "/{{text}}"', 'get: "/**"']
)
def test_a_binding_that_would_hide_a_page_of_the_gateway_stops_the_start(
    path: str, rule: str
) -> None:
    with pytest.raises(InvalidBinding, match=r"library\.Other\.Wrong .* takes /"):
        Gateway(mock.Mock(), [library_with(rule.format(path=path))], asks_first=False)


@pytest.mark.parametrize("path", ["/{place.shelf=v1/files/**}", "/v1/files/**"])
def test_paths_that_another_rpc_takes_stop_the_start_and_both_are_named(path: str) -> None:
    with pytest.raises(InvalidBinding) as caught:
        Routes([library(), library_with(f'get: "{path}"')])

    assert f"library.Other.Wrong (GET {path})" in str(caught.value)
    assert "library.Library.GetFile (GET /v1/files/{path=**})" in str(caught.value)
