"""Deprecated rpcs, fields and enum values, of a service that knows nothing of this gateway."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass
from grpc import StatusCode

from rosterd.http_gateway.openapi.document import document
from rosterd.http_gateway.options import Options
from rosterd.http_gateway.policy import (
    Annotations,
    Deprecation,
    FieldOptions,
    MethodOptions,
    Policy,
)

from .client import ReceivedResponse
from .page_service import request
from .routing.protos import compiled
from .serving import gateway_to, run

SERVICE = compiled("""
    syntax = "proto3";
    package library.v1;

    import "google/api/annotations.proto";

    message Book { string title = 1; string isbn = 2 [deprecated = true]; Book sequel = 3; }
    message ListRequest {
      int32 limit = 1;
      int32 size = 2 [deprecated = true];
      Order order = 3;
    }
    enum Order { ORDER_UNSPECIFIED = 0; TITLE = 1; AUTHOR = 2 [deprecated = true]; }
    message Books { repeated Book books = 1; }

    service BookService {
      rpc List(ListRequest) returns (Books) {
        option (google.api.http) = {get: "/books"};
      }
      rpc Create(Books) returns (Books) {
        option (google.api.http) = {post: "/books" body: "*"};
      }
      rpc Search(ListRequest) returns (Books) {
        option deprecated = true;
        option (google.api.http) = {get: "/search"};
      }
      rpc Watch(ListRequest) returns (stream Books) {
        option deprecated = true;
        option (google.api.http) = {get: "/watch" response_body: "books"};
      }
    }
""").services_by_name["BookService"]
BOOKS = GetMessageClass(SERVICE.methods_by_name["List"].output_type)
DATES = {
    "library.v1.BookService.Search": Deprecation(date(2027, 1, 31), date(2027, 7, 31)),
    "library.v1.BookService.Watch": Deprecation(date(2027, 1, 31)),
    "library.v1.ListRequest.size": Deprecation(date(2026, 12, 1), date(2027, 12, 1)),
    "library.v1.Book.isbn": Deprecation(date(2027, 2, 1)),
}
POLICY = Policy(
    annotations=Annotations(
        of_field=lambda field: FieldOptions(field_deprecation=DATES.get(field.full_name)),
        of_method=lambda method: MethodOptions(deprecation=DATES.get(method.full_name)),
    )
)


async def reply(_request: Any, _context: Any) -> Any:
    return BOOKS()


async def replies(_request: Any, _context: Any) -> Any:
    yield json_format.ParseDict({"books": [{"title": "Emma"}]}, BOOKS())


HANDLERS = {"List": reply, "Create": reply, "Search": reply, "Watch": replies}


def send(method: str, target: str, body: bytes = b"") -> ReceivedResponse:
    async def exchange() -> ReceivedResponse:
        options = Options(policy=POLICY, lingering_seconds=0.1)
        async with gateway_to("in-process", service=SERVICE, options=options, **HANDLERS) as runner:
            return await request(runner, method, target, body)

    received: ReceivedResponse = run(exchange())
    return received


def day(text: str) -> str:
    return f"{text} 00:00:00 GMT"


@pytest.mark.parametrize(
    ("method", "target", "body", "since", "sunset"),
    [
        ("GET", "/books?limit=1", {}, None, None),
        ("GET", "/books?size=1", {}, date(2026, 12, 1), day("Wed, 01 Dec 2027")),
        ("GET", "/search", {}, date(2027, 1, 31), day("Sat, 31 Jul 2027")),
        ("GET", "/search?size=1", {}, date(2026, 12, 1), day("Sat, 31 Jul 2027")),
        ("GET", "/watch", {}, date(2027, 1, 31), None),
        ("POST", "/books", {"books": [{"title": "Emma"}]}, None, None),
        ("POST", "/books", {"books": [{}, {"isbn": "1"}]}, date(2027, 2, 1), None),
        ("POST", "/books", {"books": [{"isbn": "1"}], "x": 1}, None, None),
    ],
)
def test_responses_to_what_uses_something_deprecated_state_the_earliest_dates(
    method: str, target: str, body: dict[str, Any], since: date | None, sunset: str | None
) -> None:
    received = send(method, target, json.dumps(body).encode() if body else b"")

    expected = None if since is None else f"@{datetime.combine(since, time(), UTC).timestamp():.0f}"
    assert received.headers.get("deprecation") == expected
    assert received.headers.get("sunset") == sunset


def test_failed_call_states_the_dates_too() -> None:
    async def fail(_request: Any, context: Any) -> Any:
        await context.abort(StatusCode.NOT_FOUND, "There are no books.")

    async def exchange() -> ReceivedResponse:
        options = Options(policy=POLICY, lingering_seconds=0.1)
        async with gateway_to("real", service=SERVICE, options=options, Search=fail) as runner:
            return await request(runner, "GET", "/search")

    received: ReceivedResponse = run(exchange())
    assert (received.status, received.headers["deprecation"]) == (404, "@1801353600")


def test_documents_mark_what_is_deprecated() -> None:
    described = document([SERVICE], POLICY)

    operations = {path: item["get"] for path, item in described["paths"].items() if "get" in item}
    assert [path for path, one in operations.items() if one.get("deprecated")] == [
        "/search",
        "/watch",
    ]
    parameters = {each["name"]: each for each in operations["/books"]["parameters"][:-2]}
    assert [name for name, each in parameters.items() if each.get("deprecated")] == ["size"]
    assert "- `AUTHOR`: Deprecated." in parameters["order"]["description"]
    book = described["components"]["schemas"]["Book"]["properties"]
    assert [name for name, each in book.items() if each.get("deprecated")] == ["isbn"]
    headers = operations["/search"]["responses"]["200"]["headers"]
    assert {"Deprecation", "Sunset"} <= headers.keys() & described["components"]["headers"].keys()


def test_reference_marks_what_is_deprecated() -> None:
    async def exchange() -> ReceivedResponse:
        options = Options(policy=POLICY, lingering_seconds=0.1)
        async with gateway_to("in-process", service=SERVICE, options=options) as runner:
            return await request(runner, "GET", "/docs")

    received: ReceivedResponse = run(exchange())
    page = received.body.decode()
    assert '<span class="badge bad">deprecated</span>' in page
    assert '<code class="name">isbn</code> <span class="type">string</span>' in page
    assert page.count('<span class="must">deprecated</span>') > 1
