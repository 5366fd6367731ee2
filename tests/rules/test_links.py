"""Tokens of links, masked addresses, and the languages and colors of pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.encryption import Encryption
from server.errors import PublicUrlNotSet
from server.ids import first_id_at
from server.links import CONFIRM_TIME, Links, Purpose, masked, parse_token
from server.self_service.pages import LANGUAGES, Content, View, language_of, page, text_color

LINKS = Links(Encryption(bytes(32)), "https://news.example.com/mail")
ids = st.integers(0, 2**48 - 1).map(first_id_at)
times = st.integers(0, 2**47)


@given(ids, ids, st.emails(), times)
def test_tokens_are_parsed_and_authentic(
    account_id: str, subscriber_id: str, email: str, now: int
) -> None:
    of_subscriber = (account_id, subscriber_id, email)
    urls = (LINKS.confirm_url(*of_subscriber, now), LINKS.unsubscribe_url(*of_subscriber))

    for url, purpose, path in zip(urls, Purpose, ("c/c", "u/u"), strict=True):
        assert url.startswith(f"https://news.example.com/mail/{path}")
        token = parse_token(url.rpartition("/")[2])
        assert token is not None
        expires_at = now + CONFIRM_TIME if purpose is Purpose.CONFIRM else None
        assert token[:4] == (purpose, account_id, subscriber_id, expires_at)
        assert LINKS.is_authentic(token, email)
        assert not LINKS.is_authentic(token, f"x{email}")


@given(st.text())
def test_other_text_is_not_a_token(text: str) -> None:
    assert parse_token(text) is None


def test_a_token_ends_with_any_change_of_a_character() -> None:
    url = LINKS.confirm_url(first_id_at(1), first_id_at(2), "ada@example.com", 3)
    text = url.rpartition("/")[2]

    for index, character in enumerate(text):
        other = "0" if character != "0" else "1"
        token = parse_token(text[:index] + other + text[index + 1 :])
        assert token is None or not LINKS.is_authentic(token, "ada@example.com"), index


def test_links_require_the_public_url() -> None:
    links = Links(Encryption(bytes(32)))
    with pytest.raises(PublicUrlNotSet):
        links.unsubscribe_url(first_id_at(1), first_id_at(2), "ada@example.com")

    links.set_default_url("http://127.0.0.1:8080")
    links.set_default_url("http://127.0.0.1:9090")

    url = links.unsubscribe_url(first_id_at(1), first_id_at(2), "ada@example.com")
    assert url.startswith("http://127.0.0.1:8080/u/u")


@pytest.mark.parametrize(
    ("email", "expected"),
    [
        ("ada.lovelace@mail.example.com", "a***@m***.com"),
        ("a@b.io", "a***@b***.io"),
        ('"odd@local"@example.com', '"***@e***.com'),
        ("é@münchen.de", "é***@m***.de"),
    ],
)
def test_masked_address_has_only_its_first_letters(email: str, expected: str) -> None:
    assert masked(email) == expected


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-CH, fr;q=0.9", "de"),
        ("it, fr;q=0.5, es;q=0.7", "es"),
        ("FR", "fr"),
        ("fr;q=0", "en"),
        ("fr;q=high, es;q=0.1", "es"),
        ("*", "en"),
        (",;,=;q=;", "en"),
        ("zh," * 1_000 + "de", "en"),
    ],
)
def test_language_is_the_preferred_one_that_exists(header: str, language: str) -> None:
    assert language_of(header) == language


@given(st.text())
def test_any_header_has_a_language(header: str) -> None:
    assert language_of(header) in LANGUAGES


@pytest.mark.parametrize(
    ("color", "expected"),
    [("#ffffff", "#000"), ("#000000", "#fff"), ("#1a5fb4", "#fff"), ("#ffcc00", "#000")],
)
def test_text_contrasts_with_its_background(color: str, expected: str) -> None:
    assert text_color(color) == expected


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("view", View)
def test_every_page_has_texts_in_every_language(view: View, language: str) -> None:
    html = page(language, Content(view, can_undo=True)).html.decode()

    assert f'<html lang="{language}">' in html
    assert "{" not in html.partition("</style>")[2]
    assert html.count("<h1>") == 1
