"""The reference in a browser: loading, samples, themes, screens and the keyboard."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from .conftest import Reader

pytestmark = pytest.mark.verify

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
NARROWEST = 360


def test_page_loads_in_one_request_without_problems(reader: Reader) -> None:
    reader.open()

    expect(reader.page).to_have_title("Roster API reference")
    assert reader.requests == [reader.url]
    assert reader.problems == []


def test_samples_use_the_address_of_the_page_and_the_key(reader: Reader) -> None:
    reader.open()
    code = reader.page.locator("#ListTags .sample.chosen code")
    expect(code).to_contain_text("$ROSTER_API_KEY")
    expect(code).to_contain_text(f'"http://{urlsplit(reader.url).netloc}/api/tags')

    reader.enter_key()
    expect(code).not_to_contain_text(reader.key)
    reader.page.get_by_role("button", name="Show").click()
    expect(code).to_contain_text(f"Bearer {reader.key}")

    reader.page.locator("#ListTags").get_by_role("button", name="Python").click()
    expect(code).to_contain_text(f'"Bearer " + "{reader.key}"')
    expect(reader.page.locator("#GetTag .sample.chosen")).to_contain_text("import requests")


def test_copied_sample_contains_the_masked_key(user: Reader) -> None:
    panel = user.page.locator("#ListTags .samples")
    expect(panel.locator(".chosen code")).not_to_contain_text(user.key)

    panel.locator(".copy").click()

    expect(panel.locator(".copy")).to_have_text("Copied")
    copied = user.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl ")
    assert f"Bearer {user.key}" in copied


@pytest.mark.parametrize("reader", [PHONE], indirect=True, ids=["360"])
def test_page_fits_a_narrow_screen_with_everything_expanded(reader: Reader) -> None:
    reader.open()
    reader.page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    reader.enter_key()
    reader.send(reader.page.locator("#CreateSubscriber .try"))

    width = reader.page.evaluate("document.documentElement.scrollWidth")

    assert width <= NARROWEST


@pytest.mark.parametrize("reader", [{"java_script_enabled": False}], indirect=True, ids=["plain"])
def test_reference_can_be_read_without_scripts(reader: Reader) -> None:
    reader.open()
    page = reader.page

    expect(page.locator("#CreateSubscriber .sample").nth(2)).to_be_visible()
    expect(page.locator("#CreateSubscriber .fields").first).to_be_visible()
    expect(page.locator("#CreateSubscriber .try")).to_be_hidden()
    expect(page.locator("#CreateSubscriber .samples > header")).to_be_hidden()
    expect(page.locator(".navigation")).to_be_visible()
