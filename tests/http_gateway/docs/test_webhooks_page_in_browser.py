"""The page about webhooks in a real browser: alone, readable on a phone, one language at a time."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Reader
from .test_in_browser import NARROWEST, PHONE

pytestmark = pytest.mark.verify


def test_page_loads_in_one_request_and_without_a_complaint(webhooks_reader: Reader) -> None:
    webhooks_reader.open()

    expect(webhooks_reader.page).to_have_title("Roster webhooks")
    assert webhooks_reader.asked == [webhooks_reader.url]
    assert webhooks_reader.troubles == []


@pytest.mark.parametrize("webhooks_reader", [PHONE], indirect=True, ids=["phone"])
def test_nothing_of_the_page_is_wider_than_a_phone(webhooks_reader: Reader) -> None:
    webhooks_reader.open()

    width = webhooks_reader.page.evaluate("document.documentElement.scrollWidth")

    assert width == NARROWEST


def test_reader_chooses_a_language_and_goes_from_kind_to_kind(webhooks_reader: Reader) -> None:
    page = webhooks_reader.page
    webhooks_reader.open("tag.deleted")
    expect(page.locator("[id='tag.deleted'] h3")).to_be_in_viewport()

    page.locator("#receiving").get_by_role("button", name="Go").click()
    expect(page.locator("#receiving .sample.chosen code")).to_contain_text("package main")

    page.locator('.navigation a[href="#webhook.test"]').click()
    expect(page.locator(".navigation [aria-current]")).to_have_text("webhook.test")
    assert webhooks_reader.troubles == []


def test_pages_lead_to_each_other(webhooks_reader: Reader) -> None:
    page = webhooks_reader.page
    webhooks_reader.open()

    page.locator(".bar").get_by_role("link", name="Reference").click()
    expect(page).to_have_title("Roster API reference")
    page.locator(".bar").get_by_role("link", name="Webhooks").click()
    expect(page).to_have_title("Roster webhooks")
