"""Webhooks in the console: health, deliveries and their repetition, live attempts, endpoints."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from rosterd.server.features.webhooks.rules import FAILURES_BEFORE_PAUSE

from ..components import wait_until
from ..features.webhooks.receiver import Receiver, Reply
from .actions import hide
from .conftest import Person
from .people import add_people

pytestmark = pytest.mark.verify
HOSTILE = "<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 " + "x" * 60


@pytest.fixture
def webhook(person: Person, receiver: Receiver) -> Any:
    """A webhook for all events, with its secret."""
    return person.account.ok("CreateWebhook", url=receiver.url, description=HOSTILE)


def fail_once(person: Person, receiver: Receiver, webhook: Any) -> None:
    """Stores a delivery in the state FAILED, to which the endpoint responded with 503."""
    receiver.replies.append(Reply(503, b"<h1>out of order</h1>"))
    result = person.account.ok("TestWebhook", id=webhook["webhook"]["id"])
    assert result["delivery"]["state"] == "FAILED"


def pause(person: Person, receiver: Receiver, webhook: Any) -> None:
    """Lets attempts fail until the endpoint gets none for some time."""
    account, path = person.account, {"id": webhook["webhook"]["id"]}
    receiver.replies += [Reply(503)] * 100
    for number in range(FAILURES_BEFORE_PAUSE):
        account.ok("CreateTag", name=f"tag{number}")
    wait_until(
        lambda: account.ok("GetWebhookHealth", **path)["health"]["state"] == "PAUSED", "a pause"
    )


def test_failed_delivery_is_sent_again_in_four_actions(
    person: Person, receiver: Receiver, webhook: Any
) -> None:
    page = person.page
    fail_once(person, receiver, webhook)
    person.sign_in()

    page.get_by_role("link", name="Webhooks").click()
    page.get_by_role("link", name="Failed 1").click()
    page.get_by_role("link", name="webhook.test").click()
    expect(page.get_by_text("<h1>out of order</h1>")).to_be_visible()
    page.get_by_role("button", name="Retry").click()

    expect(page.get_by_text("Attempt 2")).to_be_visible()
    expect(page.locator(".page-head .state")).to_have_text("Succeeded")
    assert [request.event["type"] for request in receiver.received] == ["webhook.test"] * 2


def test_navigation_shows_how_many_webhooks_fail(
    person: Person, receiver: Receiver, webhook: Any
) -> None:
    link = person.page.get_by_role("navigation").get_by_role("link", name="Webhooks")
    person.sign_in()
    person.page.get_by_role("heading", level=1).wait_for()
    expect(link).to_have_text("Webhooks")
    receiver.replies += [Reply(503)] * 10
    person.account.ok("CreateTag", name="one")
    receiver.wait_for(1)

    person.open("/tags")

    expect(link).to_have_accessible_name("Webhooks A webhook fails")
    expect(link.get_by_title("A webhook fails")).to_be_visible()


def test_health_is_in_words(person: Person, receiver: Receiver, webhook: Any) -> None:
    page, account = person.page, person.account
    account.ok("CreateTag", name="one")
    receiver.wait_for(1)
    receiver.replies += [Reply(503)] * 10
    account.ok("CreateTag", name="two")
    receiver.wait_for(2)
    person.sign_in()

    person.open("/webhooks")

    card = page.locator(".card")
    expect(card.locator(".state.bad")).to_have_text(re.compile(r"^Failing since \d"))
    expect(card).to_contain_text(re.compile(r"Last result: HTTP 503\. 1 delivery waits\."))
    tabs = page.get_by_role("navigation", name="State of deliveries")
    expect(tabs.get_by_role("link", name="Waiting or retrying 1")).to_be_visible()
    # The first retry follows after some seconds.
    rate = re.compile(r"(50% of 2|33\.3% of 3) attempts in 24 hours succeeded")
    expect(card).to_contain_text(rate)
    dots = re.compile(r"Last (2 attempts: 1|3 attempts: 2) failed")
    expect(card.get_by_role("img", name=dots)).to_be_visible()
    account.ok("UpdateWebhook", id=webhook["webhook"]["id"], enabled=False)
    page.reload()
    expect(card).to_contain_text("Disabled. Events since then are not delivered.")


def test_paused_endpoint_is_failing(person: Person, receiver: Receiver, webhook: Any) -> None:
    pause(person, receiver, webhook)
    person.sign_in()

    person.open("/webhooks")

    card = person.page.locator(".card")
    expect(card.locator(".state.bad")).to_have_text(re.compile(r"^Failing since \d"))
    expect(card).to_contain_text("Paused, so that the endpoint can recover.")
    expect(card).to_contain_text("Next attempt in")
    row = person.page.get_by_role("row", name="tag.created").last
    expect(row).to_contain_text("Retrying")
    created = row.locator("time").last
    expect(created).not_to_have_text(created.inner_text(), timeout=90_000)

    person.page.get_by_role("link", name="Failed", exact=True).click()
    expect(person.page.get_by_text("No delivery failed for good.")).to_be_visible()
    person.page.get_by_role("link", name="Waiting or retrying").click()
    person.page.get_by_role("link", name="tag.created").last.click()
    expect(person.page.locator("dl.facts")).to_contain_text("Paused, so that the endpoint")
    account, path = person.account, {"id": webhook["webhook"]["id"]}
    account.ok("UpdateWebhook", enabled=False, **path)
    person.page.get_by_role("button", name="Retry").click()
    expect(person.page.locator(".notice")).to_contain_text("until it is enabled")


def test_command_of_a_delivery_has_a_signature_that_the_receiver_accepts(
    person: Person, receiver: Receiver, webhook: Any
) -> None:
    page, name = person.page, "it's $HOME `id` \"\\n"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    person.account.ok("CreateSubscriber", email="ada@example.com", firstName=name)
    receiver.wait_for(1)
    person.sign_in()

    person.open("/webhooks?person=ada@example.com")
    page.get_by_role("link", name="subscriber.created").click()
    expect(page.get_by_text("webhook-signature")).to_be_visible()
    expect(page.get_by_role("link", name="ada@example.com")).to_be_visible()
    page.get_by_role("button", name="Copy as curl").click()
    expect(page.get_by_text("Copied").first).to_be_visible()
    by_button = page.evaluate("navigator.clipboard.readText()")
    page.evaluate("navigator.clipboard.writeText('')")
    page.keyboard.press("y")
    page.wait_for_function("async () => await navigator.clipboard.readText() !== ''")
    command = page.evaluate("navigator.clipboard.readText()")
    assert command == by_button
    subprocess.run(
        ["sh", "-c", command], check=True, env={"WEBHOOK_SECRET": webhook["secret"]}, timeout=60
    )

    sent, again = receiver.wait_for(2)
    assert again.verified(webhook["secret"]) == sent.event
    assert webhook["secret"] not in command


def test_event_of_a_batch_is_found_among_many_of_its_time(
    person: Person, receiver: Receiver, webhook: Any
) -> None:
    page, account = person.page, person.account
    account.ok("UpdateWebhook", id=webhook["webhook"]["id"], eventTypes=["subscriber.updated"])
    add_people(account, 1_500)
    account.ok("BatchChangeSubscribers", filter="status:*", action={"addTags": ["x"]})
    receiver.wait_for(1_500)
    # Those in the middle and at the end of their time.
    events = [
        account.ok("ListEvents", eventType="subscriber.updated", limit=1, page=number)["events"][0]
        for number in (740, 1_500)
    ]
    person.sign_in()

    for event in events:
        person.open(f"/webhooks?event={event['id']}")
        page.get_by_role("link", name="subscriber.updated").click()
        email = event["data"]["subscriber"]["email"]
        expect(page.get_by_role("link", name=email)).to_be_visible()


def test_delivery_without_an_attempt_was_not_tried_yet(
    person: Person, receiver: Receiver, webhook: Any
) -> None:
    page, account = person.page, person.account
    pause(person, receiver, webhook)
    account.ok("DeleteTag", id=account.ok("CreateTag", name="last")["tag"]["id"])
    person.sign_in()

    person.open("/webhooks?type=tag.deleted")
    page.get_by_role("link", name="tag.deleted").click()

    expect(page.get_by_text("Not tried yet.")).to_be_visible()


def test_filters_are_in_the_address(person: Person, receiver: Receiver, webhook: Any) -> None:
    page, account = person.page, person.account
    account.ok("CreateTag", name="one")
    account.ok("CreateSubscriber", email="ada@example.com")
    receiver.wait_for(2)
    person.sign_in()
    person.open("/webhooks")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)

    # They apply while they are typed, and the answer to an earlier text can arrive last.
    held: list[Route] = []
    page.route("**/webhook-deliveries?*eventType=tag.updated*", lambda route: held.append(route))
    kind = page.get_by_label("Event type")
    with page.expect_request("**/webhook-deliveries?*eventType=tag.updated*"):
        kind.fill("tag.updated")
    kind.fill("tag.*")
    expect(rows).to_have_text([re.compile(r"tag\.created")])
    for route in held:
        route.fulfill(json={"deliveries": []})
    expect(rows).to_have_count(1)
    expect(kind).to_be_focused()
    page.reload()
    expect(rows).to_have_text([re.compile(r"tag\.created")])
    page.get_by_role("link", name="tag.created").click()
    page.get_by_role("heading", name="Request body").wait_for()
    page.get_by_role("link", name="Webhooks").last.click()
    expect(kind).to_have_value("tag.*")
    # The beginning of an address is no person.
    page.get_by_label("Person").press_sequentially("unknown@example.com", delay=0)
    expect(page.get_by_role("alert")).to_contain_text("This person does not exist")
    page.get_by_label("Person").fill("ada@example.com")
    expect(page.get_by_text("No delivery matches.")).to_be_visible()
    page.get_by_role("link", name="Clear filters").click()
    expect(kind).to_have_value("")
    expect(rows).to_have_count(2)
    page.go_back()
    expect(page.get_by_text("No delivery matches.")).to_be_visible()


@pytest.mark.parametrize("person", [{"locale": "en-GB"}, {"locale": "en-US"}], indirect=True)
def test_live_attempts_have_the_time_format_of_the_browser(
    person: Person, receiver: Receiver, webhook: Any
) -> None:
    person.sign_in()
    with person.page.expect_response("**/webhook-deliveries/tail*"):
        person.open("/webhooks/tail")
    american = person.page.evaluate("navigator.language") == "en-US"

    person.account.ok("TestWebhook", id=webhook["webhook"]["id"])

    time = re.compile(r"^\d+:\d\d:\d\d" + (r"\s[AP]M$" if american else "$"))
    expect(person.page.locator("td time")).to_have_text(time)


def test_past_events_are_delivered_again(person: Person, receiver: Receiver, webhook: Any) -> None:
    webhook_id = webhook["webhook"]["id"]
    page, path = person.page, f"/webhooks/{webhook_id}"
    # Not the event at the end of the operation that delivers it again.
    person.account.ok("UpdateWebhook", id=webhook_id, eventTypes=["tag.created"])
    person.account.ok("CreateTag", name="one")
    receiver.wait_for(1)
    person.sign_in()
    person.open(path)

    page.get_by_role("button", name="Replay events").click()
    page.get_by_label("Only events that failed").uncheck()
    page.get_by_role("dialog").get_by_role("button", name="Replay events").click()

    expect(page.get_by_text("Delivering events again, of 1 in that time.").first).to_be_visible()
    first, second, *_ = receiver.wait_for(2)
    assert first.event["id"] == second.event["id"]
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("/console/activity/"))


def test_live_attempts_can_be_paused(person: Person, receiver: Receiver, webhook: Any) -> None:
    page, account = person.page, person.account
    person.sign_in()
    with page.expect_response("**/webhook-deliveries/tail*"):
        person.open("/webhooks/tail")
    rows = page.locator("tbody tr")

    account.ok("CreateTag", name="one")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    account.ok("CreateTag", name="two")
    expect(page.get_by_text("1 new attempt").first).to_be_visible()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Continue").click()

    expect(rows).to_have_count(2)
    assert len(receiver.received) == 2


def test_one_tab_at_a_time_reads_live_attempts(
    person: Person, receiver: Receiver, webhook: Any
) -> None:
    page = person.page
    person.sign_in()
    person.open("/webhooks/tail")
    expect(page.locator(".page-head .state")).to_have_text("Live")

    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(".page-head .state")).to_have_text("Live")
    expect(page.locator(".page-head .state")).to_have_text("In another tab")
    page.evaluate("dispatchEvent(new Event('focus'))")

    expect(page.locator(".page-head .state")).to_have_text("Live")
    expect(other.locator(".page-head .state")).to_have_text("In another tab")
    person.account.ok("TestWebhook", id=webhook["webhook"]["id"])
    rows = page.get_by_role("cell", name="webhook.test")
    expect(rows).to_have_count(1)
    # No tab reads the stream then.
    hide(page)
    expect(page.locator(".page-head .state")).to_have_text("In another tab")
    person.account.ok("TestWebhook", id=webhook["webhook"]["id"])
    hide(page, False)

    expect(page.locator(".page-head .state")).to_have_text("Live")
    expect(rows).to_have_count(2)
    other.close()


def test_endpoint_is_created_changed_and_deleted(person: Person, receiver: Receiver) -> None:
    page, account = person.page, person.account
    person.sign_in()
    person.open("/webhooks")
    dialog = page.get_by_role("dialog")

    page.get_by_role("button", name="Add endpoint").click()
    page.get_by_label("URL").fill("https://127.0.0.1/hook#part")
    dialog.get_by_role("button", name="Add endpoint").click()
    expect(dialog.get_by_role("alert")).to_contain_text("url")
    page.get_by_label("URL").fill(receiver.url)
    page.get_by_label("Only these").check()
    page.get_by_label("tag.*").check()
    expect(page.get_by_label("tag.created")).to_be_disabled()
    dialog.get_by_role("button", name="Add endpoint").click()
    secret = dialog.get_by_label("Secret")
    expect(secret).to_have_attribute("type", "password")
    first = secret.input_value()
    for _ in range(3):
        page.keyboard.press("Escape")
    page.mouse.click(2, 2)
    expect(dialog.get_by_role("alert")).to_contain_text("not copied yet")
    expect(secret).to_have_value(first)
    dialog.get_by_role("button", name="Show").click()
    expect(secret).not_to_have_attribute("type", "password")
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_role("heading", name=receiver.url)).to_be_visible()
    page.get_by_role("button", name="Send test").click()
    expect(page.get_by_text("The test was accepted: 200").first).to_be_visible()
    receiver.received[0].verified(first)

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Edit endpoint").click()
    page.get_by_label("Description").fill(HOSTILE)
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text(HOSTILE)).to_be_visible()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Rotate secret").click()
    dialog.get_by_role("button", name="Rotate secret").click()
    expect(secret).not_to_have_value(first)
    assert secret.input_value().startswith("whsec_")
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="More actions")).to_be_focused()
    (stored,) = account.ok("ListWebhooks")["webhooks"]
    assert (stored["description"], stored["eventTypes"]) == (HOSTILE, ["tag.*"])

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Delete endpoint").click()
    dialog.get_by_role("button", name="Delete endpoint").click()
    expect(page.get_by_text("No endpoints yet.")).to_be_visible()
    assert account.ok("ListWebhooks")["webhooks"] == []


@pytest.mark.parametrize("person", [{"locale": "de-DE"}], indirect=True)
def test_errors_are_in_german_with_the_detail_of_the_server(
    person: Person, receiver: Receiver, webhook: Any
) -> None:
    page, main = person.page, person.page.get_by_role("main")
    person.sign_in()

    person.open("/webhooks")
    page.get_by_role("button", name="Endpunkt hinzufügen").click()
    page.get_by_label("URL").fill("https://127.0.0.1/hook#part")
    page.get_by_role("dialog").get_by_role("button", name="Endpunkt hinzufügen").click()
    error = page.get_by_role("dialog").get_by_role("alert")
    expect(error).to_contain_text("Eine Angabe ist nicht gültig.")
    expect(error).to_contain_text("url Kein zulässiger Wert:")
    expect(error.locator("[lang=en]")).to_have_count(1)
    person.open("/webhooks?type=no.such")
    expect(main.get_by_role("alert")).to_contain_text("nicht gültig. eventType: ")
    # Trying again does not help.
    for path in ("/activity/01M7Y2MPAQ036JVMBN3RCKGA5K", "/webhooks/01M7Y2MPAQ036JVMBN3RCKGA5K"):
        person.open(path)
        expect(main.get_by_role("alert").first).to_contain_text("existiert nicht oder wurde")
        expect(main.get_by_role("button", name="Erneut versuchen")).to_have_count(0)


def test_readers_see_no_actions(person: Person, receiver: Receiver, webhook: Any) -> None:
    page = person.page
    fail_once(person, receiver, webhook)
    person.sign_in(scope="read")

    person.open("/webhooks")
    page.get_by_role("link", name="webhook.test").click()

    expect(page.get_by_role("button", name="Copy as curl")).to_be_enabled()
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)
    page.get_by_role("link", name=receiver.url).click()
    expect(page.get_by_role("button", name="More actions")).to_be_visible()
    for name in ("Send test", "Replay events", "Edit endpoint", "Delete endpoint"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)


def test_webhooks_are_accessible(person: Person, receiver: Receiver, webhook: Any) -> None:
    page, path = person.page, f"/webhooks/{webhook['webhook']['id']}"
    fail_once(person, receiver, webhook)
    person.sign_in()

    person.open("/webhooks")
    page.get_by_role("link", name="webhook.test").wait_for()
    person.check_accessibility()
    person.open(path)
    page.get_by_role("link", name="webhook.test").wait_for()
    person.check_accessibility()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Edit endpoint").click()
    page.get_by_label("Only these").check()
    person.check_accessibility()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="webhook.test").click()
    page.get_by_role("heading", name="Request body").wait_for()
    person.check_accessibility()
