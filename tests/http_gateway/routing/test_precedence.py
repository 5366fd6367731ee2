"""Precedence of templates that match the same path, and of their methods."""

from __future__ import annotations

from google.api.http_pb2 import CustomHttpPattern
from google.api.http_pb2 import HttpRule as Rule

from rosterd.http_gateway.routing.routes import Routes

from ...cases import each
from .protos import matched, service_of


@each(
    ("path", "in_order"),
    [
        ("/a/b/c", ["/a/b/c", "/a/b/{id}", "/a/{id}/c", "/a/*/*", "/a/**", "/**"]),
        ("/a/b/c:do", ["/a/b/c:do", "/a/{id=**}:do", "/**:do", "/a/b/*", "/**"]),
        ("/a", ["/a", "/a/**", "/{id}", "/**"]),
        ("/", ["/**"]),
    ],
)
def test_most_specific_matching_template_takes_precedence(path: str, in_order: list[str]) -> None:
    for first in range(len(in_order)):
        left = in_order[first:]
        for rules in (left, left[::-1]):
            routes = Routes([service_of(**{f"R{in_order.index(rule)}": rule for rule in rules})])

            match = routes.match("GET", path)

            assert match is not None
            assert match.binding.template.text == in_order[first]


def test_path_with_a_verb_falls_back_to_other_templates_for_other_methods() -> None:
    routes = Routes([service_of(Do=Rule(post="/a/{id}:do", body="*"), Get="/a/{id}")])

    assert matched(routes, "POST", "/a/x:do") == ("Do", {"id": "x"})
    assert matched(routes, "GET", "/a/x:do") == ("Get", {"id": "x:do"})
    assert matched(routes, "POST", "/a/x") is None
    assert routes.methods("/a/x:do") == ["GET", "HEAD", "OPTIONS", "POST"]
    assert routes.methods("/a/x") == ["GET", "HEAD", "OPTIONS"]


def custom(kind: str, path: str, body: str = "") -> Rule:
    return Rule(custom=CustomHttpPattern(kind=kind, path=path), body=body)


def test_custom_method_has_its_own_binding() -> None:
    routes = Routes([service_of(Look=custom("REPORT", "/a/{id}"), Get="/a/{id}")])

    assert matched(routes, "REPORT", "/a/x") == ("Look", {"id": "x"})
    assert matched(routes, "GET", "/a/x") == ("Get", {"id": "x"})
    assert routes.methods("/a/x") == ["GET", "HEAD", "OPTIONS", "REPORT"]


def test_head_falls_back_to_get() -> None:
    routes = Routes([service_of(Get="/a/{id}", Head=custom("HEAD", "/a/b"), Other="/a/b")])

    assert matched(routes, "HEAD", "/a/b") == ("Head", {})
    assert matched(routes, "HEAD", "/a/x") == ("Get", {"id": "x"})
    assert routes.methods("/a/b") == ["GET", "HEAD", "OPTIONS"]


def test_binding_for_all_methods_has_the_lowest_precedence() -> None:
    routes = Routes([service_of(Any=custom("*", "/a/{id}"), Get="/a/{id}", Post=Rule(post="/a/b"))])

    assert matched(routes, "GET", "/a/x") == matched(routes, "HEAD", "/a/x") == ("Get", {"id": "x"})
    assert (
        matched(routes, "POST", "/a/x") == matched(routes, "REPORT", "/a/x") == ("Any", {"id": "x"})
    )
    assert matched(routes, "POST", "/a/b") == ("Post", {})
    assert matched(routes, "OPTIONS", "/a/x") is None
    allowed = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]
    assert routes.methods("/a/x") == allowed
