"""Pages: what `limit`, `page` and a page token come to."""

from __future__ import annotations

import base64
import string
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ulid import ULID

from server.errors import ValidationError
from server.paging import Page, PageToken, page_of, parse_page_token


@dataclass(frozen=True)
class Request:
    limit: int = 0
    page: int = 0


@pytest.mark.parametrize(
    ("request_", "page"),
    [
        pytest.param(Request(), Page(1, 20), id="nothing"),
        pytest.param(Request(limit=1), Page(1, 1), id="one"),
        pytest.param(Request(limit=100), Page(1, 100), id="the most"),
        pytest.param(Request(limit=101), Page(1, 100), id="over the most"),
        pytest.param(Request(limit=2**31 - 1, page=2**31 - 1), Page(2**31 - 1, 100), id="int32"),
        pytest.param(Request(page=3), Page(3, 20), id="page three"),
    ],
)
def test_request_asks_for_page(request_: Request, page: Page) -> None:
    assert page_of(request_) == page


@pytest.mark.parametrize(
    ("page", "offset"), [(Page(1, 20), 0), (Page(2, 20), 20), (Page(2**31 - 1, 100), 214748364600)]
)
def test_offset_counts_what_comes_before_the_page(page: Page, offset: int) -> None:
    assert page.offset == offset


ASKED = "subscribers of status 2, oldest first"
IDS = st.integers(0, 2**128 - 1).map(lambda number: str(ULID.from_int(number)))
TOKENS = st.builds(PageToken, after=IDS, page=st.integers(2, 2**31 - 1))
URL_SAFE = frozenset(string.ascii_letters + string.digits + "-_")
TOKEN = PageToken("01M7Y32PXM2AM5ZB10TM2F2KVH", 2)


def assert_refused(text: str, asked: str = ASKED) -> None:
    """Holds if a text is no token of the list, and the parameter is named."""
    with pytest.raises(ValidationError) as caught:
        parse_page_token(text, asked)
    assert [(d.field, d.code) for d in caught.value.details] == [("pageToken", "INVALID_VALUE")]


def encoded(plain: str) -> str:
    """Returns a text as tokens are written."""
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


@given(TOKENS, st.text())
def test_token_comes_back_as_it_was_for_the_same_list(token: PageToken, asked: str) -> None:
    text = token.text(asked)

    assert parse_page_token(text, asked) == token
    assert set(text) <= URL_SAFE
    assert len(text) <= 200  # the bound in the protos


@given(TOKENS, st.text(), st.text())
def test_token_of_another_list_is_refused(token: PageToken, asked: str, other: str) -> None:
    assume(asked != other)
    assert_refused(token.text(asked), other)


@given(TOKENS, st.data())
def test_token_that_was_changed_is_refused_or_leads_elsewhere_on_the_same_list(
    token: PageToken, data: st.DataObject
) -> None:
    text = token.text(ASKED)
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from(sorted(URL_SAFE - {text[place]})))
    changed = f"{text[:place]}{letter}{text[place + 1 :]}"

    try:
        parsed = parse_page_token(changed, ASKED)
    except ValidationError:
        return
    assert len(parsed.after) == 26
    assert 1 < parsed.page < 2**31


@given(st.text() | st.text(sorted(URL_SAFE), max_size=80) | st.binary().map(str))
def test_garbage_is_refused(text: str) -> None:
    assert_refused(text)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda digest, after, page: f"{digest}.{after}", id="no page"),
        pytest.param(lambda digest, after, page: f"{digest}.{after}.{page}.", id="a part more"),
        pytest.param(lambda digest, after, page: f".{after}.{page}", id="no digest"),
        pytest.param(lambda digest, after, page: f"{digest}..{page}", id="no id"),
        pytest.param(lambda digest, after, page: f"{digest}.{after.lower()}.{page}", id="no ULID"),
        pytest.param(lambda digest, after, page: f"{digest}.{after}'--.{page}", id="quote"),
        pytest.param(lambda digest, after, page: f"{digest}.{after}.one", id="no number"),
        pytest.param(lambda digest, after, page: f"{digest}.{after}.1", id="first page"),
        pytest.param(lambda digest, after, page: f"{digest}.{after}.-2", id="negative page"),
        pytest.param(lambda digest, after, page: f"{digest}.{after}.{2**31}", id="past int32"),
        pytest.param(lambda digest, after, page: f"{digest}.{after}.{'9' * 5000}", id="digits"),
    ],
)
def test_token_that_someone_put_together_wrongly_is_refused(change: Any) -> None:
    digest, after, page = base64.urlsafe_b64decode(TOKEN.text(ASKED) + "==").decode().split(".")
    assert parse_page_token(encoded(f"{digest}.{after}.{page}"), ASKED) == TOKEN

    assert_refused(encoded(change(digest, after, page)))


@pytest.mark.parametrize("text", ["", "A", "====", "é", "\ud800", "a b", "a\n"], ids=ascii)
def test_text_that_is_no_base64_is_refused(text: str) -> None:
    assert_refused(text)
    assert_refused(f"{text}{TOKEN.text(ASKED)}A")
