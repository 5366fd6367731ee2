"""Activity in the console: what operations did, and how they are stopped, repeated and undone."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from ..behavior import import_jobs
from ..behavior.helpers import keep_operations_waiting
from ..conftest import Account
from ..features.webhooks.receiver import Receiver
from ..processes import PATIENCE
from .conftest import Person

pytestmark = pytest.mark.verify
HOSTILE = "<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 " + "x" * 40
ALL = 'email:"example"'


def create_people(account: Account, count: int) -> None:
    people = [{"email": f"p{number}@example.com"} for number in range(count)]
    for start in range(0, count, 100):
        result = account.ok("BulkCreateSubscribers", subscribers=people[start : start + 100])
        assert result["failed"] == []


def run(account: Account, **request: Any) -> Any:
    """Runs an operation and returns it when it has ended."""
    id = account.ok("BatchChangeSubscribers", **request)["operation"]["id"]
    return wait_for(account, id, lambda operation: operation["done"])


def wait_for(account: Account, id: str, is_reached: Callable[[Any], bool]) -> Any:
    """Returns an operation once it has reached a state."""
    end = time.monotonic() + PATIENCE
    while not is_reached(operation := account.ok("GetOperation", id=id)["operation"]):
        assert time.monotonic() < end, operation
        time.sleep(0.01)
    return operation


def waiting_replay(account: Account, receiver: Receiver) -> tuple[str, str]:
    """Returns a webhook and the replay to it, which waits while the webhook is disabled."""
    webhook = account.ok("CreateWebhook", url=receiver.url, enabled=False)["webhook"]["id"]
    create_people(account, 700)
    started = account.ok("ReplayWebhook", id=webhook, since="2026-01-01T00:00:00Z")
    replay = started["operation"]["id"]
    # It waits while more than 100 deliveries are due.
    wait_for(account, replay, lambda operation: operation["processed"] > 100)
    return webhook, replay


def test_exports_and_undos_are_named(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 3)
    tagged = run(account, filter=ALL, action={"addTags": ["vip"]})
    undo = account.ok("UndoOperation", id=tagged["id"])["operation"]["id"]
    wait_for(account, undo, lambda operation: operation["done"])
    run(account, filter=ALL, action={"delete": True}, dryRun=True)
    job = import_jobs.upload(account, b"email\nada@example.com\n")
    import_jobs.run(account, job, dryRun=True)
    export = account.ok("CreateExport", format="CSV")["export"]["id"]
    wait_for(account, export, lambda operation: operation["done"])
    person.sign_in()
    person.open("/activity")

    rows = page.locator("table tbody tr")
    expect(rows.nth(0)).to_contain_text("Export to a file")
    expect(rows.nth(0)).not_to_contain_text("picked")
    expect(rows.nth(1)).to_contain_text("Undo “Add tags: vip”")
    expect(rows.nth(2)).to_contain_text("Add tags: vip")
    page.get_by_role("checkbox", name="Show trial runs").check()
    expect(rows.filter(has_text="Delete")).to_contain_text("Would result in: 3 changed")
    expect(rows.filter(has_text="Import a file")).to_contain_text("Would result in: 1 imported")


def test_operation_is_in_words(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 3)
    account.ok("AddSubscriberTags", id="p0@example.com", tags=[HOSTILE])
    segment = account.ok("CreateSegment", name="Our readers", filter=ALL)["segment"]["id"]
    account.ok("CreateCustomField", label="Our plan")
    text = 'status = UNCONFIRMED AND (customFields.our_plan = "pro" OR tagCount <= 9)'
    run(account, segmentId=segment, filter=text, action={"addTags": [HOSTILE]})
    person.sign_in()

    page.get_by_role("link", name="Activity").click()

    row = page.locator("tbody tr")
    expect(row).to_contain_text(f"Add tags: {HOSTILE}")
    expect(row).to_contain_text(
        "Segment “Our readers” · Status is Unconfirmed and "
        "(Our plan is “pro” or number of tags at most 9)"
    )
    expect(row).to_contain_text("Done")
    expect(row).to_contain_text("2 changed · 1 was so already")
    expect(row).to_contain_text("key “test”")
    page.get_by_role("link", name="Add tags").click()
    expect(page.get_by_text("3 of 3")).to_be_visible()
    expect(page.locator("code")).to_contain_text("UNCONFIRMED")


def test_failed_operation_says_why(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 1)
    tag = account.ok("CreateTag", name=HOSTILE)["tag"]["id"]
    keep_operations_waiting(account)
    account.ok("CreateExport", filter="NOT tags:*")
    account.ok("DeleteTag", id=tag)
    why = f"The filter names the tag {HOSTILE}, which was deleted."
    person.sign_in()

    person.open("/activity")

    row = page.locator("tbody tr").filter(has_text="Ended early")
    expect(row).to_contain_text(why)
    row.get_by_role("link").click()
    expect(page.locator(".error")).to_contain_text(why)


def test_progress_is_shown_while_an_operation_runs(person: Person, receiver: Receiver) -> None:
    page, account = person.page, person.account
    webhook, replay = waiting_replay(account, receiver)
    person.sign_in()

    person.open(f"/activity/{replay}")

    label = page.locator(".page-head .state")
    expect(label).to_have_text("Running")
    expect(page.get_by_role("progressbar", name=re.compile(r"\d+ of 700"))).to_be_visible()
    account.ok("UpdateWebhook", id=webhook, enabled=True)
    expect(label).to_have_text("Done")
    expect(page.get_by_text("700 of 700")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)


def test_running_operation_is_first_and_can_be_stopped(person: Person, receiver: Receiver) -> None:
    page, account = person.page, person.account
    _, replay = waiting_replay(account, receiver)
    account.ok("BatchChangeSubscribers", filter=ALL, action={"addTags": ["late"]})
    person.sign_in()
    person.open("/activity")

    rows = page.locator("tbody tr")
    expect(rows.first).to_contain_text("Running")
    page.get_by_role("link", name="Replay events").click()
    page.get_by_role("button", name="Stop").click()

    expect(page.locator(".page-head .state")).to_have_text("Canceled")
    assert account.ok("GetOperation", id=replay)["operation"]["state"] == "CANCELLED"


@pytest.mark.parametrize("person", [{"viewport": {"width": 360, "height": 640}}], indirect=True)
def test_operations_are_stopped_and_undone_in_the_list_of_a_phone(
    person: Person, receiver: Receiver
) -> None:
    page, account = person.page, person.account
    _, replay = waiting_replay(account, receiver)
    tagged = run(account, filter='email:"p1@"', action={"addTags": ["vip"]})
    person.sign_in()
    person.open("/activity")
    rows = page.locator("tbody tr")

    rows.filter(has_text="Running").get_by_role("button", name="Stop").click()
    expect(rows.filter(has_text="Replay events")).to_contain_text("Canceled")
    expect(rows.get_by_role("button", name="Stop")).to_have_count(0)
    rows.filter(has_text="Add tags").get_by_role("button", name="Undo").click()
    page.get_by_role("dialog").get_by_role("button", name="Undo for 1 person").click()

    wait_for(account, tagged["id"], lambda operation: "undoneBy" in operation)
    assert account.ok("GetOperation", id=replay)["operation"]["state"] == "CANCELLED"
    person.check_accessibility()


def test_operation_is_undone_in_four_actions_after_its_effect_is_stated(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 3)
    operation = run(account, filter=ALL, action={"addTags": ["vip"]})
    account.ok("RemoveSubscriberTags", id="p1@example.com", tags=["vip"])
    account.ok("AddSubscriberTags", id="p1@example.com", tags=["vip"])
    person.sign_in()

    page.get_by_role("link", name="Activity").click()
    page.get_by_role("link", name="Add tags").click()
    page.get_by_role("button", name="Undo").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The change would be undone for 2 people.")
    expect(dialog).to_contain_text("1 were changed since, and stay as they are")
    dialog.get_by_role("button", name="Undo for 2 people").click()

    expect(page).not_to_have_url(re.compile(operation["id"]))
    expect(page.get_by_role("heading", name="Undo")).to_be_visible()
    expect(page.locator(".page-head .state")).to_have_text("Done")
    tags = {each["email"]: each["tags"] for each in account.ok("ListSubscribers")["subscribers"]}
    assert tags == {"p0@example.com": [], "p1@example.com": ["vip"], "p2@example.com": []}
    page.get_by_role("link", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile(operation["id"]))
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_opt_out_is_repeated_with_the_numbers_of_today(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 2)
    operation = run(account, filter=ALL, action={"changeStatus": "UNSUBSCRIBED"})
    account.ok("CreateSubscriber", email="new@example.com")
    person.sign_in()
    person.open(f"/activity/{operation['id']}")

    page.get_by_role("button", name="Repeat").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 people match today: Email contains “example”.")
    expect(dialog).to_contain_text("2 already are that way and stay.")
    expect(dialog).to_contain_text("They get no more mail, from now on.")
    dialog.get_by_role("button", name="Change 1 person").click()

    expect(page.locator(".result")).to_contain_text("1 changed")
    new = account.ok("GetSubscriber", id="new@example.com")["subscriber"]
    assert new["status"] == "UNSUBSCRIBED"


def test_list_says_why_people_were_not_changed_and_repeats(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 2)
    account.ok("ChangeSubscriberStatus", id="p1@example.com", status="CONFIRMED")
    run(account, filter=ALL, action={"changeStatus": "UNCONFIRMED"})
    run(account, filter=ALL, action={"addTags": ["vip"]})
    person.sign_in()
    person.open("/activity")
    rows = page.locator("tbody tr")

    expect(rows.filter(has_text="Set status")).to_contain_text("1 whose status does not permit it")
    page.get_by_role("button", name="More actions Add tags: vip").click()
    expect(page.get_by_role("button", name="Copy as curl")).to_be_visible()
    page.get_by_role("button", name="Repeat").click()

    expect(page.get_by_role("dialog")).to_contain_text("2 people match today")


def test_deletion_of_many_is_repeated_only_with_their_number(person: Person) -> None:
    page, account = person.page, person.account
    operation = run(account, filter=ALL, action={"delete": True})
    create_people(account, 100)
    person.sign_in()
    person.open(f"/activity/{operation['id']}")

    page.get_by_role("button", name="Repeat").click()
    button = page.get_by_role("dialog").get_by_role("button", name="Delete 100 people")
    expect(button).to_be_disabled()
    page.get_by_label("Type 100 to confirm").fill("99")
    expect(button).to_be_disabled()
    page.get_by_label("Type 100 to confirm").fill("100")
    button.click()

    expect(page.locator(".result")).to_have_text("100 changed")
    assert account.ok("ListSubscribers")["total"] == 0


def test_many_people_are_not_subscribed_again(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 1)
    operation = run(account, filter=ALL, action={"changeStatus": "CONFIRMED"})
    person.sign_in()

    person.open(f"/activity/{operation['id']}")

    expect(page.locator(".result")).to_have_text("1 changed")
    expect(page.get_by_role("button", name="Repeat")).to_have_count(0)


def test_equal_operations_have_their_times_in_the_names_of_controls(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 1)
    second = run(account, filter=ALL, action={"addTags": ["vip"]})
    first = {**second, "id": "01M7Y2MPAQ036JVMBN3RCKGA5J", "createdAt": "2026-01-02T03:04:05.678Z"}
    person.sign_in()
    page.route(
        "**/api/operations?*", lambda route: route.fulfill(json={"operations": [second, first]})
    )
    person.open("/activity?trials=1")

    what = re.compile(r"Add tags: vip 2 Jan 2026 \d\d:\d\d:05")
    for role in ("link", "button"):
        controls = page.get_by_role("row").get_by_role(role, name="Add tags: vip")
        expect(controls.first).to_be_visible()
        expect(page.get_by_role("row").get_by_role(role, name=what)).to_have_count(
            controls.count() // 2
        )
    page.get_by_role("link", name="Add tags: vip").first.click()
    page.get_by_role("main").get_by_role("link", name="Activity").click()
    expect(page.get_by_label("Show trial runs")).to_be_checked()


def test_command_starts_the_same_operation(person: Person) -> None:
    page, account = person.page, person.account
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    create_people(account, 1)
    operation = run(account, filter=ALL, action={"addTags": ["it's $HOME"]})
    person.sign_in()
    person.open(f"/activity/{operation['id']}")

    page.get_by_role("button", name="Copy as curl").click()
    expect(page.get_by_text("Copied").first).to_be_visible()
    command = page.evaluate("navigator.clipboard.readText()")
    subprocess.run(
        ["sh", "-c", command + " -fsS"],
        check=True,
        env={"ROSTER_API_KEY": account.key},
        stdout=subprocess.DEVNULL,
        timeout=60,
    )

    again = account.ok("ListOperations")["operations"][0]
    assert again["id"] != operation["id"]
    assert (again["filter"], again["action"]) == (operation["filter"], operation["action"])


def test_readers_see_no_actions(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 1)
    operation = run(account, filter=ALL, action={"addTags": ["vip"]})
    keep_operations_waiting(account)
    export = account.ok("CreateExport")["export"]
    person.sign_in(scope="read")

    for id, result in ((export["id"], "0 people"), (operation["id"], "1 changed")):
        person.open(f"/activity/{id}")
        expect(page.locator(".result")).to_have_text(result)
        for name in ("Undo", "Repeat", "Stop"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)


def test_reader_can_stop_an_export(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 1)
    person.sign_in(scope="read")
    created = page.evaluate(
        """() => fetch("/api/exports", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ format: "CSV" }),
        }).then((response) => response.json())"""
    )
    export = created["export"]["id"]
    operation = wait_for(account, export, lambda operation: operation["done"])
    # An export of one person ends too soon.
    running = {**operation, "state": "RUNNING", "done": False}
    page.route("**/api/operations?*", lambda route: route.fulfill(json={"operations": [running]}))
    person.open("/activity")

    with page.expect_response(re.compile(f"/api/exports/{export}/cancel$")) as canceled:
        page.get_by_role("row").get_by_role("button", name="Stop").click()

    assert canceled.value.ok


def test_page_that_was_added_stays_when_the_list_is_read_again(person: Person) -> None:
    page, account = person.page, person.account
    create_people(account, 1)
    first, second = (run(account, filter=ALL, action={"addTags": [tag]}) for tag in "ab")
    running = {**first, "state": "RUNNING", "done": False}
    person.sign_in()

    def respond(route: Route) -> None:
        is_first = "pageToken" not in route.request.url
        more = {"Link": '</api/operations?pageToken=x>; rel="next"'} if is_first else {}
        route.fulfill(json={"operations": [running if is_first else second]}, headers=more)

    page.route("**/api/operations?*", respond)
    person.open("/activity")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(1)

    # A list with a running operation is read again every two seconds.
    with page.expect_response(re.compile("/api/operations[?]limit=50$")):
        page.get_by_role("button", name="Show more").click()

    expect(rows).to_have_count(2)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(rows).to_have_count(2)


def test_activity_is_accessible(person: Person, receiver: Receiver) -> None:
    page, account = person.page, person.account
    _, replay = waiting_replay(account, receiver)
    person.sign_in()
    person.open("/activity")
    page.get_by_role("progressbar").wait_for()
    person.check_accessibility()
    person.open(f"/activity/{replay}")
    page.get_by_role("progressbar").wait_for()
    person.check_accessibility()
    operation = run(account, filter=ALL, action={"addTags": [HOSTILE]})
    person.open(f"/activity/{operation['id']}")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo for 700 people").wait_for()
    person.check_accessibility()
