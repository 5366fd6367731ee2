"""Strict JSON parsing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosterd.http_gateway.codec import strict_json
from rosterd.http_gateway.request_errors import RequestError

from ...cases import each

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
# Strings that contain JSON syntax characters.
SYNTAX = st.text('a,:[]{}"\\\\\n ', max_size=8)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | SYNTAX,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SYNTAX, inner, max_size=4),
    max_leaves=30,
)
KEYS = st.sampled_from(["a", "b", ":", '"', "", "é", "a.b"])
# Objects are lists of pairs, which can contain duplicate keys.
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(KEYS, inner), max_size=3).map(lambda pairs: ("object", pairs))
    ),
    max_leaves=8,
)


def violations_of(body: bytes) -> list[tuple[str, str]]:
    """Parses an invalid body and returns the path and code of each violation."""
    with pytest.raises(RequestError) as caught:
        strict_json.loads(body)
    return [(detail.field, detail.code) for detail in caught.value.error.details]


def text_of(tree: Any) -> str:
    if isinstance(tree, tuple):
        pairs = [f"{json.dumps(key)}:{text_of(value)}" for key, value in tree[1]]
        return "{" + ",".join(pairs) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(text_of(item) for item in tree) + "]"
    return json.dumps(tree)


def duplicate_paths(tree: Any, path: str = "") -> set[str]:
    """Returns the paths of duplicate keys, except in values that a later duplicate replaces."""
    if isinstance(tree, list):
        return {p for i, item in enumerate(tree) for p in duplicate_paths(item, f"{path}[{i}]")}
    if not isinstance(tree, tuple):
        return set()
    keys = [key for key, _ in tree[1]]
    paths = {key: f"{path}.{key}" if path else key for key in keys}
    duplicates = {paths[key] for key in keys if keys.count(key) > 1}
    for key, value in dict(tree[1]).items():
        duplicates |= duplicate_paths(value, paths[key])
    return duplicates


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(TREES)
def test_value_is_parsed_unless_it_has_duplicate_keys(tree: Any) -> None:
    text = text_of(tree)

    if duplicates := duplicate_paths(tree):
        assert set(violations_of(text.encode())) == {
            (path, "DUPLICATE_FIELD") for path in duplicates
        }
    else:
        assert strict_json.loads(text.encode()) == json.loads(text)


@each(
    ("body", "message"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b"{}x", "column 3"),
        (b'{\n"a": }', "line 2"),
        (b'{"a": NaN}', "well-formed"),
        (b'{"a": 1e999}', "well-formed"),
        (rb'{"a": "\ud800"}', "well-formed"),
    ],
)
def test_malformed_json_is_rejected_with_the_reason(body: bytes, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        strict_json.loads(body)

    (detail,) = caught.value.error.details
    assert (detail.field, detail.code) == ("", "INVALID_JSON")
    assert message in detail.message


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["arrays", "objects"]
)
def test_nesting_is_limited_to_32_levels(opening: str, closing: str) -> None:
    strict_json.loads((opening * 32 + "1" + closing * 32).encode())

    assert violations_of((opening * 33 + "1" + closing * 33).encode()) == [("", "INVALID_JSON")]


def test_an_empty_array_counts_as_a_level() -> None:
    strict_json.loads(b"[" * 32 + b"]" * 32)

    assert violations_of(b"[" * 33 + b"]" * 33) == [("", "INVALID_JSON")]


def test_depth_of_an_object_with_one_key_is_limited() -> None:
    def body(arrays: int) -> bytes:
        return b'{"a":' + b"[" * arrays + b"{}" + b"]" * arrays + b"}"

    strict_json.loads(body(30))
    assert violations_of(body(31)) == [("", "INVALID_JSON")]


@each("depth", [900, 1_000])
def test_deeply_nested_duplicate_is_rejected(depth: int) -> None:
    hidden = b"[" * depth + b"]" * depth

    assert violations_of(b'{"a": %s, "a": 1}' % hidden)


@each("colon", [rb"\u003a", rb"\u003A"])
def test_escaped_colon_hides_no_duplicate_key(colon: bytes) -> None:
    assert violations_of(b'{"a": 1, "a": "%s"}' % colon) == [("a", "DUPLICATE_FIELD")]


def count_values(document: Any) -> int:
    """Returns the number of values in a parsed document, including itself."""
    items: list[Any] = []
    if isinstance(document, dict):
        items = list(document.values())
    elif isinstance(document, list):
        items = document
    return 1 + sum(map(count_values, items))


@given(DOCUMENTS, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_values_are_counted_outside_strings(document: Any, indent: Any, escapes: bool) -> None:
    body = json.dumps(document, indent=indent, ensure_ascii=escapes).encode()
    count = count_values(document)

    assert strict_json.loads(body, max_values=count) == document
    if count > 1:
        with pytest.raises(RequestError, match="not valid"):
            strict_json.loads(body, max_values=count - 1)


@pytest.mark.parametrize("text", ["{{a}}[b]", '\\",', "\\,"], ids=["b", "q", "s"])
def test_long_string_is_one_value(text: str) -> None:
    document = {"body": text * (512 * 1024 // len(text))}

    assert strict_json.loads(json.dumps(document).encode()) == document


def test_largest_valid_bulk_is_accepted() -> None:
    row = {
        "email": "a@b.co",
        "firstName": "",
        "lastName": "",
        "isConfirmed": True,
        "tags": [str(n) for n in range(100)],
        "customFields": {str(n): n for n in range(100)},
    }
    document = {"subscribers": [row] * 100}

    assert count_values(document) == 20_702
    assert strict_json.loads(json.dumps(document).encode()) == document


@each("value", ['""', "{}", '{"a":[1]}', '"\\",["'])
def test_too_many_values_of_any_form_are_rejected(value: str) -> None:
    few = strict_json.MAX_VALUES // count_values(json.loads(value))
    leaves_room = few * count_values(json.loads(value)) < strict_json.MAX_VALUES
    accepted = few if leaves_room else few - 1

    strict_json.loads(f"[{','.join([value] * accepted)}]".encode())
    assert violations_of(f"[{','.join([value] * (accepted + 1))}]".encode()) == [
        ("", "INVALID_JSON")
    ]
