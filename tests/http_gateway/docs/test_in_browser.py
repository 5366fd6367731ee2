"""The page in a real browser: it loads alone, leads its reader, and fits screens and keyboards."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import FloatRect, Locator, expect

from .conftest import Reader

pytestmark = pytest.mark.verify

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
NARROWEST = 360


def test_page_loads_in_one_request_and_without_a_complaint(reader: Reader) -> None:
    reader.open()

    expect(reader.page).to_have_title("Roster API reference")
    assert reader.asked == [reader.url]
    assert reader.troubles == []


def test_examples_take_the_address_of_the_page_and_the_key(reader: Reader) -> None:
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


def test_copied_example_holds_the_key_that_is_masked_on_the_screen(user: Reader) -> None:
    panel = user.page.locator("#ListTags .samples")
    expect(panel.locator(".chosen code")).not_to_contain_text(user.key)

    panel.locator(".copy").click()

    expect(panel.locator(".copy")).to_have_text("Copied")
    copied = user.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl ")
    assert f"Bearer {user.key}" in copied


def test_link_leads_to_an_operation_and_the_navigation_shows_where_the_reader_is(
    reader: Reader,
) -> None:
    reader.open("UpdateTagByPatch")

    expect(reader.page.locator("#UpdateTag h3")).to_be_in_viewport()
    current = reader.page.locator(".navigation [aria-current]")
    expect(current).to_contain_text("Update tag")

    reader.page.locator('.navigation a[href="#authentication"]').click()
    expect(current).to_have_text("Authentication")


def test_filter_leaves_what_has_all_words(user: Reader) -> None:
    page = user.page
    page.locator("main").focus()
    page.keyboard.press("/")
    page.keyboard.type("delete tag")

    assert page.locator(".navigation a:visible").all_inner_texts() == ["Delete tag\nDELETE"]

    page.keyboard.type(" nothing")
    expect(page.get_by_text("No matches.")).to_be_visible()
    page.locator("#filter").fill("")


def test_theme_follows_the_system_until_the_reader_decides(reader: Reader) -> None:
    page = reader.page
    background = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="dark")
    reader.open()
    dark = page.evaluate(background)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(background)
    assert dark != light

    page.get_by_role("button", name="Use dark colours").click()
    assert page.evaluate(background) == dark

    page.reload()
    assert page.evaluate(background) == dark


@pytest.mark.parametrize("reader", [PHONE], indirect=True, ids=["360"])
def test_page_fits_a_narrow_screen_with_everything_unfolded(reader: Reader) -> None:
    reader.open()
    reader.page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    reader.enter_key()
    reader.send(reader.page.locator("#CreateSubscriber .try"))

    width = reader.page.evaluate("document.documentElement.scrollWidth")

    assert width <= NARROWEST


def box_of(part: Locator) -> FloatRect:
    box = part.bounding_box()
    assert box is not None
    return box


@pytest.mark.parametrize("reader", [PHONE], indirect=True, ids=["360"])
def test_menu_opens_leads_on_and_closes_by_keyboard(reader: Reader) -> None:
    reader.open()
    page = reader.page
    menu, navigation = page.get_by_role("button", name="Contents"), page.locator(".navigation")
    expect(navigation).to_be_hidden()

    menu.focus()
    page.keyboard.press("Enter")
    expect(navigation).to_be_visible()
    assert box_of(page.locator("#filter"))["y"] >= box_of(page.locator(".bar"))["height"]
    page.keyboard.press("Escape")
    expect(navigation).to_be_hidden()
    expect(menu).to_be_focused()

    page.keyboard.press("Enter")
    page.locator(".navigation a").last.focus()
    page.keyboard.press("Tab")
    expect(navigation).to_be_hidden()

    menu.focus()
    page.keyboard.press("Enter")
    page.locator('.navigation a[href="#GetTag"]').focus()
    page.keyboard.press("Enter")
    expect(navigation).to_be_hidden()
    expect(page.locator("#GetTag h3")).to_be_in_viewport()


def test_first_stop_of_the_tab_key_skips_to_the_content(reader: Reader) -> None:
    reader.open()
    page = reader.page

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("main")).to_be_focused()


@pytest.mark.parametrize("reader", [{"java_script_enabled": False}], indirect=True, ids=["plain"])
def test_everything_can_be_read_without_a_script(reader: Reader) -> None:
    reader.open()
    page = reader.page

    expect(page.locator("#CreateSubscriber .sample").nth(2)).to_be_visible()
    expect(page.locator("#CreateSubscriber .fields").first).to_be_visible()
    expect(page.locator("#CreateSubscriber .try")).to_be_hidden()
    expect(page.locator("#CreateSubscriber .samples > header")).to_be_hidden()
    expect(page.locator(".navigation")).to_be_visible()
