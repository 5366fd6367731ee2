"""The page on which people sign in and out, in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Error, Page, expect

from ..browser import chromium, violations
from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..processes import Service

pytestmark = pytest.mark.verify


@pytest.fixture
def account(service: Service) -> Account:
    return new_account(service, HttpFront("http", service.http))


@pytest.fixture
def page() -> Iterator[Page]:
    """A page whose errors, such as violations of its policy, fail the test."""
    with chromium() as browser:
        opened, errors = browser.new_page(), list[Error]()
        opened.on("pageerror", lambda error: errors.append(error))
        yield opened
        assert errors == []


def test_link_signs_in_and_the_button_signs_out(account: Account, page: Page) -> None:
    url = account.ok("CreateSignInLink", name="Ada", scope="read")["url"]

    page.goto(url)

    expect(page.get_by_role("status")).to_contain_text("as Ada (read)")
    assert page.url == url.partition("#")[0]
    assert page.evaluate("document.cookie") == ""
    assert violations(page) == []
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("status")).to_have_text("You are not signed in.")
    assert account.ok("ListSessions")["total"] == 0
    page.goto("about:blank")
    page.goto(url)
    expect(page.get_by_role("alert")).to_contain_text("was used")


def test_pasted_key_signs_in(account: Account, page: Page) -> None:
    page.goto(f"http://{account.service.http}/console/signin")

    page.get_by_label("Sign-in link or API key").fill(account.key)
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("status")).to_contain_text("as test (admin)")
    assert [each["name"] for each in account.ok("ListSessions")["sessions"]] == ["test"]
