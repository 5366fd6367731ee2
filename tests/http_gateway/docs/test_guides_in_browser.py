"""The guides in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Reader

pytestmark = pytest.mark.verify


def test_guide_loads_in_one_request_without_problems(guide_reader: Reader) -> None:
    guide_reader.open()

    expect(guide_reader.page).to_have_title("Receive webhooks – Roster")
    assert guide_reader.requests == [guide_reader.url]
    assert guide_reader.problems == []


def test_language_is_the_same_in_all_samples(guide_reader: Reader) -> None:
    page = guide_reader.page
    guide_reader.open()
    receiver = page.locator(".samples").filter(has_text="Go")

    receiver.get_by_role("button", name="Python").click()
    expect(receiver.locator(".sample.chosen code")).to_contain_text("from standardwebhooks")

    page.goto(guide_reader.url.replace("guides/webhooks", "guides/quick-start"))
    expect(page.locator(".sample.chosen code")).to_contain_text("import requests")
    assert guide_reader.problems == []
