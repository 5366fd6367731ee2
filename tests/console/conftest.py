"""A person with a browser who is signed in to the console."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from ..browser import TIMEOUT, chromium, violations
from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..processes import Service
from .people import add_people

WIDTHS, THEMES = (360, 1280), ("light", "dark")
# The people in the list of `owner`.
COUNT = 240


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium of the system."""
    with chromium() as launched:
        yield launched


@pytest.fixture
def account(service: Service) -> Account:
    return new_account(service, HttpFront("http", service.http))


@dataclass
class Person:
    """A browser page. `problems` contains script errors and violations of the policy."""

    page: Page
    account: Account
    problems: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The URL of the console, without a slash at its end."""
        return f"http://{self.account.service.http}/console"

    def watch(self) -> None:
        """Collects the problems of the page."""
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._add_message)

    def _add_message(self, message: Any) -> None:
        # Chromium reports error responses, which are expected, in the same way.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.problems.append(message.text)

    def sign_in(self, scope: str = "admin", name: str = "Ada") -> None:
        """Follows a new sign-in link."""
        url = self.account.ok("CreateSignInLink", name=name, scope=scope)["url"]
        token = url.partition("#")[2]
        self.page.goto(f"{self.url}/signin#{token}")
        self.page.locator("#main").wait_for()

    def open(self, path: str) -> None:
        """Opens an address of the console, such as /subscribers."""
        self.page.goto(self.url + path)

    def check_accessibility(self) -> None:
        """Checks the page in both themes, at the width of a phone and of a laptop."""
        size = self.page.viewport_size
        for theme in THEMES:
            self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            for width in WIDTHS:
                self.page.set_viewport_size({"width": width, "height": 800})
                assert violations(self.page, "html") == [], (theme, width)
        assert size is not None
        self.page.set_viewport_size(size)


@pytest.fixture
def person(request: pytest.FixtureRequest, browser: Browser, account: Account) -> Iterator[Person]:
    """A person in a new browser context; parameters are its options."""
    options = {"locale": "en-GB", **getattr(request, "param", {})}
    context = browser.new_context(**options)
    context.set_default_timeout(TIMEOUT)
    person = Person(context.new_page(), account)
    person.watch()
    yield person
    context.close()
    assert person.problems == []


@pytest.fixture
def owner(person: Person) -> Person:
    """A person who looks at 240 subscribers, of whom a third each is vip, early and churned."""
    add_people(person.account, COUNT)
    person.sign_in()
    person.open("/subscribers")
    person.page.locator(".rows .row").first.wait_for()
    return person
