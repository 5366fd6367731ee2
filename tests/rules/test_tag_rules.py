"""Tag names: validation and keys."""

from __future__ import annotations

import pytest

from rosterd.server.features.tags.rules import distinct, parse_name
from rosterd.server.values.texts import caseless_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("VIP", "vip", id="case"),
        pytest.param("ÉTÉ", "été", id="case beyond ASCII"),
        pytest.param("ΣΑΣ", "σας", id="final sigma"),
        pytest.param("e\u0301", "\u00e9", id="NFD and NFC"),
        pytest.param("E\u0301", "\u00e9", id="NFD in upper case"),
    ],
)
def test_names_that_differ_in_case_or_normal_form_have_one_key(one: str, other: str) -> None:
    assert caseless_key(one) == caseless_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("vip", "vip2"), ("e", "é"), ("a b", "ab"), ("a_b", "a%b")]
)
def test_other_names_have_other_keys(one: str, other: str) -> None:
    assert caseless_key(one) != caseless_key(other)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("", None, id="empty"),
        pytest.param(" \t", None, id="whitespace"),
        pytest.param("a", "a", id="one character"),
        pytest.param(" vip\n", "vip", id="surrounding whitespace"),
        pytest.param("é" * 100, "é" * 100, id="100 characters"),
        pytest.param("a" * 101, None, id="101 characters"),
        pytest.param("a\0b", None, id="NUL"),
        pytest.param("\x1fa", None, id="control character at the start"),
        pytest.param("a\nb", None, id="line break"),
        pytest.param("\u200b\ufeff", None, id="invisible"),
        pytest.param("\u200ba", "\u200ba", id="visible with an invisible one"),
        pytest.param("👩\u200d👧", "👩\u200d👧", id="emoji with a joiner"),
        pytest.param("'; DROP TABLE tag; --", "'; DROP TABLE tag; --", id="SQL"),
    ],
)
def test_name_has_1_to_100_characters_one_of_them_visible_and_no_controls(
    text: str, name: str | None
) -> None:
    assert parse_name(text) == name


def test_distinct_keeps_the_first_spelling_in_order() -> None:
    assert list(distinct(["b", "Vip", "VIP", "a", "B"]).values()) == ["b", "Vip", "a"]


def test_distinct_returns_names_by_key() -> None:
    assert distinct(["Vip"]) == {caseless_key("vip"): "Vip"}
