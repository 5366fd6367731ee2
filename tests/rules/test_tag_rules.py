"""Names of tags: which are names, and which are the same."""

from __future__ import annotations

import pytest

from server.tags.rules import distinct, is_name, name_key


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
def test_names_that_differ_in_case_or_form_have_one_key(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("vip", "vip2"), ("e", "é"), ("a b", "ab"), ("a_b", "a%b")]
)
def test_other_names_have_other_keys(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        pytest.param("", False, id="empty"),
        pytest.param("a", True, id="one character"),
        pytest.param("é" * 100, True, id="100 characters"),
        pytest.param("a" * 101, False, id="101 characters"),
        pytest.param("a\0b", False, id="NUL"),
        pytest.param("'; DROP TABLE tag; --", True, id="SQL"),
    ],
)
def test_name_has_1_to_100_characters_and_no_nul(name: str, taken: bool) -> None:
    assert is_name(name) is taken


def test_distinct_keeps_the_first_spelling_in_order() -> None:
    assert list(distinct(["b", "Vip", "VIP", "a", "B"]).values()) == ["b", "Vip", "a"]


def test_distinct_names_each_spelling_by_its_key() -> None:
    assert distinct(["Vip"]) == {name_key("vip"): "Vip"}
