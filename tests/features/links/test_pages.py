"""The pages that links open, in a browser: accessible, complete without scripts, and alone."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from rosterd.server.features.links import pages
from rosterd.server.features.links.pages import LANGUAGES, View

from ...behavior.helpers import create_subscriber, link_urls
from ...browser import TIMEOUT, violations
from ...conftest import Account

pytestmark = pytest.mark.verify

# Of buttons. The text on them is black on the first one and white on the second.
COLORS = {"light": "#ffe066", "dark": "#33174d"}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (360, 1280)
GIF = bytes.fromhex("47494638396101000100000000002c00000000010001000002024401003b")


def texts(language: str) -> Any:
    return json.loads((Path(pages.__file__).parent / f"texts/{language}.json").read_text())


class Person:
    """A person with a subscriber, their links, and a browser."""

    def __init__(self, account: Account, page: Page, language: str = "en") -> None:
        self.page = page
        self.texts = texts(language)
        self.account = account
        self.id = create_subscriber(account, "ada@example.com")["id"]
        self.confirm_url, self.unsubscribe_url = link_urls(account, self.id)
        # The URLs of all requests, and all messages on the console.
        self.requests: list[str] = []
        self.messages: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.messages.append(message.text))

    def open(self, url: str) -> None:
        self.page.goto(url)

    def press(self, view: View | str) -> None:
        """Presses the button of a page."""
        self.page.get_by_role("button", name=self.texts[view]["button"], exact=True).click()

    def expect(self, view: View) -> None:
        expect(self.page.get_by_role("heading")).to_have_text(self.texts[view]["title"])

    def status(self) -> str:
        return str(self.account.ok("GetSubscriber", id=self.id)["subscriber"]["status"])


OUTLINE = "each => getComputedStyle(each).outlineStyle"
# The pages that forms get, see test_form.py.
FORM_VIEWS = {
    View.SIGNED_UP,
    View.INVALID_EMAIL,
    View.INVALID_NAME,
    View.TOO_MANY,
    View.FORM_FAILED,
}


@contextmanager
def new_page(browser: Browser, **options: Any) -> Iterator[Page]:
    context = browser.new_context(**options)
    context.set_default_timeout(TIMEOUT)
    yield context.new_page()
    context.close()


def set_design(account: Account, color: str = "") -> None:
    logo = b64encode(GIF).decode()
    account.ok("UpdateAccount", displayName="Analytical Letters", color=color, logo=logo)


@pytest.mark.parametrize("color", COLORS.values(), ids=COLORS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_pages_have_no_accessibility_violation(
    browser: Browser, http_account: Account, language: str, color: str
) -> None:
    set_design(http_account, color)
    seen = []

    def check(view: View) -> None:
        person.expect(view)
        assert person.page.locator("html").get_attribute("lang") == language
        for theme, width in product(THEMES, WIDTHS):
            person.page.emulate_media(color_scheme=theme)
            person.page.set_viewport_size({"width": width, "height": 800})
            assert violations(person.page, "html") == [], (view, theme, width)
        seen.append(view)

    with new_page(browser, locale=language) as page:
        person = Person(http_account, page, language)
        person.open(person.confirm_url)
        check(View.CONFIRM)
        person.press(View.CONFIRM)
        check(View.CONFIRMED)
        person.open(person.unsubscribe_url)
        check(View.UNSUBSCRIBE)
        person.press(View.UNSUBSCRIBE)
        check(View.UNSUBSCRIBED)
        person.press("undo")
        check(View.RESUBSCRIBED)
        http_account.ok("ChangeSubscriberStatus", id=person.id, status="COMPLAINED")
        person.open(person.confirm_url)
        check(View.ENDED)
        person.open(link_urls(http_account, person.id)[0])
        check(View.NOT_CONFIRMABLE)
        person.open(f"{person.confirm_url[:-1]}!")
        check(View.INVALID)

    assert sorted(seen) == sorted(set(View) - FORM_VIEWS)


def test_pages_work_without_scripts_and_load_nothing(
    browser: Browser, http_account: Account
) -> None:
    set_design(http_account)
    with new_page(browser, java_script_enabled=False, locale="en") as page:
        person = Person(http_account, page)
        person.open(person.confirm_url)
        person.press(View.CONFIRM)
        person.expect(View.CONFIRMED)
        assert person.status() == "CONFIRMED"

        person.open(person.unsubscribe_url)
        assert person.status() == "CONFIRMED"
        person.press(View.UNSUBSCRIBE)
        person.expect(View.UNSUBSCRIBED)
        assert person.status() == "UNSUBSCRIBED"
        person.press("undo")
        person.expect(View.RESUBSCRIBED)
        assert person.status() == "CONFIRMED"

    assert person.requests == 2 * [person.confirm_url] + 3 * [person.unsubscribe_url]
    assert person.messages == []


def test_page_fits_a_small_screen(browser: Browser, http_account: Account) -> None:
    http_account.ok("UpdateAccount", displayName="W" * 100)
    with new_page(browser, locale="de", viewport={"width": 320, "height": 480}) as page:
        person = Person(http_account, page, "de")
        person.open(person.unsubscribe_url)

        assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_keyboard_reaches_the_button(browser: Browser, http_account: Account) -> None:
    with new_page(browser, locale="en") as page:
        person = Person(http_account, page)
        person.open(person.unsubscribe_url)
        page.keyboard.press("Tab")
        assert page.locator("button:focus-visible").evaluate(OUTLINE) == "solid"
        page.keyboard.press("Enter")
        person.expect(View.UNSUBSCRIBED)


def test_button_is_visible_in_forced_colors(browser: Browser, http_account: Account) -> None:
    with new_page(browser, locale="en", forced_colors="active") as page:
        person = Person(http_account, page)
        person.open(person.unsubscribe_url)

        border, background = page.locator("button").evaluate(
            "each => [getComputedStyle(each).borderColor, getComputedStyle(each).backgroundColor]"
        )
        assert border != background
