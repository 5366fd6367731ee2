"""Navigation in the reference: the Tab key, and the marked section."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Reader

pytestmark = pytest.mark.verify

# Scrolls until an operation begins at a fraction of the screen height.
SCROLL = """
([id, part]) => {
  const { top } = document.getElementById(id).getBoundingClientRect();
  scrollBy({ top: top - innerHeight * part, behavior: "instant" });
}
"""
# The row and the column of the focused element, and its id.
FOCUSED = """
() => {
  const { left, top } = document.activeElement.getBoundingClientRect();
  return [Math.round(top / 40), left, document.activeElement.id];
}
"""
SCREENS = [(1280, 800), (360, 740)]


@pytest.mark.parametrize("size", SCREENS, ids=str)
def test_tab_key_moves_through_the_bar_from_left_to_right(
    reader: Reader, size: tuple[int, int]
) -> None:
    width, height = size
    reader.page.set_viewport_size({"width": width, "height": height})
    reader.open()
    reader.page.keyboard.press("Tab")
    positions: list[list[int | str]] = []
    while not positions or positions[-1][-1] != "key-shown":
        reader.page.keyboard.press("Tab")
        positions.append(reader.page.evaluate(FOCUSED))

    assert positions == sorted(positions)


def test_navigation_marks_the_section_that_fills_the_screen(reader: Reader) -> None:
    reader.open()
    current = reader.page.locator(".navigation [aria-current]")

    reader.page.evaluate(SCROLL, ["DeleteSubscriber", 0.5])
    expect(current).to_contain_text("Update subscriber")
    reader.page.evaluate(SCROLL, ["DeleteSubscriber", 0.25])
    expect(current).to_contain_text("Delete subscriber")


def test_followed_link_is_marked_even_if_its_section_is_short(reader: Reader) -> None:
    reader.page.set_viewport_size({"width": 1280, "height": 1400})
    reader.open()
    current = reader.page.locator(".navigation [aria-current]")

    for name in ("Errors", "Limits", "Streams"):
        reader.page.locator(f'.navigation a[href="#{name.lower()}"]').click()
        expect(current).to_have_text(name)
