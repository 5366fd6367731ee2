"""The reference as the service returns it, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from ...browser import TIMEOUT, chromium
from ...conftest import new_account
from ...fronts import HttpFront
from ...processes import Service
from .html import SITE


@pytest.fixture(scope="session")
def html(service: Service) -> str:
    """The reference as the service returns it."""
    _, _, text = HttpFront("http", service.http).exchange("GET", "/docs")
    return text.decode()


@pytest.fixture(scope="session")
def rendered() -> str:
    """The reference, rendered in the test process."""
    return SITE.reference().html.decode()


# Not session-scoped: the browser runs an event loop in this thread, and other tests need to run
# another one.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium of the system."""
    with chromium() as launched:
        yield launched


@dataclass
class Reader:
    """A browser page and the API key of a new account.

    `requests` contains all requested URLs, `problems` all console messages and script errors.
    """

    page: Page
    key: str
    url: str
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def open(self, anchor: str = "") -> None:
        """Opens the page, at an anchor if one is given."""
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.goto(f"{self.url}#{anchor}")

    def enter_key(self) -> None:
        """Enters the API key."""
        self.page.fill("#key", self.key)

    def form(self, operation: str) -> Locator:
        """Expands the form of an operation and returns it."""
        form = self.page.locator(f"#{operation} .try")
        if form.get_attribute("open") is None:
            form.locator("> summary").click()
        return form

    def send(self, form: Locator) -> str:
        """Sends a form and returns the status that is shown after the response."""
        form.locator(".send button").click()
        form.locator(".response .cancel").wait_for(state="detached")
        return form.locator(".response .status").inner_text()


@pytest.fixture
def reader(request: pytest.FixtureRequest, browser: Browser, service: Service) -> Iterator[Reader]:
    """A new page for the reference; parameters are options of the browser context."""
    yield from new_reader(browser, service, "/docs", **getattr(request, "param", {}))


@pytest.fixture
def guide_reader(
    request: pytest.FixtureRequest, browser: Browser, service: Service
) -> Iterator[Reader]:
    """A new page for the guide about webhooks."""
    options = getattr(request, "param", {})
    yield from new_reader(browser, service, "/docs/guides/webhooks", **options)


@pytest.fixture(scope="package")
def user(browser: Browser, service: Service) -> Iterator[Reader]:
    """The reference with the API key entered. All tests of the package share it."""
    permissions = ["clipboard-read", "clipboard-write"]
    for reader in new_reader(browser, service, "/docs", permissions=permissions):
        reader.open()
        reader.enter_key()
        yield reader


def new_reader(browser: Browser, service: Service, path: str, **options: Any) -> Iterator[Reader]:
    """Yields a page in a new browser context."""
    context = browser.new_context(**options)
    context.set_default_timeout(TIMEOUT)
    account = new_account(service, HttpFront("http", service.http))
    yield Reader(context.new_page(), account.key, f"http://{service.http}{path}")
    context.close()
