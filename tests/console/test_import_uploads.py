"""Uploads of files in the console: they continue after errors, and nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Route, expect

from ..behavior import import_jobs
from ..conftest import new_account
from ..fronts import HttpFront
from ..processes import Service, start
from .conftest import Person
from .files import button, choose_file, drop, large, state

pytestmark = pytest.mark.verify


def test_upload_continues_after_the_connection_was_lost(person: Person) -> None:
    page = person.page
    person.sign_in()
    person.open("/import")
    failed: list[str] = []

    def fail_twice(route: Route) -> None:
        offset = re.search(r"offset=(\d+)", route.request.url)
        if offset and offset[1] != "0" and len(failed) < 2:
            failed.append(offset[1])
            route.abort()
        else:
            route.continue_()

    page.route("**/content?*", fail_twice)
    content = large(3)
    choose_file(page, content)
    expect(page.get_by_text("The upload continues by itself.")).to_be_visible()
    # The person looks at something else meanwhile.
    page.get_by_role("link", name="Segments").click()
    page.get_by_role("link", name=re.compile("^Import")).first.click()
    page.get_by_role("link", name="members.csv").click()

    expect(button(page, "Continue")).to_be_visible()
    assert len(failed) == 2
    expect(page.get_by_text(f"CSV with {content.count(10) - 1:,} rows")).to_be_visible()


def test_file_is_not_asked_for_again_after_its_upload(person: Person) -> None:
    page = person.page
    person.sign_in()
    person.open("/import")
    held: list[Route] = []
    stale: list[tuple[Route, APIResponse]] = []

    def hold_first(route: Route) -> None:
        if stale or route.request.method != "GET":
            route.continue_()
        else:
            # The server wants proof that the call is that of its page.
            headers = {**route.request.headers, "sec-fetch-site": "same-origin"}
            stale.append((route, route.fetch(headers=headers)))

    page.route(re.compile("/api/imports/[^/?]+$"), hold_first)
    page.evaluate(
        """() => new MutationObserver(() => {
          if (document.body.innerText.includes("choose it again")) window.isAsked = true;
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    page.route("**/content?*", lambda route: held.append(route))
    choose_file(page, "email\nada@example.com\n")
    while not (held and stale):
        page.wait_for_timeout(50)
    with page.expect_response("**/content?*"):
        held[0].continue_()
    route, response = stale[0]
    assert response.json()["import"]["state"] == "UPLOADING"
    route.fulfill(response=response)

    expect(button(page, "Continue")).to_be_visible()
    assert not page.evaluate("window.isAsked")


def test_page_asks_before_it_is_closed_until_the_upload_has_ended(person: Person) -> None:
    page = person.page
    held: list[Route] = []
    import_jobs.upload(person.account, b"email,Town\nada@example.com,Bath\n", name="b.csv")
    person.sign_in()
    person.open("/import")

    def asks() -> bool:
        """Returns whether the browser would ask."""
        closed: bool = page.evaluate(
            "dispatchEvent(new Event('beforeunload', { cancelable: true }))"
        )
        return not closed

    page.route("**/content?offset=1048576*", lambda route: held.append(route))
    assert not asks()
    choose_file(page, large(2))
    expect(page.get_by_text("Keep this tab open")).to_be_visible()
    page.get_by_role("link", name=re.compile("^Import")).first.click()
    page.get_by_role("link", name="b.csv").click()
    town = page.get_by_role("combobox", name="Town")
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        town.select_option("Ignore")
    sample = page.get_by_role("region", name="The first rows")
    expect(sample).to_have_attribute("aria-busy", "false")
    assert asks()

    page.go_back()
    page.go_back()
    page.get_by_role("main").get_by_role("button", name="Cancel").click()
    held[0].continue_()
    while asks():
        page.wait_for_timeout(50)
    # The question stays when the file has arrived.
    expect(page.get_by_role("heading", name=re.compile("with [0-9,]+ rows"))).to_be_visible()
    expect(page.get_by_role("dialog", name="Cancel this import?")).to_be_visible()


def test_part_that_arrives_altered_is_sent_again(person: Person) -> None:
    page, altered = person.page, []

    def alter(route: Route) -> None:
        altered.append(route.request.url)
        route.continue_(post_data=b"y" * (1 << 20))

    person.sign_in()
    person.open("/import")
    page.route("**/content?offset=0*", alter)
    content = large(1)
    choose_file(page, content)
    expect(page.get_by_role("alert")).to_contain_text("arrived altered, several times")
    assert len(altered) > 1
    page.unroute("**/content?offset=0*")
    page.get_by_role("alert").get_by_role("button", name="Try again").click()

    expect(button(page, "Continue")).to_be_visible()
    expect(page.get_by_text(f"CSV with {content.count(10) - 1:,} rows")).to_be_visible()


def test_full_disk_stops_an_upload_until_it_is_tried_again(person: Person) -> None:
    page = person.page
    person.sign_in()
    person.open("/import")
    error = {"code": "InsufficientStorage", "message": "No space", "details": [], "requestId": "1"}
    page.route(
        "**/content?offset=1048576*", lambda route: route.fulfill(status=507, json={"error": error})
    )
    choose_file(page, large(2))
    expect(page.get_by_role("alert")).to_contain_text("The disk of the server is full.")
    page.unroute("**/content?offset=1048576*")
    page.get_by_role("alert").get_by_role("button", name="Try again").click()

    expect(button(page, "Continue")).to_be_visible()


def test_upload_of_a_closed_tab_continues_with_the_same_file_only(person: Person) -> None:
    page, account = person.page, person.account
    content = large(2)
    job = import_jobs.create(account, content)
    assert import_jobs.send_part(account, job, content[: 1 << 20]).status == 200
    person.sign_in()
    person.open(f"/import/{job['id']}")
    expect(page.get_by_text("choose it again to continue")).to_be_visible()

    choose_file(page, b"x" * len(content))
    expect(page.get_by_text("This is another file")).to_be_visible()
    choose_file(page, content[:-1])
    expect(page.get_by_text("This is another file")).to_be_visible()
    choose_file(page, content)

    expect(button(page, "Continue")).to_be_visible()
    expect(page.get_by_text(f"CSV with {content.count(10) - 1:,} rows")).to_be_visible()


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[Service]:
    """A service that a test stops."""
    running = start(tmp_path)
    yield running
    running.stop()


def test_nothing_is_lost_when_the_server_restarts(
    person: Person, own_service: Service, tmp_path: Path
) -> None:
    page = person.page
    person.account = new_account(own_service, HttpFront("http", own_service.http))
    addresses = {"ROSTER_HTTP_ADDRESS": own_service.http}
    person.sign_in()
    person.open("/import")
    content = large(3)

    def stop_server(route: Route) -> None:
        own_service.stop()
        route.abort()

    page.route("**/content?offset=1048576*", stop_server)
    choose_file(page, content)
    expect(page.get_by_text("The upload continues by itself.")).to_be_visible()
    page.unroute("**/content?offset=1048576*")
    again = start(tmp_path, **addresses)
    try:
        button(page, "Continue").click()
        button(page, "Check the file").click()
        again.stop()
        expect(page.get_by_text("Roster does not respond.")).to_be_visible()
        again = start(tmp_path, **addresses)
        page.get_by_role("button", name=re.compile("^Import .* people")).click()
        expect(state(page)).to_have_text("Importing")
        again.stop()
        again = start(tmp_path, **addresses)

        expect(state(page)).to_have_text("Imported")
        expect(page.get_by_text(f"{content.count(10) - 1:,} new people")).to_be_visible()
    finally:
        again.stop()


def test_session_that_ends_during_an_upload_does_not_lose_it(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    person.open("/import")
    ended: list[Any] = []

    def end_session(route: Route) -> None:
        if not ended:
            ended.append(account.ok("SignOutEverywhere"))
        route.continue_()

    page.route("**/content?offset=1048576*", end_session)
    choose_file(page, large(2))
    page.get_by_label("Sign-in link or API key").fill(account.key)
    button(page, "Sign in").click()

    expect(button(page, "Continue")).to_be_visible()


def test_choice_of_an_ended_session_is_stored_after_signing_in(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    drop(page, "email,Town\nada@example.com,Bath\n")
    town = page.get_by_role("combobox", name="Town")
    expect(town).to_be_visible()
    account.ok("SignOutEverywhere")
    town.select_option("Ignore")
    page.get_by_label("Sign-in link or API key").fill(account.key)
    page.keyboard.press("Enter")

    expect(page.locator("dialog.cover")).to_have_count(0)
    expect(town).to_have_value("ignore")
    button(page, "Continue").click()
    expect(button(page, "Check the file")).to_be_visible()
    (stored,) = account.ok("ListImports")["imports"]
    assert stored["options"]["ignoreColumns"] == ["#2"]
