"""Tag names: validation and keys."""

from __future__ import annotations

import pytest

from rosterd.server.features.tags.rules import distinct, parse_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param(" \t", None, id="whitespace"),
        pytest.param(" vip\n", "vip", id="surrounding whitespace"),
        pytest.param("é" * 100, "é" * 100, id="100 characters"),
        pytest.param("a" * 101, None, id="101 characters"),
        pytest.param("a\0b", None, id="NUL"),
        pytest.param("a\nb", None, id="line break"),
        pytest.param("\u200b\ufeff", None, id="invisible"),
        pytest.param("\u200ba", "\u200ba", id="visible with an invisible one"),
        pytest.param("👩\u200d👧", "👩\u200d👧", id="emoji with a joiner"),
    ],
)
def test_name_has_1_to_100_characters_one_of_them_visible_and_no_controls(
    text: str, name: str | None
) -> None:
    assert parse_name(text) == name


def test_distinct_keeps_the_first_spelling_in_order() -> None:
    assert list(distinct(["b", "Vip", "VIP", "a", "B"]).values()) == ["b", "Vip", "a"]
