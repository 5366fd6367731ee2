"""HTTP requests to library.proto, an API in the style of Google APIs."""

from __future__ import annotations

from typing import Any

import pytest

from ...cases import each
from .library_client import request_of, send

both_channels = pytest.mark.parametrize("kind", ["in-process", "grpc"])


@both_channels
def test_variable_of_several_segments_sets_one_field(kind: str) -> None:
    exchange = send("GET", "/v1/shelves/a%2Fb/books/%C3%A9%20?quietly=true", kind=kind)

    assert exchange.status == 200
    assert exchange.rpc == "GetBook"
    assert exchange.request == request_of("GetBook", "name: 'shelves/a%2Fb/books/é ' quietly: true")


@both_channels
def test_body_field_is_the_body_and_other_fields_are_query_parameters(kind: str) -> None:
    book = {
        "title": "T",
        "author": {"lastName": "L"},
        "keywords": ["k"],
        "labels": {"a": "b"},
        "printed": "1970-01-01T00:00:01Z",
    }
    target = "/v1/shelves/1/books?bookId=x&dry_run=true"

    exchange = send("POST", target, book, kind=kind)

    assert exchange.request == request_of(
        "CreateBook",
        """
        parent: 'shelves/1' book_id: 'x' dry_run: true
        book {
          title: 'T' author { last_name: 'L' } keywords: 'k'
          labels { key: 'a' value: 'b' } printed { seconds: 1 }
        }
        """,
    )


@both_channels
@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("titles", ["A", "B"]),
        ("firstBook", {"name": "shelves/1/books/2", "title": "A", "keywords": [], "labels": {}}),
        ("counts", {"a": 1, "b": 2}),
    ],
)
def test_response_body_is_one_field_of_the_response(kind: str, field: str, expected: Any) -> None:
    assert send("GET", f"/v1/shelves/1/{field}", kind=kind).json == expected


def test_absent_response_body_is_null() -> None:
    assert send("GET", "/v1/shelves/1/firstBook", responses={}).json is None


@each(
    ("method", "target", "body", "rpc", "request_text"),
    [
        ("GET", "/v1/shelves/1?number=7", None, "GetShelf", "name: 'shelves/1' number: 7"),
        ("HEAD", "/v1/shelves/1", None, "GetShelf", "name: 'shelves/1'"),
        ("GET", "/v1/shelf-of/POETRY/true", None, "GetShelf", "genre: POETRY large {value: true}"),
        ("GET", "/v1/shelves/1/books/top", None, "GetTopBook", "name: 'shelves/1/books/top'"),
        (
            *("POST", "/v1/shelves/1/books/2:publish", {"quietly": True}),
            *("PublishBook", "name: 'shelves/1/books/2' quietly: true"),
        ),
        ("DELETE", "/v1/shelves/1", "dust", "DropShelf", "name: 'shelves/1' why: 'dust'"),
        (
            *("PUT", "/v1/shelves/1/labels?why=w", {"a": "b"}),
            *("SetLabels", "name: 'shelves/1' why: 'w' labels {key: 'a' value: 'b'}"),
        ),
        (
            *("PUT", "/v1/shelves/1/books?tags=a", [{"title": "A"}, {}]),
            *("SetLabels", "name: 'shelves/1' tags: 'a' books {title: 'A'} books {}"),
        ),
        (
            *("PUT", "/v1/shelves/1/since", "1970-01-01T00:00:01Z"),
            *("SetLabels", "name: 'shelves/1' since {seconds: 1}"),
        ),
        (
            *("GET", "/v1/shelves/a%2Fb/books:search?near.next.shelf=c&genres=NOVEL&genres=2"),
            *(None, "Search", "near {shelf: 'a/b' next {shelf: 'c'}} genres: [1, 2]"),
        ),
        ("GET", "/v1/isbn/1:search", None, "Search", "isbn: '1'"),
        ("GET", "/v1/files", None, "GetFile", ""),
        ("GET", "/v1/files/a/b:raw", None, "GetFile", "path: 'a/b'"),
        ("PROPFIND", "/v1/any/x", None, "GetFile", "path: 'x'"),
        ("HEAD", "/v1/head/x", None, "GetFile", "path: 'x'"),
    ],
)
def test_request_is_routed_to_its_rpc(
    method: str, target: str, body: Any, rpc: str, request_text: str
) -> None:
    exchange = send(method, target, body)

    assert exchange.status == 200
    assert exchange.rpc == rpc
    assert exchange.request == request_of(rpc, request_text)


@each(
    ("method", "target", "body", "violations"),
    [
        ("GET", "/v1/shelf-by-number/seven", None, [("number", "INVALID_TYPE")]),
        ("GET", "/v1/shelf-of/PROSE/true", None, [("genre", "INVALID_VALUE")]),
        ("GET", "/v1/shelves/1?name=x", None, [("name", "UNKNOWN_FIELD")]),
        ("GET", "/v1/shelves/1/books:search?near.shelf=x", None, [("near.shelf", "UNKNOWN_FIELD")]),
        ("POST", "/v1/shelves/1/books?title=x", {}, [("title", "UNKNOWN_FIELD")]),
        ("POST", "/v1/shelves/1/books?book.title=x", {}, [("book.title", "UNKNOWN_FIELD")]),
        ("POST", "/v1/shelves/1/books", {"title": 1}, [("book.title", "INVALID_TYPE")]),
        ("POST", "/v1/shelves/1/books", [], [("book", "INVALID_TYPE")]),
        ("PUT", "/v1/shelves/1/labels", b'{"a": "b", "a": "c"}', [("labels.a", "DUPLICATE_FIELD")]),
        ("PUT", "/v1/shelves/1/books", b"[", [("", "INVALID_JSON")]),
        ("PUT", "/v1/shelves/1/tags", ["a", 1], [("tags[1]", "INVALID_TYPE")]),
        ("PUT", "/v1/shelves/1/since", "now", [("since", "INVALID_FORMAT")]),
    ],
)
def test_violation_has_a_json_path(
    method: str, target: str, body: Any, violations: list[tuple[str, str]]
) -> None:
    exchange = send(method, target, body)

    assert (exchange.status, exchange.rpc) == (400, "")
    assert exchange.violations == violations
