"""Pages by `limit`, `page` and page token."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from ulid import ULID

from rosterd.server.rpc.errors import ValidationError
from rosterd.server.rpc.paging import PageToken, is_text, parse_page_token
from rosterd.server.values.texts import caseless_key

LIST_KEY = "subscribers of status 2, oldest first"
IDS = st.integers(0, 2**128 - 1).map(lambda number: str(ULID.from_int(number)))
TOKENS = st.builds(
    PageToken,
    after=IDS,
    page=st.integers(2, 2**31 - 1),
    revision=st.integers(0, 2**63 - 1),
    total=st.none() | st.integers(0, 2**31 - 1),
)
URL_SAFE = frozenset(string.ascii_letters + string.digits + "-_")
TOKEN = PageToken("01M7Y32PXM2AM5ZB10TM2F2KVH", 2)


def assert_rejected(text: str, list_key: str = LIST_KEY) -> None:
    with pytest.raises(ValidationError) as caught:
        parse_page_token(text, list_key)
    assert [(d.field, d.code) for d in caught.value.details] == [("pageToken", "INVALID_VALUE")]


def encoded(plain: str) -> str:
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


@given(TOKENS, st.text())
def test_token_is_parsed_for_the_same_list(token: PageToken, list_key: str) -> None:
    text = token.text(list_key)

    assert parse_page_token(text, list_key) == token
    assert set(text) <= URL_SAFE
    assert len(text) <= 200  # the bound in the protos


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=100)


@given(NAMES.map(caseless_key), st.integers(2, 2**31 - 1), st.integers(0, 2**63 - 1))
@example("a.5", 2, 0)
@example("5.7.9", 2, 1)
@example("\U0001d160" * 100, 2**31 - 1, 2**63 - 1)
def test_token_of_a_list_by_name_is_parsed(name: str, page: int, revision: int) -> None:
    token = PageToken(caseless_key(name), page, revision)
    text = token.text(LIST_KEY)

    assert parse_page_token(text, LIST_KEY, is_key=is_text) == token
    assert set(text) <= URL_SAFE
    assert len(text) <= 2000  # the bound in the protos


@given(TOKENS, st.text(), st.text())
def test_token_of_another_list_is_rejected(token: PageToken, list_key: str, other: str) -> None:
    assume(list_key != other)
    assert_rejected(token.text(list_key), other)


@given(TOKENS, st.data())
def test_modified_token_is_rejected_or_selects_another_page_of_the_same_list(
    token: PageToken, data: st.DataObject
) -> None:
    text = token.text(LIST_KEY)
    position = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from(sorted(URL_SAFE - {text[position]})))
    changed = f"{text[:position]}{letter}{text[position + 1 :]}"

    try:
        parsed = parse_page_token(changed, LIST_KEY)
    except ValidationError:
        return
    assert len(parsed.after) == 26
    assert 1 < parsed.page < 2**31


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("{digest}.{after}", id="no page"),
        pytest.param("{digest}..{page}", id="no id"),
        pytest.param("{digest}.{lower}.{page}", id="no ULID"),
        pytest.param("{digest}.{after}.1", id="first page"),
        pytest.param("{digest}.{after}.2147483648", id="past int32"),
        pytest.param("{digest}.{after}.{digits}", id="digits"),
    ],
)
def test_malformed_token_is_rejected(form: str) -> None:
    digest, after, page = base64.urlsafe_b64decode(TOKEN.text(LIST_KEY) + "==").decode().split(".")
    assert parse_page_token(encoded(f"{digest}.{after}.{page}"), LIST_KEY) == TOKEN

    parts = {"digest": digest, "after": after, "page": page}
    assert_rejected(encoded(form.format(**parts, lower=after.lower(), digits="9" * 5000)))
