"""Email addresses: validation and normal forms."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rosterd.server.values.emails import (
    _parse_any,
    addresses_in,
    key_prefix,
    parse_email,
    text_key,
    trim,
    unicode_key,
    unicode_keys,
    without_address,
)

from ..cases import each

LONGEST = f"{'l' * 64}@{'d' * 60}.{'d' * 60}.{'d' * 60}.abc.de"


def key(text: str) -> str:
    """Returns the key of a valid address."""
    email = parse_email(text)
    assert email is not None
    return email.key


@each(
    "address",
    [
        "ada@example.com",
        "o'brien-{x}!#$%&*/=?^_`|~@x.de",
        "ada@xn--bcher-kva.de",
        "ada@bücher.de",
        "阿达@example.com",
        "ada@host.test",
        f"{'a' * 64}@example.com",
        f"ada@{'a' * 63}.com",
        LONGEST,
    ],
)
def test_valid_address_is_stored_verbatim(address: str) -> None:
    email = parse_email(address)

    assert email is not None
    assert email.address == address


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(" \t\u00a0", id="whitespace"),
        pytest.param("@example.com", id="no local part"),
        pytest.param("ada@localhost", id="undotted domain"),
        pytest.param("ada@example.com\r\nBcc: eve@example.com", id="line break"),
        pytest.param("ada@example.com,eve@example.com", id="comma list"),
        pytest.param("Ada <ada@example.com>", id="display name"),
        pytest.param('"ada love"@example.com', id="quoted local part"),
        pytest.param("ada@[127.0.0.1]", id="IP literal"),
        pytest.param("a\u202eda@example.com", id="bidi override"),
        pytest.param("a\u200bda@example.com", id="zero-width space"),
        pytest.param("ada\0@example.com", id="NUL"),
        pytest.param("ada@example.com.", id="trailing dot"),
        pytest.param("ada.@example.com", id="dot before the at"),
        pytest.param("a..da@example.com", id="double dot"),
        pytest.param("ada@-example.com", id="leading hyphen"),
        pytest.param("ada@ab--cd.com", id="hyphens in third and fourth place"),
        pytest.param("ada@example.c1", id="digit at the end"),
        pytest.param(f"ada@{'a' * 64}.com", id="label of 64"),
        pytest.param(f"{'a' * 65}@example.com", id="local part of 65"),
        pytest.param(f"{LONGEST}x", id="255 in all"),
        pytest.param("ada@xn--a.com", id="broken punycode"),
    ],
)
def test_text_is_not_an_address(text: str) -> None:
    assert parse_email(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("User@EXAMPLE.com", "user@example.com", id="case"),
        pytest.param("jos\u00e9@x.de", "jose\u0301@x.de", id="NFC and NFD"),
        pytest.param("ada@BÜCHER.de", "ada@xn--bcher-kva.de", id="IDNA"),
        pytest.param("ada@example。com", "ada@example.com", id="ideographic full stop"),
        pytest.param("\u00a0 ada@x.de\t", "ada@x.de", id="whitespace"),
    ],
)
def test_spellings_of_one_address_have_one_key(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("straße@x.de", "strasse@x.de", id="sharp s"),
        pytest.param("ada@x.de", "ada+news@x.de", id="plus tag"),
    ],
)
def test_different_mailboxes_have_different_keys(one: str, other: str) -> None:
    assert key(one) != key(other)


_sound = st.sampled_from(["a", "B0", "a-b", "a--b", "x1-y", "d" * 61, "d" * 63])
_odd = st.text("aZ09-_.@+!", max_size=5) | st.builds(
    "{}{}{}".format,
    st.sampled_from(["a", "-", "1", "xn--", "ab--"]),
    st.sampled_from(["", "d" * 57, "d" * 58, "d" * 61, "d" * 62]),
    st.sampled_from(["a", "-", "1", ""]),
)
_last = st.sampled_from(["com", "c", "c-d", "C1d", "d" * 63, "c1", "1c", "1", "c-", "xn--p1ai"])


def _dotted(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Joins valid parts with dots; every other text has one part that may be invalid."""
    parts = st.lists(part, min_size=1, max_size=4)
    return (parts | st.tuples(parts, _odd).map(lambda pair: [*pair[0], pair[1]])).map(".".join)


_local = st.sampled_from(["a", "A+b", "a.b", "o'B-_", "l" * 63, "l" * 64, "l" * 65]) | _dotted(
    _sound
)
_near_addresses = st.builds("{}@{}.{}".format, _local, _dotted(_sound), _last | _odd)
_any_text = st.text("aZ0.-+_@ \t\n\"<>[]:'\\", max_size=12)


