"""The guides in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Reader
from .test_reference_in_browser import NARROWEST, PHONE

pytestmark = pytest.mark.verify


def test_guide_loads_in_one_request_without_problems(guide_reader: Reader) -> None:
    guide_reader.open()

    expect(guide_reader.page).to_have_title("Receive webhooks – Roster")
    assert guide_reader.requests == [guide_reader.url]
    assert guide_reader.problems == []


@pytest.mark.parametrize("guide_reader", [PHONE], indirect=True, ids=["phone"])
@pytest.mark.parametrize("name", ["webhooks", "statuses", "errors", "import"])
def test_guide_fits_a_narrow_screen(guide_reader: Reader, name: str) -> None:
    guide_reader.url = guide_reader.url.replace("webhooks", name)
    guide_reader.open()

    assert guide_reader.page.evaluate("document.documentElement.scrollWidth") == NARROWEST


def test_language_is_the_same_in_all_samples(guide_reader: Reader) -> None:
    page = guide_reader.page
    guide_reader.open()
    receiver = page.locator(".samples").filter(has_text="Go")

    receiver.get_by_role("button", name="Python").click()
    expect(receiver.locator(".sample.chosen code")).to_contain_text("from standardwebhooks")

    page.goto(guide_reader.url.replace("guides/webhooks", "guides/quick-start"))
    expect(page.locator(".sample.chosen code")).to_contain_text("import requests")
    assert guide_reader.problems == []


def test_section_of_a_guide_is_linked_and_marked_in_the_navigation(guide_reader: Reader) -> None:
    page = guide_reader.page
    guide_reader.open()

    page.locator(".navigation").get_by_role("link", name="Retries").click()

    expect(page.locator("h2#retries")).to_be_in_viewport()
    expect(page.locator('.navigation [aria-current="location"]')).to_have_text("Retries")
    expect(page.locator('.navigation [aria-current="page"]')).to_have_text("Receive webhooks")


def test_guides_and_reference_link_to_each_other(guide_reader: Reader) -> None:
    page = guide_reader.page
    guide_reader.open()

    page.get_by_role("main").get_by_role("link", name="POST /api/webhooks/{id}/test").click()
    expect(page).to_have_title("Roster API reference")
    expect(page.locator("#TestWebhook h3")).to_be_in_viewport()
    page.locator(".navigation").get_by_role("link", name="Quick start").click()
    page.get_by_role("link", name="Next Authentication").click()
    expect(page).to_have_title("Authentication – Roster")


@pytest.mark.parametrize(
    "guide_reader", [{"java_script_enabled": False}], indirect=True, ids=["plain"]
)
def test_guide_can_be_read_without_scripts(guide_reader: Reader) -> None:
    page = guide_reader.page
    guide_reader.open()

    expect(page.get_by_text("package main")).to_be_visible()
    expect(page.locator(".navigation")).to_be_visible()
    expect(page.locator(".search-button")).to_be_hidden()
