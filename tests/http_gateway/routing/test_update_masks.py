"""The update mask of requests over HTTP."""

from __future__ import annotations

from typing import Any

from ...cases import each
from .library_client import request_of, send

NAME = "name: 'shelves/1/books/2'"


@each(
    ("method", "query", "body", "request_text"),
    [
        (
            *("PATCH", "", {"author": {"first_name": "", "lastName": "L"}, "keywords": []}),
            f"book {{{NAME} author {{last_name: 'L'}}}} update_mask {{"
            " paths: 'author.first_name' paths: 'author.last_name' paths: 'keywords'}",
        ),
        (
            *("PATCH", "", {"author": {}, "printed": None, "labels": {"a": "b"}}),
            f"book {{{NAME} author {{}} labels {{key: 'a' value: 'b'}}}}"
            " update_mask {paths: 'author' paths: 'labels'}",
        ),
        (
            *("PATCH", "", {"title": None, "author": {"firstName": None, "lastName": "L"}}),
            f"book {{{NAME} author {{last_name: 'L'}}}} update_mask {{paths: 'author.last_name'}}",
        ),
        ("PATCH", "", {"title": None, "keywords": None}, f"book {{{NAME}}} update_mask {{}}"),
        (
            "PATCH",
            "",
            {"name": "other", "title": ""},
            f"book {{{NAME}}} update_mask {{paths: 'title'}}",
        ),
        (
            *("PATCH", "?updateMask=author.firstName,title&allowMissing=true", {"title": "T"}),
            f"book {{{NAME} title: 'T'}} allow_missing: true"
            " update_mask {paths: 'author.first_name' paths: 'title'}",
        ),
        ("PATCH", "?update_mask=", {"title": "T"}, f"book {{{NAME} title: 'T'}} update_mask {{}}"),
        (
            *("PUT", "", {"book": {"title": "T", "name": "other"}, "allowMissing": True}),
            f"book {{{NAME} title: 'T'}} allow_missing: true"
            " update_mask {paths: 'book.title' paths: 'allow_missing'}",
        ),
    ],
)
def test_update_mask_has_the_keys_of_the_body_unless_the_query_sets_it(
    method: str, query: str, body: Any, request_text: str
) -> None:
    exchange = send(method, f"/v1/shelves/1/books/2{query}", body)

    assert exchange.status == 200
    assert exchange.request == request_of("UpdateBook", request_text)