@given(_near_addresses | _any_text)
@example(LONGEST)
@example(f"{LONGEST}x")
@example("a@b.c")
@example(f"a@{'d' * 64}.com")
@example(f"a@b.{'d' * 64}")
@example("a..b@c.de")
@example("a@b..cd")
@example(f"{'a' * 64}@b.cd")
@example(f"{'a' * 65}@b.cd")
@example("a@b.c--d")
@example("a@b.cd--e")
@example("a@cd--e.fg")
@example("a@127.0.0.1")
def test_fast_path_returns_the_same_as_the_library(text: str) -> None:
    assert parse_email(text) == _parse_any(trim(text))


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("ada@example.com", None, id="ASCII"),
        pytest.param("ada@bücher.example", "ada@bücher.example", id="Unicode"),
        pytest.param("Ada@XN--BCHER-KVA.example", "ada@bücher.example", id="ASCII form"),
        pytest.param("ada@BU\u0308CHER.example", "ada@bücher.example", id="upper case and NFD"),
        pytest.param("a@例え.テスト", "a@例え.テスト", id="every label"),
    ],
)
def test_unicode_key_has_the_domain_in_unicode(address: str, expected: str | None) -> None:
    email = parse_email(address)

    assert email is not None
    assert unicode_key(email.key) == expected
    assert unicode_keys(["a@b.io", email.key]) == [None, expected]


LABELS = st.sampled_from(["bücher", "BÜCHER", "straße", "example", "ｅx", "例え", "é"])


@given(st.lists(LABELS, min_size=1, max_size=3), st.integers(1))
def test_every_prefix_of_an_address_is_a_prefix_of_one_of_its_keys(
    labels: list[str], length: int
) -> None:
    address = f"Josef@{'.'.join(labels)}.Example"
    email = parse_email(address)
    assert email is not None

    beginning = key_prefix(address[:length])

    assert (unicode_key(email.key) or email.key).startswith(beginning)
    assert email.key.startswith(key_prefix(email.key[:length]))


@given(st.lists(LABELS, min_size=1, max_size=3))
def test_every_spelling_of_an_address_has_its_text_key(labels: list[str]) -> None:
    address = f"Jose\u0301f@{'.'.join(labels)}.Example"
    email = parse_email(address)
    assert email is not None

    assert text_key(address) == text_key(email.key)


@each(
    ("text", "expected"),
    {
        "filter": ('NOT email = "Ada@Example.com"', 'NOT email = "erased"'),
        "without quotes": ("email=ada@example.com OR tags:x", "email=erased OR tags:x"),
        "single quotes": ("email!='ada@example.com'", "email!=erased"),
        "prefix": ('email = "ada@exa*"', 'email = "erased"'),
        "escaped": (r'email = "a\*b@example.com"', 'email = "erased"'),
        "sentence": ("To <mailto:ada@example.com>.", "To <mailto:erased>."),
        "invisible characters": ("\u200b\u201cad\u00ada@example.com\u200b\u201d", "erased"),
        "IDNA": ("email = jo@XN--BCHER-KVA.example", "email = erased"),
        "equals sign": ("a=b@example.com", "erased"),
        "longer name": ("bigada@example.com", None),
        "longer domain": ("ada@example.com.de", None),
        "prefix of another": ('email = "ada@exb*"', None),
        "part": (
            'email:"DA@exam" AND email.domain:"exam"',
            'email:"erased" AND email.domain:"exam"',
        ),
        "part of the domain": ('email:"example" OR email:* OR customFields.email:"ada"', None),
        "parts": (
            "email != (ADA OR (NOT 'da@' OR OR1)) OR tags:ada",
            "email != (erased OR (NOT 'erased' OR OR1)) OR tags:ada",
        ),
        "part with an asterisk": (r'email:"A\*b"', 'email:"erased"'),
        "invalid IDNA": ("ada@xn--\u00fc.example", None),
        "none": ("status = CONFIRMED @ada@", None),
    },
)
def test_addresses_are_found_and_replaced_in_text(text: str, expected: str | None) -> None:
    keys = {"ada@example.com", "a*b@example.com", "jo@bücher.example", "a=b@example.com"}

    replaced = {key: without_address(text, key) for key in keys}

    changed = [key for key in keys if replaced[key] != text]
    assert [replaced[key] for key in changed] == ([] if expected is None else [expected])
    assert keys & set(addresses_in(text)) <= set(changed)


@pytest.mark.parametrize("text", ["x ada%40example.com", "ada＠example.com,", "ａda@example.com"])
def test_encoded_and_wide_addresses_are_found(text: str) -> None:
    assert "ada@example.com" in addresses_in(text)
