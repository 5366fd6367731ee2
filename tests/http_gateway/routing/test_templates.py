"""Templates of paths: their grammar, and that a path made by one gives the values back."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from google.api import annotations_pb2
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from hypothesis import strategies as st

from http_gateway.routing.routes import Routes
from http_gateway.routing.templates import BindingError, Template, Wildcard

F = FieldDescriptor
ONE, REST = Wildcard.ONE, Wildcard.REST


@pytest.mark.parametrize(
    ("text", "segments", "verb", "variables"),
    [
        ("/a", ["a"], "", []),
        ("/*/a/**", [ONE, "a", REST], "", []),
        ("/{x}", [ONE], "", [("x", 0, 1)]),
        ("/{x=*}", [ONE], "", [("x", 0, 1)]),
        ("/a/{x_1.y=b/*/c}/d", ["a", "b", ONE, "c", "d"], "", [("x_1.y", 1, 4)]),
        ("/{x=a}", ["a"], "", [("x", 0, 1)]),
        ("/{x=a/**}:do", ["a", REST], "do", [("x", 0, None)]),
        ("/{x}/{y=**}", [ONE, REST], "", [("x", 0, 1), ("y", 1, None)]),
        ("/a%20b/%7Bc%3A%2F", ["a b", "{c:/"], "", []),
        ("/é/a=b:d%C3%A9j%C3%A0", ["é", "a=b"], "déjà", []),
    ],
)
def test_a_template_is_read_by_its_grammar(
    text: str, segments: list[str | Wildcard], verb: str, variables: list[tuple[str, int, int]]
) -> None:
    template = Template(text)

    assert template.segments == segments
    assert template.verb == verb
    assert [(v.name, v.start, v.stop) for v in template.variables] == variables


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "slash"),
        ("a", "slash"),
        (":do", "slash"),
        ("/", "empty"),
        ("/a/", "empty"),
        ("//a", "empty"),
        ("/a:", "empty"),
        ("/:do", "empty"),
        ("/{x=}", "empty"),
        ("/{x=/a}", "empty"),
        ("/{x=a/}", "empty"),
        ("/{}", "no part"),
        ("/{1x}", "no part"),
        ("/{x.}", "no part"),
        ("/{x-y}", "no part"),
        ("/{x", "no part"),
        ("/x}", "no part"),
        ("/{x=a}b", "no part"),
        ("/a{x}", "no part"),
        ("/{x}{y}", "no part"),
        ("/{x={y}}", "no part"),
        ("/{x=a:do}", "no part"),
        ("/a:b/c", "no part"),
        ("/a:b:c", "no part"),
        ("/a*", "no part"),
        ("/***", "no part"),
        ("/a?b=c", "no part"),
        ("/a#b", "no part"),
        ("/a%", "percent-encoded"),
        ("/a%2x", "percent-encoded"),
        ("/a%FF", "UTF-8"),
        ("/**/a", "last"),
        ("/{x=**}/a", "last"),
        ("/{x=**/a}", "last"),
        ("/**/**", "last"),
        ("/{x}/{x}", "twice"),
        ("/{x.y}/{z}/{x.y=**}", "twice"),
    ],
)
def test_what_the_grammar_does_not_have_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(BindingError, match=why):
        Template(text)


@pytest.mark.parametrize(
    ("template", "path", "values"),
    [
        ("/{one}", "/a%2Fb%20c%252F", {"one": "a/b c%2F"}),
        ("/{one=*}", "/a%2fb", {"one": "a/b"}),
        ("/{one=a/*}", "/a/b%2Fc%20d", {"one": "a/b%2Fc d"}),
        ("/{one=**}", "/a/b%2fc/%252F", {"one": "a/b%2fc/%2F"}),
        ("/{one=**}", "/%C3%A9%3F", {"one": "é?"}),
        ("/{one=**}", "/", {"one": ""}),
        ("/a/{one=**}", "/a", {"one": ""}),
        ("/{one=a/**}", "/a", {"one": "a"}),
        ("/{one=a/**}:do", "/a/b:c/d:do", {"one": "a/b:c/d"}),
        ("/{one=a/**}:do", "/a:do", {"one": "a"}),
        ("/a/{one}:do", "/a/b:do:do", {"one": "b:do"}),
        ("/a/{one}", "/a/b:do", {"one": "b:do"}),
        ("/a/{one}", "/a/b%3Ado", {"one": "b:do"}),
        ("/{one=a b/*}", "/a%20b/c", {"one": "a b/c"}),
        ("/a%20b/{one}", "/a%20%62/c", {"one": "c"}),
        ("/{one=*/*}/{two=*/*}", "/a/b/c/d", {"one": "a/b", "two": "c/d"}),
        ("/*/{one}/**", "/a/b/c/d", {"one": "b"}),
        ("/{one}", "/+", {"one": "+"}),
        ("/{one}", "/%zz%", {"one": "%zz%"}),
    ],
)
def test_a_path_gives_the_values_of_its_variables(
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
        ("/{one=a/*}", "/b/c"),
        ("/{one=a/*}", "/a/b/c"),
        ("/{one=a/*}", "/a%2Fb"),
        ("/{one=**}", "/a//b"),
        ("/{one=**}", "/a/"),
        ("/{one=**}", "//"),
        ("/{one=**}", "/%ff"),
        ("/{one=**}", "/\udcff"),
        ("/{one=**}", "a"),
        ("/{one=**}", ""),
        ("/{one}", "/"),
        ("/{one}:do", "/:do"),
        ("/{one}:do", "/do"),
        ("/{one}:do", "/a%3Ado"),
        ("/{one}:do", "/a:do/b"),
        ("/{one}:do", "/a:undo"),
        ("/a/**:do", "/a/:do"),
    ],
)
def test_a_path_that_does_not_fit_leads_nowhere(template: str, path: str) -> None:
    routes = routes_of(template)

    assert routes.match("GET", path) is None
    assert routes.methods(path) == []


def routes_of(template: str) -> Routes:
    """Returns the routes of one rpc, bound to a GET."""
    file = descriptor_pb2.FileDescriptorProto(name="made.proto", syntax="proto3")
    message = file.message_type.add(name="Made")
    for number, name in enumerate(("one", "two", "three", "four"), start=1):
        message.field.add(name=name, number=number, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    service = file.service.add(name="Service")
    method = service.method.add(name="Get", input_type=".Made", output_type=".Made")
    method.options.Extensions[annotations_pb2.http].get = template
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return Routes([pool.FindServiceByName("Service")])


# Surrogates are no text, and no path can hold them.
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
words = st.text("abc-._~ é%+", min_size=1, max_size=3).filter(lambda word: word not in (".", ".."))


@st.composite
def templates(draw: st.DrawFn) -> tuple[str, str, dict[str, str]]:
    """Draws a template, a path made by it as clients do by the specification, and the values."""
    names = draw(st.permutations(["one", "two", "three", "four"]))
    count = draw(st.integers(1, 4))
    template, path, values = "", "", {}
    for place, name in enumerate(names[:count]):
        kinds = ["literal", "single", "several"] + ["rest"] * (place == count - 1)
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
            # An encoded slash of a value and one that was sent so look the same there.
            parts = [part.replace("/", "") or "x" for part in parts]
            wildcards = "**" if kind == "rest" else "/".join(["*"] * len(parts))
            form, value = f"={quote(word)}/{wildcards}", "/".join([word, *parts])
            sent = quote(value, safe="/")
        template, path, values[name] = f"{template}/{{{name}{form}}}", f"{path}/{sent}", value
    verb = draw(st.sampled_from(["", ":do", ":d%C3%A9j%C3%A0"]))
    return template + verb, path + verb, values


@given(templates())
def test_a_path_made_of_values_gives_them_back(made: tuple[str, str, dict[str, str]]) -> None:
    template, path, values = made

    match = routes_of(template).match("GET", path)

    assert match is not None
    assert match.variables == values
