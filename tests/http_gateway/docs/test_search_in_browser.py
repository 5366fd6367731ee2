"""Search in a browser: the dialog, its results, and the keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Reader

pytestmark = pytest.mark.verify


def search(reader: Reader, text: str) -> Locator:
    """Opens the search with the keyboard, enters text and returns the results."""
    reader.page.keyboard.press("/")
    expect(reader.page.get_by_role("combobox", name="Search")).to_be_focused()
    reader.page.keyboard.type(text)
    return reader.page.locator("#results [role=option]")


@pytest.mark.parametrize(
    ("text", "title", "url"),
    [
        ("delete tag", "Delete tag", "/docs#DeleteTag"),
        ("double opt-in", "Double opt-in", "/docs/guides/consent#double-opt-in"),
        ("isConfirmed create", "isConfirmed", "/docs#CreateSubscriber"),
    ],
)
def test_enter_opens_the_first_result(
    guide_reader: Reader, text: str, title: str, url: str
) -> None:
    guide_reader.open()

    expect(search(guide_reader, text).first.locator("strong")).to_have_text(title)
    guide_reader.page.keyboard.press("Enter")

    expect(guide_reader.page).to_have_url(guide_reader.url.partition("/docs")[0] + url)
    assert guide_reader.problems == []
