"""The field mask of an update that comes over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from .asking import ask, request_of

NAME = "name: 'shelves/1/books/2'"


@pytest.mark.parametrize(
    ("method", "query", "body", "request_text"),
    [
        ("PATCH", "", {"title": "T"}, f"book {{{NAME} title: 'T'}} update_mask {{paths: 'title'}}"),
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
        ("PATCH", "", {}, f"book {{{NAME}}} update_mask {{}}"),
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
def test_the_mask_of_an_update_is_what_its_body_holds_unless_it_is_given(
    method: str, query: str, body: Any, request_text: str
) -> None:
    asked = ask(method, f"/v1/shelves/1/books/2{query}", body)

    assert asked.status == 200
    assert asked.request == request_of("UpdateBook", request_text)
