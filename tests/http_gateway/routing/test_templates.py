"""The grammar of path templates, and the values that a path sets."""

from __future__ import annotations

import pytest

from rosterd.http_gateway.routing.routes import Routes
from rosterd.http_gateway.routing.templates import BindingError, Template, Wildcard

from ...cases import each
from .protos import service_of

ONE, REST = Wildcard.ONE, Wildcard.REST


@each(
    ("text", "segments", "verb", "variables"),
    [
        ("/*/a/**", [ONE, "a", REST], "", []),
        ("/a/{x_1.y=b/*/c}/d", ["a", "b", ONE, "c", "d"], "", [("x_1.y", 1, 4)]),
        ("/{x=a/**}:do", ["a", REST], "do", [("x", 0, None)]),
        ("/{x}/{y=**}", [ONE, REST], "", [("x", 0, 1), ("y", 1, None)]),
        ("/é/a=b:d%C3%A9j%C3%A0", ["é", "a=b"], "déjà", []),
    ],
)
def test_template_is_parsed(
    text: str, segments: list[str | Wildcard], verb: str, variables: list[tuple[str, int, int]]
) -> None:
    template = Template(text)

    assert template.segments == segments
    assert template.verb == verb
    assert [(v.name, v.start, v.stop) for v in template.variables] == variables


@each(
    ("text", "reason"),
    [
        ("", "slash"),
        ("/a/", "empty"),
        ("/a:", "empty"),
        ("/{x=}", "empty"),
        ("/{}", "not a valid segment"),
        ("/{x-y}", "not a valid segment"),
        ("/a{x}", "not a valid segment"),
        ("/{x={y}}", "not a valid segment"),
        ("/{x=a:do}", "not a valid segment"),
        ("/a:b:c", "not a valid segment"),
        ("/a*", "not a valid segment"),
        ("/a%", "percent-encoding"),
        ("/a%FF", "UTF-8"),
        ("/**/a", "last"),
        ("/{x}/{x}", "twice"),
    ],
)
def test_invalid_template_is_rejected_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(BindingError, match=reason):
        Template(text)


@each(
    ("template", "path", "values"),
    [
        ("/{one}", "/a%2Fb%20c%252F", {"one": "a/b c%2F"}),
        ("/{one=a/*}", "/a/b%2Fc%20d", {"one": "a/b%2Fc d"}),
        ("/{one=**}", "/a/b%2fc/%252F", {"one": "a/b%2fc/%2F"}),
        ("/{one=**}", "/%C3%A9%3F", {"one": "é?"}),
        ("/a/{one=**}", "/a", {"one": ""}),
        ("/{one=a/**}", "/a", {"one": "a"}),
        ("/{one=a/**}:do", "/a/b:c/d:do", {"one": "a/b:c/d"}),
        ("/a/{one}:do", "/a/b:do:do", {"one": "b:do"}),
        ("/a/{one}", "/a/b%3Ado", {"one": "b:do"}),
        ("/{one=*/*}/{two=*/*}", "/a/b/c/d", {"one": "a/b", "two": "c/d"}),
        ("/{one}", "/%zz%", {"one": "%zz%"}),
    ],
)
def test_path_yields_the_values_of_its_variables(
    template: str, path: str, values: dict[str, str]
) -> None:
    match = Routes([service_of(Get=template)]).match("GET", path)

    assert match is not None
    assert match.variables == values


@each(
    ("template", "path"),
    [
        ("/{one=a/*}", "/a"),
        ("/{one=a/*}", "/a/"),
        ("/{one=a/*}", "/a/b/c"),
        ("/{one=a/*}", "/a%2Fb"),
        ("/{one=**}", "/a//b"),
        ("/{one=**}", "/%ff"),
        ("/{one}", "/%ff"),
        ("/{one}", "/"),
        ("/{one}:do", "/:do"),
        ("/{one}:do", "/a%3Ado"),
        ("/{one}:do", "/a:undo"),
    ],
)
def test_path_that_does_not_match_is_not_found(template: str, path: str) -> None:
    routes = Routes([service_of(Get=template)])

    assert routes.match("GET", path) is None
    assert routes.methods(path) == []
