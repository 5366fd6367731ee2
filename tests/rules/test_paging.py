"""Pages: what `limit` and `page` come to."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from server.paging import Page, page_of


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
