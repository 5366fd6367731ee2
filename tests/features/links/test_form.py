"""The form of the guide to sign-ups, on websites of other origins in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from ...browser import violations
from ...conftest import Account, new_account
from ...documents import code
from ...fronts import HttpFront
from ...processes import Service, start
from ...samples import KEY, localized
from .website import Website, website

pytestmark = pytest.mark.verify

GUIDE = "server/guides/sign-up.md"
THANKS = "Thank you! If you receive a mail that asks you to confirm, please open the link in it."
HTML = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>News</title><main><h1>News</h1>{}</main></html>"""
FAILED = "That did not work. Please check your address and try again later."


@pytest.fixture(scope="module")
def allowed() -> Iterator[Website]:
    """A website whose origin is in ROSTER_CORS_ORIGINS."""
    with website() as running:
        yield running


@pytest.fixture(scope="module")
def other() -> Iterator[Website]:
    """A website of another origin."""
    with website() as running:
        yield running


@pytest.fixture(scope="module")
def signup_service(allowed: Website, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = start(tmp_path_factory.mktemp("signups"), ROSTER_CORS_ORIGINS=allowed.origin)
    yield running
    assert (running.stop(), running.traces()) == (0, [])


@pytest.fixture
def account(signup_service: Service) -> Account:
    return new_account(signup_service, HttpFront("http", signup_service.http))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_page() as opened:
        yield opened


def open_form(page: Page, site: Website, account: Account) -> None:
    """Opens a page that contains the form with the address of the service and a key."""
    form = localized(code(GUIDE, "example: form.html"), account)
    site.html = HTML.format(form.replace(KEY, account.new_key("signup")))
    page.goto(site.origin)


@pytest.fixture
def without_script(browser: Browser) -> Iterator[Page]:
    """A page in a browser that runs no scripts of websites."""
    with browser.new_context(java_script_enabled=False, locale="de") as context:
        yield context.new_page()


def open_plain_form(
    page: Page, site: Website, account: Account, redirect: str = "", key: str = ""
) -> None:
    """Opens a page with the form that needs no script."""
    form = localized(code(GUIDE, "example: plain_form.html"), account)
    form = form.replace(KEY, key or account.new_key("signup"))
    style = code(GUIDE, "example: form.html").partition("<form")[0]
    site.html = HTML.format(style + form.replace("https://www.example.com/thanks", redirect))
    page.goto(site.origin)


def send(page: Page, email: str = "ada@example.com") -> None:
    page.get_by_label("Email address").fill(email)
    page.get_by_label("First name").fill("Ada")
    page.get_by_role("button", name="Subscribe").click()


def subscribers(account: Account) -> list[Any]:
    listed: list[Any] = account.ok("ListSubscribers")["subscribers"]
    return listed


def test_form_stores_a_subscriber(page: Page, allowed: Website, account: Account) -> None:
    open_form(page, allowed, account)

    send(page)

    expect(page.get_by_text(THANKS)).to_be_visible()
    expect(page.get_by_label("Email address")).to_have_value("")
    (stored,) = subscribers(account)
    assert (stored["email"], stored["firstName"]) == ("ada@example.com", "Ada")
    assert stored["status"] == "UNCONFIRMED"


def test_form_of_another_origin_stores_nothing(
    page: Page, other: Website, account: Account
) -> None:
    open_form(page, other, account)

    send(page)

    expect(page.get_by_text(FAILED)).to_be_visible()
    expect(page.get_by_label("Email address")).to_have_value("ada@example.com")
    assert subscribers(account) == []


def test_form_shows_the_error_for_an_address_that_is_rejected(
    page: Page, allowed: Website, account: Account
) -> None:
    open_form(page, allowed, account)

    send(page, "ada@localhost")

    expect(page.get_by_text(FAILED)).to_be_visible()
    assert subscribers(account) == []


def test_program_that_fills_in_every_field_stores_nothing(
    page: Page, allowed: Website, account: Account
) -> None:
    open_form(page, allowed, account)
    page.locator("[name=website]").evaluate("each => each.value = 'https://spam.example'")

    send(page)

    expect(page.get_by_text(THANKS)).to_be_visible()
    assert subscribers(account) == []


def test_people_and_screen_readers_do_not_reach_the_hidden_field(
    page: Page, allowed: Website, account: Account
) -> None:
    open_form(page, allowed, account)
    form = page.locator("form")
    focused = []
    for _ in range(3):
        page.keyboard.press("Tab")
        focused.append(page.evaluate("document.activeElement.name || document.activeElement.type"))

    assert focused == ["email", "firstName", "submit"]
    expect(page.locator("[name=website]")).to_be_hidden()
    assert "empty" not in form.aria_snapshot()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_form_has_no_accessibility_violation(
    browser: Browser, allowed: Website, account: Account, theme: Any, width: int
) -> None:
    page = browser.new_page(color_scheme=theme, viewport={"width": width, "height": 800})
    open_form(page, allowed, account)
    assert violations(page, "html") == []

    send(page)
    expect(page.get_by_text(THANKS)).to_be_visible()

    assert violations(page, "html") == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("[aria-live=polite]").inner_text() == THANKS
    page.close()


@pytest.mark.parametrize("is_allowed", [True, False])
def test_form_without_script_stores_a_subscriber(
    without_script: Page, allowed: Website, other: Website, account: Account, is_allowed: bool
) -> None:
    account.ok("UpdateAccount", displayName="Analytical Letters")
    page, site = without_script, allowed if is_allowed else other
    open_plain_form(page, site, account, redirect=f"{site.origin}/thanks")
    page.get_by_label("First name").fill("Ädä")

    page.get_by_label("Email address").fill("ada@example.com")
    page.get_by_role("button", name="Subscribe").click()

    if is_allowed:
        page.wait_for_url(f"{site.origin}/thanks")
    else:
        expect(page.get_by_role("heading")).to_have_text("Danke für Ihre Anmeldung")
        expect(page.get_by_text("Analytical Letters")).to_be_visible()
    (stored,) = subscribers(account)
    assert (stored["email"], stored["firstName"]) == ("ada@example.com", "Ädä")
    assert stored["status"] == "UNCONFIRMED"


@pytest.mark.parametrize("email", ["ada@example.com", "ada@localhost"])
def test_pages_of_forms_have_no_accessibility_violation(
    page: Page, other: Website, account: Account, email: str
) -> None:
    open_plain_form(page, other, account)
    assert violations(page, "form") == []

    send(page, email)
    page.wait_for_url("**/api/signup")

    assert violations(page, "body") == []
