"""The ways through the page in a real browser: the filter, the Tab key, and where the reader is."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Reader

pytestmark = pytest.mark.verify

# An operation comes into sight below the end of the one before it.
SCROLL = """
([id, part]) => {
  const { top } = document.getElementById(id).getBoundingClientRect();
  scrollBy({ top: top - innerHeight * part, behavior: "instant" });
}
"""
# The row of the bar that the focus is in, and how far from the left; then what has it.
FOCUSED = """
() => {
  const { left, top } = document.activeElement.getBoundingClientRect();
  return [Math.round(top / 40), left, document.activeElement.id];
}
"""
SCREENS = [(1280, 800), (360, 740)]


def test_enter_in_the_filter_goes_to_the_first_that_is_left(reader: Reader) -> None:
    reader.open()
    page = reader.page

    page.keyboard.press("/")
    page.keyboard.type("delete tag")
    page.keyboard.press("Enter")

    expect(page).to_have_url(f"{reader.url}#DeleteTag")
    expect(page.locator("#DeleteTag h3")).to_be_in_viewport()


@pytest.mark.parametrize("size", SCREENS, ids=str)
def test_tab_key_goes_through_the_bar_from_left_to_right(
    reader: Reader, size: tuple[int, int]
) -> None:
    width, height = size
    reader.page.set_viewport_size({"width": width, "height": height})
    reader.open()
    reader.page.keyboard.press("Tab")
    places: list[list[int | str]] = []
    while not places or places[-1][-1] != "key-shown":
        reader.page.keyboard.press("Tab")
        places.append(reader.page.evaluate(FOCUSED))

    assert places == sorted(places)


def test_navigation_marks_what_fills_the_screen(reader: Reader) -> None:
    reader.open()
    current = reader.page.locator(".navigation [aria-current]")

    reader.page.evaluate(SCROLL, ["DeleteSubscriber", 0.5])
    expect(current).to_contain_text("Update subscriber")
    reader.page.evaluate(SCROLL, ["DeleteSubscriber", 0.25])
    expect(current).to_contain_text("Delete subscriber")


def test_link_that_was_followed_is_marked_however_short_its_section_is(reader: Reader) -> None:
    reader.page.set_viewport_size({"width": 1280, "height": 1400})
    reader.open()
    current = reader.page.locator(".navigation [aria-current]")

    for name in ("Authentication", "Pagination", "Idempotency", "Limits"):
        reader.page.locator(".navigation a", has_text=name).click()
        expect(current).to_have_text(name)
