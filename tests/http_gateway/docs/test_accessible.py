"""Accessibility of the documentation: axe-core reports no violation of WCAG 2.2 up to level AA."""

from __future__ import annotations

import pytest

from ...browser import violations
from .conftest import Reader

pytestmark = pytest.mark.verify

# Checking every operation takes long, and all have the same structure.
PAGE = (".bar", ".key", ".navigation", "#introduction", "#errors", "#headers")
OPERATIONS = ("#CreateSubscriber", "#UpdateTag", "#ListTags", "#DeleteTag", "#ImportSubscribers")
SCHEMES = [{"color_scheme": "light"}, {"color_scheme": "dark"}]


@pytest.mark.parametrize("reader", SCHEMES, indirect=True, ids=str)
def test_reference_has_no_accessibility_violation(reader: Reader) -> None:
    reader.open()
    reader.enter_key()
    reader.page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    reader.page.locator("#ListTags").get_by_label("limit").fill("-1")
    for operation, status in (("CreateSubscriber", "201 Created"), ("ListTags", "400 Bad Request")):
        assert reader.send(reader.page.locator(f"#{operation} .try")) == status

    assert violations(reader.page, *PAGE, *OPERATIONS) == []


@pytest.mark.parametrize("guide_reader", SCHEMES, indirect=True, ids=str)
@pytest.mark.parametrize("path", ["/docs/guides/statuses", "/docs/guides/webhooks", "/nothing"])
def test_other_pages_have_no_accessibility_violation(guide_reader: Reader, path: str) -> None:
    guide_reader.url = guide_reader.url.replace("/docs/guides/webhooks", path)
    guide_reader.open()

    for width in (360, 1280):
        guide_reader.page.set_viewport_size({"width": width, "height": 800})
        assert violations(guide_reader.page, "html") == [], width


def test_error_page_has_the_theme_of_the_documentation_and_a_visible_focus(
    guide_reader: Reader,
) -> None:
    page = guide_reader.page
    guide_reader.open()
    page.evaluate("localStorage.setItem('docs-theme', 'dark')")
    page.goto(guide_reader.url.replace("/docs/guides/webhooks", "/nothing"))

    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.keyboard.press("Tab")
    link = page.locator("a:focus-visible")
    assert link.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs")
