"""The grammar of path templates, and the round trip of values through a path."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from google.api import annotations_pb2
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from hypothesis import strategies as st

from rosterd.http_gateway.routing.routes import Routes
from rosterd.http_gateway.routing.templates import BindingError, Template, Wildcard

F = FieldDescriptor
ONE, REST = Wildcard.ONE, Wildcard.REST


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
    match = routes_of(template).match("GET", path)

    assert match is not None
    assert match.variables == values


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("/{one=a/*}", "/a"),
        ("/{one=a/*}", "/a/"),
        ("/{one=a/*}", "/a/b/c"),
        ("/{one=a/*}", "/a%2Fb"),
        ("/{one=**}", "/a//b"),
        ("/{one=**}", "/%ff"),
        ("/{one}", "/"),
        ("/{one}:do", "/:do"),
        ("/{one}:do", "/a%3Ado"),
        ("/{one}:do", "/a:undo"),
    ],
)
def test_path_that_does_not_match_is_not_found(template: str, path: str) -> None:
    routes = routes_of(template)

    assert routes.match("GET", path) is None
    assert routes.methods(path) == []


def routes_of(template: str) -> Routes:
    """Returns the routes of one rpc that is bound to a GET."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", syntax="proto3")
    message = file.message_type.add(name="Example")
    for number, name in enumerate(("one", "two", "three", "four"), start=1):
        message.field.add(name=name, number=number, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    service = file.service.add(name="Service")
    method = service.method.add(name="Get", input_type=".Example", output_type=".Example")
    method.options.Extensions[annotations_pb2.http].get = template
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return Routes([pool.FindServiceByName("Service")])


# A path cannot contain surrogates.
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
words = st.text("abc-._~ é%+", min_size=1, max_size=3).filter(lambda word: word not in (".", ".."))


@st.composite
def templates(draw: st.DrawFn) -> tuple[str, str, dict[str, str]]:
    """Draws a template, a path that a client builds from it, and the values of its variables."""
    names = draw(st.permutations(["one", "two", "three", "four"]))
    count = draw(st.integers(1, 4))
    template, path, values = "", "", {}
    for index, name in enumerate(names[:count]):
        kinds = ["literal", "single", "several"] + ["rest"] * (index == count - 1)
        kind = draw(st.sampled_from(kinds))
        if kind == "literal":
            word = draw(words)
            template, path = f"{template}/{quote(word)}", f"{path}/{quote(word, safe='')}"
            continue
        if kind == "single":
            form, value = draw(st.sampled_from(["", "=*"])), draw(texts)
            sent = quote(value, safe="")
        else:
            word = draw(words)
            parts = draw(st.lists(texts, min_size=kind != "rest", max_size=3))
            # Such values cannot contain slashes, because encoded slashes are not decoded.
            parts = [part.replace("/", "") or "x" for part in parts]
            wildcards = "**" if kind == "rest" else "/".join(["*"] * len(parts))
            form, value = f"={quote(word)}/{wildcards}", "/".join([word, *parts])
            sent = quote(value, safe="/")
        template, path, values[name] = f"{template}/{{{name}{form}}}", f"{path}/{sent}", value
    verb = draw(st.sampled_from(["", ":do", ":d%C3%A9j%C3%A0"]))
    return template + verb, path + verb, values


@given(templates())
def test_values_survive_a_round_trip_through_a_path(drawn: tuple[str, str, dict[str, str]]) -> None:
    template, path, values = drawn

    match = routes_of(template).match("GET", path)

    assert match is not None
    assert match.variables == values
