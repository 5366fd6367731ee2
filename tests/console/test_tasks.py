"""Frequent tasks in the console: each takes at most a number of actions, and needs no mouse."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from ..behavior import import_jobs
from ..features.webhooks.receiver import Receiver, Reply
from .actions import Actions, reach
from .conftest import Person
from .people import add_people, add_person

pytestmark = pytest.mark.verify


@pytest.fixture
def support(person: Person) -> Person:
    """A person with an empty address bar and a list of 12 subscribers, and Ada among them."""
    add_people(person.account, 12)
    add_person(person.account, email="ada@example.com", firstName="Ada", isConfirmed=True)
    person.sign_in()
    person.open("/subscribers")
    person.page.locator(".rows .row").first.wait_for()
    return person


def test_looking_up_an_address_and_reading_why_they_get_mail(support: Person) -> None:
    actions = Actions(support.page)

    actions.paste("ada@example.com")
    actions.press("Enter")

    sentence = support.page.locator(".sentence")
    expect(sentence).to_have_text(re.compile("Can be mailed. Confirmed on .* by key “test”"))
    assert actions.count <= 2

    # An address that is typed needs no Enter, and the cursor stays for other texts.
    support.open("/subscribers")
    support.page.locator(".rows .row").first.wait_for()
    actions = Actions(support.page)
    actions.press("/")
    actions.type("ada@example.com")
    expect(sentence).to_contain_text("Can be mailed.")
    assert actions.count <= 2
    expect(support.page.get_by_label("Search or filter")).to_be_focused()
    support.page.keyboard.type("s")
    expect(sentence).to_have_count(0)


def test_typing_at_once_in_another_view_and_changing_the_person_who_is_found(
    support: Person,
) -> None:
    page = support.page
    support.open("/segments")
    page.get_by_role("heading", name="Segments").wait_for()

    page.keyboard.press("/")
    page.keyboard.type("ada@example.com")
    expect(page.get_by_label("Search or filter")).to_have_value("ada@example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Change status…")).to_be_enabled()
    page.keyboard.press("u")

    expect(page.get_by_role("dialog")).to_be_visible()


def test_unsubscribing_a_person_who_is_shown(support: Person) -> None:
    support.open("/subscribers/ada@example.com")
    support.page.get_by_role("button", name="Change status…").is_enabled()
    expect(support.page.locator(".sentence")).to_contain_text("Can be mailed.")
    actions = Actions(support.page)

    actions.press("u", "Enter")

    expect(support.page.locator(".sentence")).to_contain_text("Must not be mailed.")
    assert actions.count <= 3


def test_subscribing_a_person_again(support: Person) -> None:
    support.account.ok("ChangeSubscriberStatus", id="ada@example.com", status="UNSUBSCRIBED")
    support.open("/subscribers/ada@example.com")
    expect(support.page.locator(".sentence")).to_contain_text("Must not be mailed.")
    actions = Actions(support.page)

    actions.press("u")
    support.page.get_by_role("dialog").wait_for()
    # The cursor is in the field for the consent.
    actions.type("Phone call")
    actions.press("Enter")

    expect(support.page.locator(".sentence")).to_contain_text("Waiting for confirmation")
    assert actions.count <= 3


def test_finding_a_group_by_an_expression(support: Person) -> None:
    actions = Actions(support.page)

    actions.press("/")
    actions.type('tags:"early" AND status = CONFIRMED')
    actions.press("Enter")

    tabs = support.page.get_by_role("navigation", name="Status")
    expect(tabs.get_by_role("link", name="All 4")).to_be_visible()
    assert actions.count <= 4


def test_changing_a_name(support: Person) -> None:
    actions = Actions(support.page)

    # The first row, and the first of its fields.
    actions.press("j", "e")
    expect(support.page.get_by_label("Email")).to_be_focused()
    actions.press("Tab")
    actions.type("Augusta")
    actions.press("Enter")

    expect(support.page.locator(".timeline")).to_contain_text("Ada → Augusta")
    assert actions.count <= 5


def test_erasing_a_person_who_asked_for_it(support: Person) -> None:
    page = support.page
    support.open("/subscribers/ada@example.com")
    expect(page.locator(".sentence")).to_be_visible()
    actions = Actions(page)

    # The menu, and the letter that it shows next to the action.
    actions.press(".", "e")
    page.get_by_role("dialog").wait_for()
    actions.type("ada@example.com")
    actions.press("Enter")

    expect(page.get_by_role("dialog")).to_contain_text("Erased: ada@example.com")
    support.account.fails("SubscriberNotFound", "GetSubscriber", id="ada@example.com")
    assert actions.count <= 4


def test_going_through_people_and_back_to_the_list(support: Person) -> None:
    page, actions = support.page, Actions(support.page)

    actions.press("j", "Enter")
    expect(page.get_by_role("complementary")).to_contain_text("ada@example.com")
    actions.press("j")
    expect(page.get_by_role("complementary")).to_contain_text("p0011@example.com")
    actions.press("Escape", "g", "s")

    expect(page.get_by_role("complementary")).to_have_count(0)
    expect(page.get_by_role("grid")).to_be_visible()
    # The same keys as with an open panel, from the row.
    for key in ("Home", ".", "e"):
        page.keyboard.press(key)
    expect(page.get_by_role("dialog", name="Erase ada@example.com?")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    for key in ("x", "."):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Tag…", exact=True)).to_be_focused()
    page.set_viewport_size({"width": 360, "height": 800})
    page.get_by_role("grid").focus()
    page.keyboard.press(".")
    expect(page.get_by_role("button", name="Actions")).to_be_focused()


def test_finding_and_resending_a_failed_delivery(support: Person, receiver: Receiver) -> None:
    page = support.page
    webhook = support.account.ok("CreateWebhook", url=receiver.url)["webhook"]
    receiver.replies.append(Reply(503))
    support.account.ok("TestWebhook", id=webhook["id"])
    actions = Actions(page)

    actions.click(page.get_by_role("link", name="Webhooks"))
    expect(page.get_by_role("main", name="Webhooks")).to_be_focused()
    actions.click(page.get_by_role("link", name="Failed"))
    actions.click(page.get_by_role("link", name="webhook.test"))
    actions.click(page.get_by_role("button", name="Retry"))

    expect(page.locator(".page-head .state")).to_have_text("Succeeded")
    assert len(receiver.received) == 2
    assert actions.count <= 4


def test_creating_and_revoking_a_key(support: Person) -> None:
    page, account = support.page, support.account
    support.open("/settings/keys")
    dialog, actions = page.get_by_role("dialog"), Actions(page)

    actions.click(page.get_by_role("button", name="Create key"))
    actions.type("shop backend")
    actions.press("Enter")
    field = dialog.get_by_label("Key", exact=True)
    expect(field).to_have_attribute("type", "password")
    secret = field.input_value()
    assert account.with_key(secret).ok("GetCurrentSession")["apiKey"]["name"] == "shop backend"
    assert actions.count <= 3
    dialog.get_by_role("button", name="Close").click()
    actions = Actions(page)
    row = page.get_by_role("row", name="shop backend")
    actions.click(row.get_by_role("button"))
    actions.click(page.get_by_role("button", name="Revoke key"))
    expect(dialog).to_have_accessible_description(re.compile("Calls with it"))
    actions.click(dialog.get_by_role("button", name="Revoke key"))

    expect(row).to_have_count(0)
    account.with_key(secret).fails("Unauthorized", "GetCurrentSession")
    assert actions.count <= 3


def test_tasks_with_buttons_and_links_need_no_mouse(support: Person, receiver: Receiver) -> None:
    page, account = support.page, support.account
    dialog, keys = page.get_by_role("dialog"), page.keyboard
    import_jobs.run_file(account, "email\nbob@\n")
    webhook = account.ok("CreateWebhook", url=receiver.url)["webhook"]
    receiver.replies.append(Reply(503))
    account.ok("TestWebhook", id=webhook["id"])

    def use(target: Locator) -> None:
        reach(target)
        keys.press("Enter")

    # Save a filter as a segment, and export it.
    keys.press("/")
    keys.type('tags:"early"')
    keys.press("Enter")
    use(page.get_by_role("button", name="Save as segment"))
    keys.type("Early")
    keys.press("Enter")
    expect(page.locator(".notice")).to_contain_text("Saved as segment")
    use(page.get_by_role("button", name="Export"))
    with page.expect_download():
        use(dialog.get_by_role("link", name="Download"))
    expect(dialog).to_have_count(0)

    # Fetch the rows that an import could not store, and send a delivery again.
    keys.press("g")
    keys.press("a")
    use(page.get_by_role("link", name="members.csv"))
    with page.expect_download():
        use(page.get_by_role("link", name="Failed rows (CSV)"))
    keys.press("g")
    keys.press("w")
    use(page.get_by_role("link", name="Failed"))
    use(page.get_by_role("link", name="webhook.test"))
    use(page.get_by_role("button", name="Retry"))
    expect(page.locator(".page-head .state")).to_have_text("Succeeded")

    # Create and revoke a key.
    keys.press("Control+k")
    keys.type("settings")
    keys.press("Enter")
    use(page.get_by_role("link", name="API keys"))
    use(page.get_by_role("button", name="Create key"))
    keys.type("shop backend")
    keys.press("Enter")
    use(dialog.get_by_role("button", name="Close"))
    row = page.get_by_role("row", name="shop backend")
    use(row.get_by_role("button"))
    keys.press("ArrowDown")
    keys.press("Enter")
    use(dialog.get_by_role("button", name="Revoke key"))
    expect(row).to_have_count(0)
