"""The normal form of filters."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.features.subscribers.query.normal_form import normal_form
from rosterd.server.features.subscribers.query.references import with_renamed_tag
from rosterd.server.features.subscribers.query.syntax import MAX_DEPTH, Comparison, parse
from rosterd.server.features.subscribers.query.tree import mapped
from rosterd.server.rpc.errors import ValidationError

from ..cases import each

FIELDS = st.sampled_from(["email", "tags", "customFields.plan", "status", "ANDY", "name"])
OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">=", ":"])


def string(text: str, quote: str, end: str) -> str:
    """Returns a string of a filter with every special character escaped."""
    escaped = "".join(f"\\{each}" if each in f"\\*{quote}" else each for each in text)
    return f"{quote}{escaped}{end}{quote}"


VALUES = st.one_of(
    st.builds(
        string,
        st.text(st.sampled_from("ab1é \"'\\*()=:,-\n"), max_size=5),
        st.sampled_from("\"'"),
        st.sampled_from(["", "*"]),
    ),
    st.sampled_from(["vip", "42", "-3.5e2", "true", "2026-01-31", "*", "a*", "a-b", "x/y"]),
    st.builds("{}({})".format, st.sampled_from(["daysAgo", "f"]), st.sampled_from(["30", " 7 "])),
)


def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joints = st.sampled_from([" AND ", " OR ", "  ", "\nOR\t"])
    return st.one_of(
        st.builds("{}{}{}".format, parts, joints, parts),
        st.builds("({})".format, parts),
        st.builds("{}({})".format, st.sampled_from(["NOT ", "-"]), parts),
    )


ARGUMENTS = st.recursive(VALUES, combined, max_leaves=4).map("({})".format)
FILTERS = st.recursive(
    st.builds("{} {}{}".format, FIELDS, OPERATORS, st.one_of(VALUES, ARGUMENTS)),
    combined,
    max_leaves=10,
)


def without_columns(tree: Any) -> Any:
    def convert(comparison: Comparison) -> Comparison:
        return comparison._replace(column=0, value_column=0, value_length=0)

    return mapped(tree, convert)


@given(FILTERS)
def test_normal_form_is_parsed_to_the_same_tree_and_is_its_own_normal_form(text: str) -> None:
    try:
        tree = parse(text)
    except ValidationError:
        return

    normal = normal_form(tree)

    assert without_columns(parse(normal)) == without_columns(tree)
    assert normal_form(parse(normal)) == normal


@each(
    ("text", "normal"),
    [
        ("tags:vip", "tags:vip"),
        ("a='x \"y\"'", 'a = "x \\"y\\""'),
        ("a=1 OR b=2 c=3", "(a = 1 OR b = 2) AND c = 3"),
        ("a=1 OR b=2", "(a = 1 OR b = 2)"),
        ("-(a=1 b=2)", "NOT (a = 1 AND b = 2)"),
        ("a!=(1 OR 2)", "NOT (a = 1 OR a = 2)"),
        ("(a=1 b=2) OR c>daysAgo( 7 )", "((a = 1 AND b = 2) OR c > daysAgo(7))"),
        ('a:"x\\*y*"', 'a:"x\\*y*"'),
    ],
)
def test_normal_form_has_one_spacing_one_quote_and_parentheses_around_or(
    text: str, normal: str
) -> None:
    assert normal_form(parse(text)) == normal


def test_normal_form_with_too_many_levels_leaves_out_parentheses_around_or() -> None:
    text = "x=1 OR y=2"
    for _ in range(24):
        text = f"a=1 b=2 OR ({text})"
    tree = parse(text)

    normal = normal_form(tree)

    assert normal.count("(") == 23 <= MAX_DEPTH
    assert without_columns(parse(normal)) == without_columns(tree)


def test_a_renamed_tag_keeps_the_normal_form() -> None:
    normal = normal_form(parse("tags:(vip 'b')"))

    renamed = with_renamed_tag(normal, "vip", 'the "best"*')

    assert renamed == 'tags:"the \\"best\\"\\*" AND tags:"b"'
    assert normal_form(parse(renamed)) == renamed
