"""The keys that labels of custom fields derive."""

from __future__ import annotations

import pytest

from server.custom_fields.rules import RESERVED_KEYS, derive_key, label_key
from server.errors import ValidationError


@pytest.mark.parametrize(
    ("label", "key"),
    [
        pytest.param("Company", "company", id="a word"),
        pytest.param("Shoe size (EU)", "shoe_size_eu", id="runs of other characters"),
        pytest.param("  --a--b--  ", "a_b", id="edges"),
        pytest.param("__a__b__", "a_b", id="underscores"),
        pytest.param("favouriteColor", "favouritecolor", id="camel case"),
        pytest.param("Größe", "grosse", id="umlaut and sharp s"),
        pytest.param("Gro\u0308ße", "grosse", id="umlaut in NFD"),
        pytest.param("naïve café", "naive_cafe", id="accents"),
        pytest.param("Æsir", "aesir", id="ligature"),
        pytest.param("ﬁne", "fine", id="compatibility ligature"),
        pytest.param("x²", "x2", id="superscript"),
        pytest.param("Ｃｉｔｙ", "city", id="full width"),
        pytest.param("Город", "gorod", id="Cyrillic"),
        pytest.param("Ελλάδα", "ellada", id="Greek"),
        pytest.param("城市", "chengshi", id="CJK"),
        pytest.param("🎉 Party", "party", id="emoji before a word"),
        pytest.param("I ❤️ NY", "i_ny", id="emoji between words"),
        pytest.param("2nd name", "f_2nd_name", id="leading digit"),
        pytest.param("٣ items", "f_3_items", id="leading digit of another script"),
        pytest.param("#1", "f_1", id="digit alone"),
        pytest.param("a" * 64, "a" * 64, id="64 characters"),
        pytest.param("a" * 65, "a" * 64, id="65 characters"),
        pytest.param(f"{'a' * 63} b", "a" * 63, id="underscore in the 64th place"),
        pytest.param("1" * 80, f"f_{'1' * 62}", id="80 digits"),
        pytest.param("城" * 80, ("cheng" * 80)[:64], id="longer once transliterated"),
        pytest.param("E-mail", "e_mail", id="near a reserved key"),
    ],
)
def test_label_derives_key(label: str, key: str) -> None:
    assert derive_key(label) == key


@pytest.mark.parametrize(
    "label",
    [
        pytest.param("!!!", id="punctuation"),
        pytest.param("___", id="underscores"),
        pytest.param("😀", id="emoji"),
        pytest.param("👍🏽", id="emoji with a skin tone"),
        pytest.param("❤\ufe0f", id="emoji by variation"),
        pytest.param("↔\ufe0f", id="emoji among the mathematical symbols"),
        pytest.param("🇩🇪", id="flag"),
        pytest.param("👩\u200d💻", id="joined emoji"),
        pytest.param("\u0301", id="accent alone"),
        pytest.param("\u200b", id="zero-width space"),
        pytest.param("", id="nothing"),
    ],
)
def test_label_that_leaves_nothing_is_refused(label: str) -> None:
    with pytest.raises(ValidationError) as caught:
        derive_key(label)
    assert [detail.field for detail in caught.value.details] == ["label"]


@pytest.mark.parametrize(
    "label",
    [
        "id",
        "Email",
        "First Name",
        "LAST-NAME",
        "Status",
        "tags",
        "Created at",
        "updated_at",
        "Custom Fields",
        "Unsubscribe URL",
    ],
)
def test_label_that_derives_a_reserved_key_is_refused(label: str) -> None:
    with pytest.raises(ValidationError) as caught:
        derive_key(label)
    assert [(detail.field, detail.code) for detail in caught.value.details] == [
        ("label", "RESERVED")
    ]


def test_there_are_ten_reserved_keys() -> None:
    assert len(RESERVED_KEYS) == 10


@pytest.mark.parametrize(
    ("one", "other"), [("City", "CITY"), ("É", "e\u0301"), ("GRÖSSE", "größe")], ids=ascii
)
def test_labels_that_differ_in_case_or_form_are_the_same(one: str, other: str) -> None:
    assert label_key(one) == label_key(other)


def test_labels_that_derive_one_key_need_not_be_the_same() -> None:
    assert derive_key("Shoe size") == derive_key("shoe-size")
    assert label_key("Shoe size") != label_key("shoe-size")
