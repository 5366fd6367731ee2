"""The console over a slow network, and while its page is hidden."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Request, Route, expect

from .actions import hide
from .conftest import Person
from .people import add_person

pytestmark = pytest.mark.verify


def hold(page: Page, path: str) -> list[Route]:
    """Holds requests back, as a slow network does, until they are released."""
    held: list[Route] = []
    page.route(re.compile(f"/api/{path}$"), lambda route: held.append(route))
    return held


def release(page: Page, held: list[Route]) -> None:
    # Playwright does not report a request whose route is removed before it is held.
    while not held:
        page.wait_for_timeout(10)
    for route in held:
        route.continue_()
    page.unroute_all()


def test_changes_are_sent_once_over_a_slow_network(person: Person) -> None:
    page, account = person.page, person.account
    ada = add_person(account, firstName="Ada")["id"]
    person.sign_in()
    changes: list[str] = []

    def add(request: Request) -> None:
        if request.method != "GET":
            changes.append(f"{request.method} {request.url.partition('/api/')[2]}")

    page.on("request", add)

    # A form: the mouse, and a key that does the same.
    held = hold(page, r"tags\?.*")
    page.get_by_role("link", name="Tags & fields").click()
    expect(page.locator("main [aria-busy=true]")).to_be_visible()
    release(page, held)
    held = hold(page, "tags")
    page.get_by_role("button", name="New tag").click()
    page.keyboard.type("early")
    page.get_by_role("button", name="Save").dblclick()
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    page.keyboard.press("Enter")
    release(page, held)
    expect(page.get_by_role("link", name="early")).to_be_visible()
    assert changes == ["POST tags"]

    # A field that is edited in place: Enter saves it, and so does leaving it.
    page.get_by_role("link", name="Subscribers").click()
    page.locator(".rows .row", has_text="ada@").click()
    held = hold(page, f"subscribers/{ada}")
    page.get_by_label("First name").fill("Augusta")
    for key in ("Enter", "Enter", "Tab"):
        page.keyboard.press(key)
    release(page, held)
    expect(page.get_by_role("complementary")).to_contain_text("First name: Ada → Augusta")
    assert changes[1:] == [f"PATCH subscribers/{ada}"]

    # A change of people, of which the first request counts them.
    page.keyboard.press("Escape")
    page.locator("#row-0 .check").click()
    held = hold(page, "subscribers/batch")
    page.get_by_role("toolbar").get_by_role("button", name="Tag…", exact=True).click()
    page.keyboard.insert_text("early")
    expect(page.get_by_role("progressbar")).to_be_visible()
    release(page, held)
    page.locator("#plan").wait_for()
    held = hold(page, "subscribers/batch")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    release(page, held)
    expect(page.get_by_role("region", name="Operations")).to_contain_text("got the tag early.")
    assert changes[2:] == ["POST subscribers/batch"] * 2


def test_time_is_written_again_only_when_its_unit_changes(person: Person) -> None:
    page = person.page
    page.clock.install()
    person.sign_in()
    sessions = person.account.ok("ListSessions")["sessions"]
    at = {"createdAt": "2026-01-01T00:00:00.000Z", "lastUsedAt": "2026-01-02T00:00:00.000Z"}
    # The session of the page itself is used now.
    old = {"sessions": [{**session, **at, "id": "other"} for session in sessions]}
    page.route("**/api/sessions?*", lambda route: route.fulfill(json=old))
    page.add_init_script(
        """
        const { prototype } = Intl.RelativeTimeFormat;
        const write = prototype.format;
        window.written = 0;
        prototype.format = function (...args) {
          window.written += 1;
          return write.apply(this, args);
        };
        """
    )
    person.open("/settings/sessions")
    expect(page.get_by_role("row", name="Ada").get_by_text("days ago")).to_have_count(2)
    written = page.evaluate("window.written")

    page.clock.run_for(60_000)

    assert page.evaluate("window.written") == written > 0


def test_hidden_page_asks_every_30_seconds_for_an_hour_and_when_it_is_shown(person: Person) -> None:
    page = person.page
    page.clock.install()
    person.sign_in()
    asked = "**/api/operations?*"
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    person.open("/activity")
    expect(page.get_by_text("Nothing was changed for many people")).to_be_visible()

    requests.clear()
    # Nothing is due yet when it is shown again.
    hide(page)
    hide(page, False)
    hide(page)
    page.clock.run_for(20_000)
    page.evaluate("fetch('/readyz').then((response) => response.text())")
    assert [url for url in requests if "/api/operations" in url] == []
    with page.expect_response(asked):
        page.clock.run_for(15_000)
    # A session that no one uses ends after some time.
    for _ in range(130):
        requests.clear()
        page.clock.run_for(30_000)
        # Time for a response, after which a page would wait for the next request.
        page.evaluate("fetch('/readyz').then((response) => response.text())")
    assert [url for url in requests if "/api/" in url] == []

    with page.expect_request(asked):
        hide(page, False)
