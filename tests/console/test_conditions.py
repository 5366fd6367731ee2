"""The console over a slow network, and while its page is hidden."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Person
from .people import add_person

pytestmark = pytest.mark.verify


def test_changes_are_sent_once_over_a_slow_network(person: Person) -> None:
    page, account = person.page, person.account
    ada = add_person(account, firstName="Ada")["id"]
    person.sign_in()
    changes: list[str] = []

    def add(method: str, url: str) -> None:
        if method != "GET":
            changes.append(f"{method} {url.partition('/api/')[2]}")

    page.on("request", lambda request: add(request.method, request.url))
    network = page.context.new_cdp_session(page)
    slow = {"latency": 1_000, "downloadThroughput": -1, "uploadThroughput": -1}
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", {"offline": False, **slow})

    # A form: the mouse, and a key that does the same.
    page.get_by_role("link", name="Tags & fields").click()
    expect(page.locator("main [aria-busy=true]")).to_be_visible()
    page.get_by_role("button", name="New tag").click()
    page.keyboard.type("early")
    page.get_by_role("button", name="Save").dblclick()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    expect(page.get_by_role("link", name="early")).to_be_visible()
    assert changes == ["POST tags"]

    # A field that is edited in place: Enter saves it, and so does leaving it.
    page.get_by_role("link", name="Subscribers").click()
    page.locator(".rows .row", has_text="ada@").click()
    name = page.get_by_label("First name")
    name.fill("Augusta")
    for key in ("Enter", "Enter", "Tab"):
        page.keyboard.press(key)
    expect(page.get_by_role("complementary")).to_contain_text("First name: Ada → Augusta")
    assert changes == ["POST tags", f"PATCH subscribers/{ada}"]

    # A change of people, of which the first request counts them.
    page.keyboard.press("Escape")
    page.locator("#row-0 .check").click()
    page.get_by_role("toolbar").get_by_role("button", name="Tag…", exact=True).click()
    page.keyboard.insert_text("early")
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.locator("#plan").wait_for()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    notices = page.get_by_role("region", name="Operations")
    expect(notices).to_contain_text("1 person got the tag early.")
    assert changes[2:] == ["POST subscribers/batch"] * 2


def test_hidden_page_asks_nothing_until_it_is_shown(person: Person) -> None:
    page = person.page
    page.clock.install()
    person.sign_in()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    person.open("/activity")
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
    with page.expect_request("**/api/operations?*"):
        page.clock.run_for(60_000)
    page.wait_for_load_state("networkidle")

    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, writable: true })")
    page.clock.run_for(60_000)
    before = len(requests)
    page.clock.run_for(600_000)
    assert requests[before:] == []

    with page.expect_request("**/api/operations?*"):
        page.evaluate(
            "document.hidden = false; document.dispatchEvent(new Event('visibilitychange'))"
        )
