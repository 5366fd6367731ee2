"""Which of several templates a path leads to, and which methods it takes there."""

from __future__ import annotations

import pytest
from google.api import http_pb2 as google_http

from http_gateway.routing.routes import Routes

from .protos import found, service_of

Rule = google_http.HttpRule


@pytest.mark.parametrize(
    ("path", "in_order"),
    [
        ("/a/b/c", ["/a/b/c", "/a/b/{id}", "/a/{id}/c", "/a/*/*", "/a/**", "/**"]),
        ("/a/b/c:do", ["/a/b/c:do", "/a/{id=**}:do", "/**:do", "/a/b/*", "/**"]),
        ("/a", ["/a", "/a/**", "/{id}", "/**"]),
        ("/", ["/**"]),
    ],
)
def test_of_templates_that_fit_the_nearest_goes_first(path: str, in_order: list[str]) -> None:
    for first in range(len(in_order)):
        left = in_order[first:]
        for rules in (left, left[::-1]):
            routes = Routes([service_of(**{f"R{in_order.index(rule)}": rule for rule in rules})])

            match = routes.match("GET", path)

            assert match is not None
            assert match.binding.template.text == in_order[first]


def test_a_path_with_a_verb_that_takes_another_method_is_left_to_the_rest() -> None:
    routes = Routes([service_of(Do=Rule(post="/a/{id}:do", body="*"), Get="/a/{id}")])

    assert found(routes, "POST", "/a/x:do") == ("Do", {"id": "x"})
    assert found(routes, "GET", "/a/x:do") == ("Get", {"id": "x:do"})
    assert found(routes, "POST", "/a/x") is None
    assert routes.methods("/a/x:do") == ["GET", "HEAD", "OPTIONS", "POST"]
    assert routes.methods("/a/x") == ["GET", "HEAD", "OPTIONS"]


def custom(kind: str, path: str, body: str = "") -> Rule:
    return Rule(custom=google_http.CustomHttpPattern(kind=kind, path=path), body=body)


def test_a_custom_method_is_its_own() -> None:
    routes = Routes([service_of(Look=custom("REPORT", "/a/{id}"), Get="/a/{id}")])

    assert found(routes, "REPORT", "/a/x") == ("Look", {"id": "x"})
    assert found(routes, "GET", "/a/x") == ("Get", {"id": "x"})
    assert routes.methods("/a/x") == ["GET", "HEAD", "OPTIONS", "REPORT"]


def test_head_is_taken_as_get_unless_it_is_bound() -> None:
    routes = Routes([service_of(Get="/a/{id}", Head=custom("HEAD", "/a/b"), Other="/a/b")])

    assert found(routes, "HEAD", "/a/b") == ("Head", {})
    assert found(routes, "HEAD", "/a/x") == ("Get", {"id": "x"})
    assert routes.methods("/a/b") == ["GET", "HEAD", "OPTIONS"]


def test_what_takes_any_method_takes_what_nothing_else_takes() -> None:
    routes = Routes([service_of(Any=custom("*", "/a/{id}"), Get="/a/{id}", Post="/a/b")])

    assert found(routes, "GET", "/a/x") == found(routes, "HEAD", "/a/x") == ("Get", {"id": "x"})
    assert found(routes, "POST", "/a/x") == found(routes, "REPORT", "/a/x") == ("Any", {"id": "x"})
    assert found(routes, "PUT", "/a/b") == ("Any", {"id": "b"})
    assert found(routes, "OPTIONS", "/a/x") is None
    allowed = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]
    assert routes.methods("/a/x") == allowed


def test_options_may_be_bound() -> None:
    routes = Routes([service_of(Say=custom("OPTIONS", "/a/{id}"))])

    assert found(routes, "OPTIONS", "/a/x") == ("Say", {"id": "x"})


def test_a_literal_may_be_sent_encoded() -> None:
    routes = Routes([service_of(One="/a b/{id}:do")])

    assert found(routes, "GET", "/%61%20b/x:%64o") == ("One", {"id": "x"})
    assert found(routes, "GET", "/a+b/x:do") is None
