"""Tokens of links, masked addresses, and the languages and colors of pages."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from rosterd.server.features.links.pages import LANGUAGES, Content, View, page, text_color
from rosterd.server.security.encryption import Encryption
from rosterd.server.security.links import MAX_TOKEN_LENGTH, Links, Purpose, masked
from rosterd.server.values.ids import first_id_at

from ..cases import each
from ..signed_links import signed_token

KEY = bytes(32)
LINKS = Links(Encryption(KEY), "https://news.example.com/mail")
ids = st.integers(0, 2**128 - 1).map(lambda number: str(ULID.from_int(number)))
numbers = st.integers(0, 2**47)
# What mail programs add to the end of a URL.
ADDED = [".", ")", ">", ",", " ", "\u00a0", "%20", "%2e", "%29", "%3E", "%2C", ">.", ")%20,"]
ADDED += [";", '"', "%22", "\u201d", "\u200b", "]", "!", "*", "=", "=3D", "&gt;", "<br>", "&utm=x"]
# What they insert into a long URL.
INSERTED = ["\n", "\r\n", "=\r\n", "= \n", "=", "%0A", "=%0D%0A", " ", "\n> ", "%3D%0A", "<wbr>"]
INSERTED += ["<br />", "&shy;", "&#8203;"]


def token_of(url: str) -> str:
    return url.rpartition("/")[2]


@given(ids, ids, st.emails(), numbers, numbers)
def test_a_token_contains_what_it_was_created_with(
    account_id: str, subscriber_id: str, email: str, revision: int, expires_at: int
) -> None:
    of_subscriber = (account_id, subscriber_id, email)
    confirm_url = LINKS.confirm_url(*of_subscriber, revision, expires_at)
    unsubscribe_url = LINKS.unsubscribe_url(*of_subscriber)

    assert confirm_url.startswith("https://news.example.com/mail/c/")
    confirm = LINKS.token(token_of(confirm_url))
    assert confirm is not None
    assert confirm[:3] == (Purpose.CONFIRM, account_id, subscriber_id)
    assert (confirm.status_revision, confirm.expires_at) == (revision, expires_at)
    assert unsubscribe_url.startswith("https://news.example.com/mail/u/")
    unsubscribe = LINKS.token(token_of(unsubscribe_url))
    assert unsubscribe == (Purpose.UNSUBSCRIBE, *of_subscriber, None, None, b"", "", "")
    assert LINKS.is_for(confirm, email)
    assert not LINKS.is_for(confirm, f"x{email}")


@given(ids, ids, st.emails(), st.none() | numbers)
def test_a_signed_token_of_an_earlier_version_is_read(
    account_id: str, subscriber_id: str, email: str, expires_at: int | None
) -> None:
    expiry = "" if expires_at is None else first_id_at(expires_at)[:10]
    text = signed_token(KEY, account_id, subscriber_id, email, expiry)

    token = LINKS.token(text)

    assert token is not None
    purpose = Purpose.UNSUBSCRIBE if expires_at is None else Purpose.CONFIRM
    assert token[:5] == (purpose, account_id, subscriber_id, None, expires_at)
    assert token.status_revision is None
    assert LINKS.is_for(token, email)
    assert not LINKS.is_for(token, f"x{email}")


def longest_addresses() -> list[str]:
    """Returns email keys of the greatest length; lower case can make a local part longer."""
    rng = random.Random(0)
    ascii_local = "".join(
        rng.choices("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+/=?^_`{|}~-", k=64)
    )
    expanded_local = "".join(rng.choices(["i\u0307", "\u2c65", "\u2c66"], k=64))
    ideographs = "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(64))
    letters = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=189))
    return [
        f"{ascii_local}@{letters}",
        f"{expanded_local}@{letters[:125]}",
        f"{ideographs}@{letters[:61]}",
    ]


@given(ids, ids, st.sampled_from(["ada@example.com", *longest_addresses()]))
def test_a_token_is_short_and_has_only_letters_and_digits(
    account_id: str, subscriber_id: str, email_key: str
) -> None:
    of_subscriber = (account_id, subscriber_id, email_key)
    urls = (LINKS.confirm_url(*of_subscriber, 2**51, 2**41), LINKS.unsubscribe_url(*of_subscriber))

    for text in map(token_of, urls):
        assert re.fullmatch("[0-9A-Za-z]+", text)
        assert len(text) <= (130 if len(email_key) < 30 else MAX_TOKEN_LENGTH) <= 420
    unsubscribe = LINKS.token(token_of(urls[1]))
    assert unsubscribe is not None
    assert unsubscribe.email_key == email_key


@each("added", ADDED)
def test_characters_that_mail_programs_add_are_ignored(added: str) -> None:
    of_subscriber = (first_id_at(1), first_id_at(2), "ada@example.com")
    texts = [
        token_of(LINKS.unsubscribe_url(*of_subscriber)),
        token_of(LINKS.confirm_url(*of_subscriber, 3, 4)),
        signed_token(KEY, *of_subscriber),
    ]

    assert all(LINKS.token(text + added) == LINKS.token(text) is not None for text in texts)
    assert LINKS.token(added) is None


@given(st.sampled_from(INSERTED), st.lists(st.integers(1, 60), min_size=1, max_size=3))
def test_breaks_that_mail_programs_insert_are_ignored(inserted: str, positions: list[int]) -> None:
    of_subscriber = (first_id_at(1), first_id_at(2), "ada@example.com")
    for text in (
        token_of(LINKS.unsubscribe_url(*of_subscriber)),
        token_of(LINKS.confirm_url(*of_subscriber, 3, 4)),
        signed_token(KEY, *of_subscriber),
    ):
        broken = text
        for position in sorted(positions, reverse=True):
            broken = broken[:position] + inserted + broken[position:]
        encoded = "".join(f"={ord(each):02X}" for each in text)

        assert LINKS.token(broken) == LINKS.token(encoded) == LINKS.token(text) is not None


def test_a_token_ends_with_any_change_of_a_character() -> None:
    of_subscriber = (first_id_at(1), first_id_at(2), "ada@example.com")
    for text in (
        token_of(LINKS.confirm_url(*of_subscriber, 3, 4)),
        token_of(LINKS.unsubscribe_url(*of_subscriber)),
        signed_token(KEY, *of_subscriber),
    ):
        for index, character in enumerate(text):
            other = "0" if character != "0" else "1"
            token = LINKS.token(text[:index] + other + text[index + 1 :])
            assert token is None or not LINKS.is_for(token, "ada@example.com"), index


@each(
    ("email_key", "expected"),
    [
        ("winifred@example.com", "wi…@example.com"),
        ("ada@mail.example.com", "ad…@mail.example.com"),
        ("bo@example.com", "b…@example.com"),
        ("x@example.com", "…@example.com"),
        ("ада@xn--e1afmkfd.xn--p1ai", "ад…@пример.рф"),
        ("a@b@example.com", "a@…@example.com"),
    ],
)
def test_a_masked_address_has_at_most_two_characters_and_never_all_of_the_local_part(
    email_key: str, expected: str
) -> None:
    assert masked(email_key) == expected


@each(
    ("color", "expected"),
    [("#ffffff", "#000"), ("#000000", "#fff"), ("#1a5fb4", "#fff"), ("#ffcc00", "#000")],
)
def test_text_contrasts_with_its_background(color: str, expected: str) -> None:
    assert text_color(color) == expected


@each("language", LANGUAGES)
@each("view", View)
def test_every_page_has_texts_in_every_language(view: View, language: str) -> None:
    html = page(language, Content(view, can_undo=True)).html.decode()

    assert f'<html lang="{language}">' in html
    assert "{" not in html.partition("</style>")[2]
    assert html.count("<h1>") == 1
