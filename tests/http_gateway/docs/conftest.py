"""The page as it is served, and a browser to look at it with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from http_gateway.docs.reference import render

from ... import tools
from ...conftest import new_account
from ...fronts import HttpFront
from ...processes import Service
from .pages import DOCUMENT

# The browser neither calls home nor asks for a GPU or for more rights than a container has.
CHROMIUM = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# How long anything may take in the browser, in milliseconds.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def html(service: Service) -> str:
    """The page."""
    _, _, text = HttpFront("http", service.http).exchange("GET", "/docs")
    return text.decode()


@pytest.fixture(scope="session")
def made() -> str:
    """The page of the document, made here."""
    return render(DOCUMENT).html.decode()


# Not for the whole session: while the browser is there, a loop runs in this thread, and
# the tests of other rooms want one of their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's chromium."""
    path = tools.program("chromium", "chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM))
        yield launched
        launched.close()


@dataclass
class Reader:
    """Somebody who reads the page, with a key of an account of their own.

    `asked` is every URL that the browser asked for, `troubles` whatever it complained of.
    """

    page: Page
    key: str
    url: str
    asked: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def open(self, anchor: str = "") -> None:
        """Opens the page, at an operation if one is named."""
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.goto(f"{self.url}#{anchor}")

    def enter_key(self) -> None:
        """Types the key where it belongs."""
        self.page.fill("#key", self.key)

    def form(self, operation: str) -> Locator:
        """Unfolds the form of an operation and returns it."""
        form = self.page.locator(f"#{operation} .try")
        if form.get_attribute("open") is None:
            form.locator("> summary").click()
        return form

    def send(self, form: Locator) -> str:
        """Presses the button of a form and returns the status that is shown in the end."""
        form.locator(".send button").click()
        form.locator(".answer .cancel").wait_for(state="detached")
        return form.locator(".answer .status").inner_text()


@pytest.fixture
def reader(request: pytest.FixtureRequest, browser: Browser, service: Service) -> Iterator[Reader]:
    """Somebody at a screen; a parameter of the test can say what that is like."""
    yield from sit_down(browser, service, **getattr(request, "param", {}))


@pytest.fixture(scope="package")
def user(browser: Browser, service: Service) -> Iterator[Reader]:
    """Somebody who has opened the page and entered a key, and goes from test to test with it."""
    for reader in sit_down(browser, service, permissions=["clipboard-read", "clipboard-write"]):
        reader.open()
        reader.enter_key()
        yield reader


@pytest.fixture
def webhooks_reader(
    request: pytest.FixtureRequest, browser: Browser, service: Service
) -> Iterator[Reader]:
    """The same before the page about webhooks."""
    yield from sit_down(browser, service, path="/docs/webhooks", **getattr(request, "param", {}))


def sit_down(
    browser: Browser, service: Service, *, path: str = "/docs", **screen: Any
) -> Iterator[Reader]:
    """Yields a reader at a screen of their own, before a page is opened."""
    context = browser.new_context(**screen)
    context.set_default_timeout(PATIENCE)
    account = new_account(service, HttpFront("http", service.http))
    yield Reader(context.new_page(), account.key, f"http://{service.http}{path}")
    context.close()
