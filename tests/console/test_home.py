"""The first view in a browser: numbers, growth, what runs and fails, and an empty account."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from rosterd.server.features.statistics import store as statistics
from rosterd.server.features.statistics.rules import day_of, quarter_of

from ..conftest import Account
from ..features.webhooks.receiver import Receiver, Reply
from .actions import Actions
from .conftest import Person
from .people import add_people, add_person

pytestmark = pytest.mark.verify
DAY = 86_400_000


def add_past(account: Account, days_ago: int, **flows: int) -> None:
    """Stores what changed on an earlier day, as the changes of that day would have."""
    at = int(time.time() * 1000) - days_ago * DAY
    with account.service.unit_of_work() as tx:
        for period in (day_of(at), -quarter_of(at)):
            statistics.add(account.id, {(period, name): total for name, total in flows.items()}, tx)


def block(person: Person, title: str) -> Locator:
    return person.page.get_by_role("region", name=title)


def test_numbers_lead_to_the_people_they_count(person: Person) -> None:
    add_people(person.account, 30)
    person.account.ok("ChangeSubscriberStatus", id="p0001@example.com", status="UNSUBSCRIBED")
    person.account.ok("ChangeSubscriberStatus", id="p0002@example.com", status="BOUNCED")
    person.sign_in()

    for name, tab in (("18 Can be mailed", "Confirmed 18"), ("10 Unconfirmed", "Unconfirmed 10")):
        person.page.get_by_role("link", name=name).click()
        expect(person.page.get_by_role("link", name=tab, exact=True)).to_have_attribute(
            "aria-current", "true"
        )
        person.page.go_back()
    person.page.get_by_role("link", name="2 Opted out or bounced").click()

    expect(person.page.get_by_role("link", name="All 2", exact=True)).to_be_visible()
    expect(person.page.get_by_role("grid")).to_contain_text("p0002@example.com")


def test_address_that_is_pasted_leads_to_the_person_in_two_actions(person: Person) -> None:
    add_people(person.account, 3)
    person.sign_in()
    person.page.get_by_role("link", name="2 Can be mailed").wait_for()
    actions = Actions(person.page)

    actions.paste("p0001@example.com")
    actions.press("Enter")

    expect(person.page.locator(".sentence")).to_contain_text("Can be mailed.")
    assert actions.count <= 2


def test_chart_and_its_table_show_the_days(person: Person) -> None:
    add_person(person.account)
    add_past(person.account, 1, created=25, unsubscribed=3, deleted=1)
    add_past(person.account, 60, created=5, imported=8112)
    add_past(person.account, 3, imported=40)
    add_past(person.account, 120, created=1000)
    person.sign_in()
    growth = block(person, "Growth")

    chart = growth.get_by_role("img", name="31 created, 4 lost, 8,152 imported")
    expect(growth.get_by_text("8,152 imported")).to_be_visible()
    # Imported people can be unconfirmed.
    expect(person.page.locator(".numbers")).not_to_contain_text("imported")
    # Their number has no place on the axis: the dot is at the bar of its day.
    dots = chart.locator("circle").all()
    assert len({dot.get_attribute("cy") for dot in dots}) == len(dots) == 2
    box = chart.bounding_box()
    assert box is not None
    chart.hover(position={"x": box["width"] * 88.5 / 90, "y": 20})
    expect(growth.get_by_text("25 created")).to_be_visible()
    expect(growth.get_by_text("4 lost")).to_be_visible()
    growth.get_by_role("button", name="Show as table").click()

    expect(growth.get_by_role("row")).to_have_count(91)
    expect(growth.get_by_role("row").nth(2)).to_have_text(re.compile(r"20..2500+3001$"))
    person.page.reload()
    expect(growth.get_by_role("row")).to_have_count(91)


def test_segments_and_operations_are_shown_with_their_numbers(person: Person) -> None:
    account = person.account
    add_people(account, 30)
    account.ok("CreateSegment", name="<b>VIPs</b>", filter='tags:"vip"')
    account.ok("CreateTag", name="old")
    account.ok("CreateSegment", name="Lost", filter='tags:"old"')
    tags = {tag["name"]: tag["id"] for tag in account.ok("ListTags")["tags"]}
    account.ok("DeleteTag", id=tags["old"], force=True)
    started = account.ok("BatchChangeSubscribers", filter='tags:"vip"', action={"addTags": ["x"]})
    # A trial run is no activity.
    everyone = {"filter": "email:*", "action": {"delete": True}, "dryRun": True}
    account.ok("BatchChangeSubscribers", **everyone)
    person.sign_in()

    expect(block(person, "Segments").get_by_role("listitem")).to_have_text(
        ["<b>VIPs</b>10", "LostNo filter"]
    )
    # It is read again until it ends.
    operation = block(person, "Last activity").get_by_role("listitem")
    expect(operation).to_contain_text("Add tags: x")
    expect(operation).to_contain_text("10 changed")
    assert account.ok("GetOperation", id=started["operation"]["id"])["operation"]["done"]
    block(person, "Segments").get_by_role("link", name="<b>VIPs</b>").click()
    expect(person.page.get_by_role("link", name="All 10", exact=True)).to_be_visible()


def test_operation_has_the_name_of_its_field(person: Person) -> None:
    account = person.account
    add_people(account, 1)
    account.ok("CreateCustomField", label="Seats in total", dataType="NUMBER")
    action = {"setCustomFields": {"seats_in_total": 5}}
    account.ok("BatchChangeSubscribers", filter="email:*", action=action)
    person.sign_in()

    expect(block(person, "Last activity")).to_contain_text("Set fields: Seats in total = 5")


def test_failing_webhook_is_stated_in_words(person: Person, receiver: Receiver) -> None:
    add_person(person.account)
    receiver.replies[:] = [Reply(503)] * 40
    person.account.ok("CreateWebhook", url=receiver.url)
    person.account.ok("CreateTag", name="vip")
    receiver.wait_for(1)
    person.sign_in()
    alarm = block(person, "A webhook fails")

    while not alarm.is_visible():
        person.page.reload()
        block(person, "Growth").wait_for()

    expect(alarm).to_contain_text(receiver.url)
    expect(alarm).to_contain_text(re.compile("Failing since .*HTTP 503.*next attempt"))


def test_person_is_added_to_an_empty_account_in_three_actions(person: Person) -> None:
    page = person.page
    person.sign_in()
    expect(page.get_by_role("heading", name="Import a file")).to_be_visible()

    # The list of subscribers offers the same.
    person.open("/subscribers")
    page.get_by_role("heading", name="No subscribers yet").wait_for()
    guide = page.get_by_role("link", name="How to import people").get_attribute("href")
    assert page.request.get(f"http://{person.account.service.http}{guide}").ok
    person.check_accessibility()
    page.locator(".empty").get_by_role("button", name="Add a person").click()
    page.keyboard.press("Escape")
    page.locator(".empty").get_by_role("link", name="Import a file").click()
    expect(page).to_have_url(re.compile("/import$"))
    person.open("/")
    expect(page.get_by_role("heading", name="Import a file")).to_be_visible()

    actions = Actions(page)
    actions.click(page.get_by_role("button", name="Add a person"))
    actions.type("Ada@example.com")
    actions.press("Enter")

    expect(page.get_by_role("link", name="1 Unconfirmed")).to_be_visible()
    assert actions.count <= 3
    expect(page.get_by_role("heading", name="Import a file")).to_have_count(0)
    page.get_by_role("button", name="Open").click()
    expect(page).to_have_url(re.compile("/subscribers/0"))
    page.get_by_role("complementary").get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Add a person").click()
    page.keyboard.type("Eve@example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="All 2", exact=True)).to_be_visible()


def test_person_with_consent_is_confirmed_with_its_source(person: Person) -> None:
    page, account = person.page, person.account
    account.ok("AddSuppressions", emails=["gone@example.com"])
    add_person(account, email="bob@example.com")
    person.sign_in()
    page.get_by_role("button", name="Add a person").click()
    page.get_by_label("Email").fill("gone@example.com")
    page.get_by_label("has agreed").check()
    page.get_by_label("How did the person agree?").fill("Paper form")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The address is blocked")

    page.get_by_label("Email").fill("eve@example.com")
    page.keyboard.press("Enter")

    expect(page.get_by_role("link", name="1 Can be mailed")).to_be_visible()
    history = account.ok("ListSubscriberHistory", id="eve@example.com")
    assert "Paper form" in str(history)
    assert account.fails("SubscriberNotFound", "GetSubscriber", id="gone@example.com")


def test_second_attempt_confirms_the_person_whom_the_first_one_added(person: Person) -> None:
    page, account = person.page, person.account
    add_person(account, email="bob@example.com")
    person.sign_in()

    for address, status in (("eve@example.com", "CONFIRMED"), ("out@example.com", "UNSUBSCRIBED")):
        page.get_by_role("button", name="Add a person").click()
        page.get_by_label("has agreed").check()
        page.get_by_label("How did the person agree?").fill("Paper form")
        page.route("**/status", lambda route: route.abort())
        page.get_by_label("Email").fill(address)
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("alert")).to_contain_text("Roster does not respond")
        page.unroute("**/status")
        if status == "UNSUBSCRIBED":
            # The person opts out before the second attempt, which must not subscribe them again.
            account.ok("ChangeSubscriberStatus", id=address, status=status)
        dialog.get_by_role("button", name="Add a person").click()
        if status == "UNSUBSCRIBED":
            expect(dialog.get_by_role("alert")).to_contain_text("changed")
            with page.context.expect_page() as opened:
                dialog.get_by_role("link", name="Show").click(modifiers=["Control"])
            expect(opened.value.get_by_role("heading", name=address)).to_be_visible()
            opened.value.close()
            expect(dialog.get_by_label("Email")).to_have_value(address)
            dialog.get_by_role("link", name="Show").click()
            shown = page.get_by_role("complementary", name="Person")
            expect(shown.get_by_role("heading", level=2)).to_have_text(address)
        expect(dialog).to_have_count(0)
        assert account.ok("GetSubscriber", id=address)["subscriber"]["status"] == status


@pytest.mark.parametrize(
    "person", [{"permissions": ["clipboard-read", "clipboard-write"]}], indirect=True
)
def test_command_signs_a_person_up_with_a_key_that_can_do_nothing_else(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()

    page.get_by_role("button", name="Create a sign-up key").click()

    page.get_by_role("main").get_by_text("not shown again").wait_for()
    assert "rk_" not in page.locator("pre").inner_text()
    page.get_by_role("button", name="Copy the command").click()
    command = page.evaluate("navigator.clipboard.readText()")
    assert f"http://{account.service.http}/api/signup" in command
    key = re.search(r"rk_\w+", command)
    assert key is not None
    account.with_key(key[0]).ok("SignUp", email="ada@example.com")
    account.with_key(key[0]).fails("Forbidden", "ListSubscribers")
    page.reload()
    expect(page.get_by_role("link", name="1 Unconfirmed")).to_be_visible()


def test_part_that_fails_says_so_and_can_be_tried_again(person: Person) -> None:
    add_person(person.account)
    failures: list[Any] = []

    def fail_once(route: Any) -> None:
        failures.append(route)
        error = {"code": "Internal", "message": "The database is on fire.", "requestId": "7"}
        if len(failures) > 1:
            route.continue_()
        else:
            route.fulfill(status=500, json={"error": error})

    person.page.route("**/api/statistics/daily*", fail_once)
    person.sign_in()
    growth = block(person, "Growth")
    expect(growth.get_by_role("alert")).to_contain_text("request ID 7")
    expect(person.page.get_by_role("link", name="1 Unconfirmed")).to_be_visible()

    growth.get_by_role("button", name="Try again").click()

    expect(growth.get_by_role("img")).to_be_visible()


def test_other_parts_are_shown_if_the_numbers_fail(person: Person) -> None:
    page = person.page
    add_person(person.account)
    add_past(person.account, 1, created=25)
    person.account.ok("CreateSegment", name="VIPs", filter="status = CONFIRMED")
    error = {"code": "Unavailable", "message": "Not now.", "requestId": "7"}
    page.route(
        re.compile(r"/api/statistics$"),
        lambda route: route.fulfill(status=500, json={"error": error}),
    )
    person.sign_in()

    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("cannot respond now")
    expect(block(person, "Segments")).to_contain_text("VIPs")
    expect(block(person, "Last activity")).to_be_visible()
    expect(block(person, "Growth").get_by_role("img")).to_be_visible()
    expect(page.get_by_text("in 30 days")).to_have_count(0)
    page.unroute_all()
    page.get_by_role("main").get_by_role("alert").get_by_role("button").click()

    expect(page.get_by_role("link", name="1 Unconfirmed")).to_be_visible()
    expect(page.get_by_text("Change in 30 days: 0")).to_be_visible()


def test_read_only_session_sees_no_actions(person: Person) -> None:
    person.sign_in(scope="read")

    expect(person.page.get_by_text("Your session can read only.")).to_be_visible()
    expect(person.page.get_by_role("button", name="Add a person")).to_have_count(0)
    expect(person.page.get_by_role("button", name="Create a sign-up key")).to_have_count(0)
    guide = person.page.get_by_role("link", name="How to import people").get_attribute("href")
    assert person.page.request.get(f"http://{person.account.service.http}{guide}").ok
    person.open("/subscribers")
    person.page.get_by_role("heading", name="No subscribers yet").wait_for()
    expect(person.page.get_by_role("button", name="Add a person")).to_have_count(0)


@pytest.mark.parametrize("person", [{"locale": "de-AT"}], indirect=True)
def test_home_is_german_for_a_german_browser(person: Person) -> None:
    person.sign_in()

    expect(person.page.get_by_role("heading", name="Datei importieren")).to_be_visible()
    expect(person.page.get_by_role("link", name="0 Dürfen E-Mails erhalten")).to_be_visible()


def test_home_is_accessible(person: Person, receiver: Receiver) -> None:
    page = person.page
    person.sign_in()
    page.get_by_role("heading", name="Import a file").wait_for()
    person.check_accessibility()
    page.get_by_role("button", name="Add a person").click()
    page.get_by_label("has agreed").check()
    person.check_accessibility()
    add_people(person.account, 5)
    add_past(person.account, 3, created=25, unsubscribed=3, imported=7)
    person.account.ok("CreateSegment", name="VIPs", filter='tags:"vip"')
    person.account.ok("BatchChangeSubscribers", filter="status:*", action={"addTags": ["x"]})
    person.open("/")
    expect(block(person, "Last activity")).to_contain_text("5 changed")
    person.check_accessibility()
    person.open("/?show=table")
    page.get_by_role("table").wait_for()
    person.check_accessibility()


def test_times_are_those_of_the_server_if_the_clock_of_the_browser_differs(person: Person) -> None:
    add_people(person.account, 3)
    person.account.ok("BatchChangeSubscribers", filter="email:*", action={"addTags": ["x"]})
    person.page.add_init_script("const now = Date.now; Date.now = () => now() + 5 * 86_400_000")

    person.sign_in()

    operation = block(person, "Last activity").get_by_role("listitem")
    expect(operation).to_contain_text(re.compile(r"· (now|\d+ seconds? ago)"))
    person.open("/activity")
    person.page.get_by_role("link", name="Add tags").click()
    expect(person.page.get_by_role("button", name="Undo")).to_be_visible()
    person.open("/settings/sessions")
    last_used = person.page.get_by_role("row", name="Ada").get_by_role("cell").nth(3)
    expect(last_used).to_have_text(re.compile(r"^(now|\d+ seconds? ago)$"))
