"""A person in the panel of the console: mailability, changes, conflicts, history and erasure."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from ..behavior import import_jobs
from ..conftest import new_account
from ..features.webhooks.receiver import Receiver
from .conftest import Person
from .people import add_person
from .test_subscribers import hold_answers

pytestmark = pytest.mark.verify


def panel(person: Person) -> Locator:
    return person.page.get_by_role("complementary", name="Person")


def show(person: Person, who: str) -> Locator:
    """Opens a person by identifier or address, and returns the panel."""
    person.open(f"/subscribers/{who}")
    expect(panel(person).locator(".sentence")).to_be_visible()
    return panel(person)


def opted_out(person: Person) -> str:
    """Creates a person who unsubscribed, and returns the identifier."""
    subscriber_id: str = add_person(person.account, isConfirmed=True)["id"]
    person.account.ok("ChangeSubscriberStatus", id=subscriber_id, status="UNSUBSCRIBED")
    return subscriber_id


def test_first_line_states_whether_and_why_the_person_may_be_mailed(person: Person) -> None:
    account = person.account
    add_person(account, email="yes@example.com", isConfirmed=True)
    add_person(account, email="wait@example.com")
    add_person(account, email="no@example.com")
    account.ok("ChangeSubscriberStatus", id="no@example.com", status="UNSUBSCRIBED")
    add_person(account, email="gone@example.com")
    account.ok("ChangeSubscriberStatus", id="gone@example.com", status="COMPLAINED")
    account.ok("DeleteSubscriber", id="gone@example.com")
    add_person(account, email="link@example.com")
    links = account.ok("CreateSubscriberLinks", id="link@example.com", purposes=["CONFIRM"])
    assert person.page.request.post(links["confirmUrl"]).ok
    person.sign_in()

    for name, text in {
        "yes": "Can be mailed. Confirmed on .* by key “test”",
        "link": r"Can be mailed. Confirmed on .* by the person \(link, IP address 127\.0\.0\.1\)",
        "wait": r"^Not yet. Waiting for confirmation \(since .*; added by key “test”\)\.",
        "no": "Must not be mailed. Unsubscribed on .* by key “test”",
        "gone": "may not be added. A person with this address reported mail as spam",
        "unknown": "Not in the list. No one has this address",
    }.items():
        sentence = show(person, f"{name}@example.com").locator(".sentence")
        expect(sentence).to_have_text(re.compile(text))

    panel(person).get_by_role("button", name="Add this person").click()
    expect(person.page.get_by_label("Email")).to_have_value("unknown@example.com")
    person.page.get_by_role("button", name="Add a person").last.click()
    expect(panel(person).locator(".sentence")).to_contain_text("Waiting for confirmation")
    expect(person.page.locator(".rows")).to_contain_text("unknown@example.com")
    expect(panel(person).get_by_role("button", name="Add this person")).to_have_count(0)
    expect(panel(person).get_by_role("button", name="Close")).to_be_focused()
    person.open("/subscribers/x")
    expect(panel(person).get_by_role("alert")).to_have_text(re.compile("^There is no person with"))


def test_change_by_an_import_names_its_file_and_no_date_that_it_does_not_state(
    person: Person,
) -> None:
    account, page = person.account, person.page
    add_person(account, email="ada@example.com", isConfirmed=True)
    rows = "email,status\nada@example.com,unsubscribed\nbob@example.com,confirmed\n"
    options = {"onConflict": "UPDATE"}
    job = import_jobs.upload(account, rows.encode(), name="people.csv", options=options)
    job = import_jobs.run(account, job)
    person.sign_in()

    shown = show(person, "ada@example.com")
    sentence = shown.locator(".sentence")
    expect(sentence).to_have_text(re.compile("Unsubscribed on .* by import of people.csv.$"))
    entry = shown.locator(".timeline li").first
    expect(entry).to_contain_text("import of people.csv, key “test”")
    entry.get_by_role("link", name="people.csv").click()
    expect(page).to_have_url(re.compile(f"/import/{job['id']}$"))
    sentence = show(person, "bob@example.com").locator(".sentence")
    unknown = "Confirmed before the import of people.csv; date unknown."
    expect(sentence).to_have_text(f"Can be mailed. {unknown}")

    account.ok("DeleteImport", id=job["id"])
    sentence = show(person, "bob@example.com").locator(".sentence")
    expect(sentence).to_contain_text("Confirmed before the import of a file; date unknown.")
    sentence.get_by_role("link", name="a file").click()
    expect(page).to_have_url(re.compile(f"/activity/{job['operationId']}$"))


def test_tags_are_added_and_removed(person: Person) -> None:
    subscriber_id = add_person(person.account, tags=["early"])["id"]
    person.sign_in()
    shown = show(person, subscriber_id)

    person.page.keyboard.press("t")
    person.page.keyboard.type("vip")
    person.page.keyboard.press("Enter")
    shown.get_by_role("button", name="Remove tag early").click()

    expect(shown.get_by_role("button", name="Remove tag vip")).to_be_visible()
    expect(shown.get_by_role("button", name="Remove tag early")).to_have_count(0)
    subscriber = person.account.ok("GetSubscriber", id=subscriber_id)["subscriber"]
    assert subscriber["tags"] == ["vip"]


def test_answer_that_is_overtaken_by_a_later_one_is_not_shown(person: Person) -> None:
    page = person.page
    subscriber_id = add_person(person.account, tags=["early"])["id"]
    person.sign_in()
    shown = show(person, subscriber_id)
    page.evaluate(
        """() => {
          const send = window.fetch;
          let isFirst = true;
          window.fetch = async (...args) => {
            const response = await send(...args);
            if (!isFirst || !response.url.endsWith("?view=FULL")) return response;
            isFirst = false;
            const body = await response.text();
            window.held = true;
            await new Promise((resolve) => (window.release = resolve));
            // The page has the answer, and has drawn it, when a later task runs.
            setTimeout(() => (window.held = false), 100);
            return new Response(body, response);
          };
        }"""
    )

    shown.get_by_label("Add a tag").fill("vip")
    page.keyboard.press("Enter")
    page.wait_for_function("() => window.held")
    shown.get_by_role("button", name="Remove tag early").click()
    expect(shown.get_by_role("button", name="Remove tag early")).to_have_count(0)
    page.evaluate("() => window.release()")
    page.wait_for_function("() => !window.held")

    expect(shown.get_by_role("button", name="Remove tag vip")).to_be_visible()
    expect(shown.get_by_role("button", name="Remove tag early")).to_have_count(0)


def test_unsubscribing_takes_two_keys(person: Person) -> None:
    subscriber_id = add_person(person.account, isConfirmed=True)["id"]
    person.sign_in()
    show(person, subscriber_id)

    person.page.keyboard.press("u")
    person.page.get_by_role("dialog").wait_for()
    person.page.keyboard.press("Enter")

    expect(panel(person).locator(".sentence")).to_have_text(
        re.compile("Must not be mailed. Unsubscribed on .* by Ada")
    )


def test_subscribing_again_requires_how_the_person_asked(person: Person) -> None:
    subscriber_id = opted_out(person)
    person.sign_in()
    show(person, subscriber_id)

    panel(person).get_by_role("button", name="Subscribe again, or change status…").click()
    dialog = person.page.get_by_role("dialog", name="Change status")
    expect(dialog.get_by_role("radio", name="Unconfirmed")).to_be_focused()
    expect(dialog).to_contain_text("Subscribe again only if the person asked for it.")
    # Only a choice makes the person one who gets mail.
    expect(dialog.get_by_role("radio", name="Unconfirmed")).to_be_checked()
    expect(dialog.get_by_role("button", name="Subscribe, unconfirmed")).to_be_enabled()
    dialog.get_by_role("radio", name=re.compile("^Confirmed")).check()
    dialog.get_by_role("button", name="Record consent and subscribe").click()
    mailability = person.account.ok("GetSubscriberMailability", id=subscriber_id)
    assert mailability["reason"] == "UNSUBSCRIBED"
    dialog.get_by_label("How did the person ask? required").fill("Phone call")
    person.page.keyboard.press("Enter")

    expect(panel(person).locator(".sentence")).to_contain_text("Can be mailed.")
    expect(panel(person).locator(".timeline li").first).to_contain_text("Phone call")
    history = person.account.ok("ListSubscriberHistory", id=subscriber_id)["history"]
    assert history[0]["consentSource"] == "Phone call"


@pytest.mark.parametrize(
    "person", [{"permissions": ["clipboard-read", "clipboard-write"]}], indirect=True
)
def test_links_and_personal_data_are_copied_and_saved(person: Person, tmp_path: Path) -> None:
    subscriber_id = add_person(person.account)["id"]
    person.sign_in()
    show(person, subscriber_id).get_by_role("button", name="Copy confirmation link").click()
    expect(person.page.get_by_text("Copied")).to_have_count(2)
    assert "/c/" in person.page.evaluate("navigator.clipboard.readText()")

    panel(person).get_by_role("button", name="More actions").click()
    with person.page.expect_download() as download:
        person.page.get_by_role("link", name="Personal data").click()
        person.page.get_by_role("button", name="Save as JSON").click()

    download.value.save_as(tmp_path / "data.json")
    data = json.loads((tmp_path / "data.json").read_text())
    assert data["subscriber"]["email"] == "ada@example.com"
    assert [entry["type"] for entry in data["history"]] == ["CREATED"]
    person.page.go_back()
    panel(person).get_by_role("button", name="More actions").click()
    person.page.keyboard.press("y")
    person.page.wait_for_function("navigator.clipboard.readText().then(text => /^curl/.test(text))")
    copied = person.page.evaluate("navigator.clipboard.readText()")
    assert "$ROSTER_API_KEY" in copied
    assert "rk_" not in copied


def test_erasure_requires_the_address_and_leaves_a_receipt(person: Person) -> None:
    subscriber_id = opted_out(person)
    person.sign_in()
    show(person, subscriber_id)
    page = person.page

    page.keyboard.press(".")
    page.get_by_role("button", name="Erase…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("the address stays blocked as a hash")
    # What is loaded after the dialog was opened is announced, and not described too.
    expect(dialog.get_by_role("status")).to_contain_text("blocked as a hash")
    expect(dialog).not_to_have_accessible_description(re.compile("blocked as a hash"))
    # A text from before would be announced again when the dialog closes.
    outer = page.locator(".console > [role=status]")
    expect(outer).to_have_text("")
    button = dialog.get_by_role("button", name="Erase", exact=True)
    expect(button).to_be_disabled()
    dialog.get_by_label("Type the address to confirm").fill("Ada@example.com")
    page.keyboard.press("Enter")

    expect(dialog).to_contain_text("Erased: ada@example.com")
    expect(dialog).to_contain_text("Request: ")
    # The receipt is not shown again, so it stays until it was copied or a button closes it.
    for _ in range(3):
        page.keyboard.press("Escape")
    page.go_back()
    expect(dialog.get_by_role("alert")).to_contain_text("not copied yet")
    expect(dialog).to_contain_text("Erased: ada@example.com")
    page.go_forward()
    dialog.get_by_role("button", name="Close").click()
    expect(outer).to_have_text("")
    expect(page.get_by_role("heading", name="No subscribers yet")).to_be_visible()
    expect(page.get_by_role("link", name="Import a file")).to_have_attribute(
        "href", "/console/import"
    )
    assert person.account.ok("ListSubscribers")["total"] == 0
    expect(show(person, "ada@example.com")).to_contain_text("may not be added")


def test_block_of_an_address_is_lifted_with_a_reason(person: Person) -> None:
    subscriber_id = opted_out(person)
    person.account.ok("DeleteSubscriber", id=subscriber_id)
    person.sign_in()
    show(person, "ada@example.com").get_by_role("button", name="Lift the block…").click()

    dialog = person.page.get_by_role("dialog")
    dialog.get_by_label("Why is it lifted?").fill("Asked by mail")
    person.page.keyboard.press("Enter")

    expect(panel(person)).to_contain_text("No one has this address")
    expect(panel(person).locator(":focus")).to_have_count(1)
    entry = person.account.ok("ListAuditEntries")["entries"][0]
    assert (entry["action"], entry["actor"]["name"]) == ("suppression.deleted", "Ada")


@pytest.mark.parametrize("reports", [True, False])
def test_focus_of_what_is_removed_moves_on_but_into_no_field(person: Person, reports: bool) -> None:
    page = person.page
    subscriber_id = add_person(person.account, tags=["vip"])["id"]
    person.sign_in()
    shown = show(person, subscriber_id)
    if not reports:
        # Some browsers do not report that what has the focus is removed.
        page.evaluate("addEventListener('focusout', (e) => e.stopImmediatePropagation(), true)")

    remove = shown.get_by_role("button", name="Remove tag vip")
    remove.press("Enter")
    expect(remove).to_have_count(0)
    expect(shown.locator(":focus")).to_have_count(1)
    expect(shown.locator("input:focus")).to_have_count(0)

    page.keyboard.press("y")
    page.locator(".notice").get_by_role("button", name="Close").press("Enter")
    expect(page.locator(".notice")).to_have_count(0)
    expect(page.get_by_role("grid")).to_be_focused()


def test_session_that_reads_only_cannot_change_anything(person: Person) -> None:
    subscriber_id = add_person(person.account, firstName="Ada", tags=["vip"])["id"]
    person.sign_in(scope="read")
    shown = show(person, subscriber_id)

    expect(shown).to_contain_text("Ada")
    assert shown.locator("input, select").count() == 0
    assert shown.get_by_role("button", name="Change status").count() == 0
    person.page.keyboard.press("u")
    assert person.page.get_by_role("dialog").count() == 0
    person.page.keyboard.press("?")
    keys = person.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("Copy address")
    expect(keys).not_to_contain_text(re.compile("Add a tag|Edit|Change the status|Tag the"))
    person.page.keyboard.press("Escape")
    shown.get_by_role("button", name="More actions").click()
    expect(person.page.get_by_role("button", name="Erase…")).to_have_count(0)


@pytest.mark.parametrize("person", [{}, {"viewport": {"width": 360, "height": 640}}], indirect=True)
def test_next_person_follows_and_escape_returns_to_the_row(person: Person) -> None:
    for number in range(3):
        add_person(person.account, email=f"p{number}@example.com")
    person.sign_in()
    person.open("/subscribers")
    page = person.page
    page.locator(".rows .row").first.wait_for()

    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(panel(person)).to_contain_text("p2@example.com")
    page.keyboard.press("]")
    expect(panel(person)).to_contain_text("p1@example.com")
    page.keyboard.press("Escape")

    expect(panel(person)).to_have_count(0)
    expect(page.get_by_role("grid")).to_be_focused()
    assert page.get_by_role("grid").get_attribute("aria-activedescendant") == "row-1"


def test_deliveries_about_the_person_are_shown_and_lead_to_all(
    person: Person, receiver: Receiver
) -> None:
    account, page = person.account, person.page
    account.ok("CreateWebhook", url=receiver.url)
    subscriber_id = add_person(account)["id"]
    add_person(account, email="other@example.com")
    for number in range(6):
        account.ok("UpdateSubscriber", id=subscriber_id, firstName=f"Ada{number}")
    receiver.wait_for(8)
    person.sign_in()
    shown = show(person, subscriber_id)

    rows = shown.locator(".person-deliveries > li")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("subscriber.updated")
    expect(rows.first).to_contain_text(receiver.url)
    shown.get_by_role("link", name="All deliveries").click()

    expect(page.locator("tbody tr")).to_have_count(7)
    page.go_back()
    rows.first.get_by_role("link").click()
    expect(page.locator(".page-head .state")).to_have_text("Succeeded")


def test_consent_record_has_what_proves_consent_and_is_printed_without_the_rest(
    person: Person,
) -> None:
    account, page = person.account, person.page
    subscriber_id = add_person(account, firstName="Ada", tags=["vip"])["id"]
    account.ok(
        "ChangeSubscriberStatus", id=subscriber_id, status="CONFIRMED", consentSource="Fair 2026"
    )
    for number in range(60):
        account.ok("UpdateSubscriber", id=subscriber_id, firstName=f"Ada{number}")
    person.sign_in()
    show(person, f"{subscriber_id}?q=ada")

    page.keyboard.press(".")
    page.keyboard.press("r")

    record = page.locator(".record")
    expect(record).to_contain_text("Can be mailed. Confirmed on")
    expect(record.locator("dl")).to_contain_text("Fair 2026")
    expect(record.locator(".timeline li")).to_have_count(2)
    person.check_accessibility()
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation", name="Console")).to_have_count(0)
    expect(record.get_by_role("button")).to_have_count(0)
    expect(record.get_by_role("heading", name="Consent record")).to_be_visible()
    page.emulate_media(media="screen")
    page.get_by_role("link", name="Back to the person").click()
    expect(page).to_have_url(re.compile("q=ada"))


def test_personal_data_is_shown_completely_and_printed_without_the_rest(
    person: Person, receiver: Receiver
) -> None:
    account, page = person.account, person.page
    account.ok("CreateCustomField", label="Town")
    account.ok("CreateCustomField", label="City")
    account.ok("CreateWebhook", url=receiver.url)
    account.ok("CreateSegment", name="Readers", filter='tags:"<b>vip"')
    city = "a\u202eb" * 300
    values = {"city": city, "town": "Bath"}
    subscriber_id = add_person(account, tags=["<b>vip"], customFields=values)["id"]
    for number in range(60):
        account.ok("UpdateSubscriber", id=subscriber_id, firstName=f"Ada{number}")
    receiver.wait_for(62)
    person.sign_in()
    show(person, subscriber_id)

    page.keyboard.press(".")
    page.keyboard.press("p")

    record = page.locator(".record")
    expect(record).to_contain_text("Waiting for confirmation")
    facts = record.locator("dl")
    expect(facts).to_contain_text("Readers")
    expect(facts.locator(".tag", has_text="<b>vip")).to_have_count(1)
    expect(facts).to_contain_text(re.compile("TownBathCity"))
    lists = record.locator(".timeline")
    expect(lists.nth(0).locator("li")).to_have_count(61)
    expect(lists.nth(1).locator("li")).to_have_count(61)
    expect(lists.nth(2).locator("li")).to_have_count(61)
    expect(lists.nth(2)).to_contain_text(receiver.url)
    person.check_accessibility()
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation", name="Console")).to_have_count(0)
    expect(record.get_by_role("button")).to_have_count(0)


def test_width_of_the_panel_is_changed_and_remembered(person: Person) -> None:
    page = person.page
    subscriber_id = add_person(person.account)["id"]
    person.sign_in()
    show(person, subscriber_id)
    edge = page.get_by_role("separator", name="Width of the person")

    def width() -> float:
        box = panel(person).bounding_box()
        assert box is not None
        return box["width"]

    assert width() == 480
    edge.focus()
    page.keyboard.press("ArrowLeft")
    assert width() == 504
    page.keyboard.press("Home")
    assert width() == 360
    box = edge.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 4, 400)
    page.mouse.down()
    page.mouse.move(box["x"] - 196, 400)
    page.mouse.up()
    assert abs(width() - 560) <= 5
    moved = width()
    page.reload()
    expect(panel(person).locator(".sentence")).to_be_visible()
    assert width() == moved


def test_status_that_changed_meanwhile_is_shown_before_it_is_replaced(person: Person) -> None:
    account = person.account
    subscriber_id = add_person(account)["id"]
    person.sign_in()
    show(person, subscriber_id)
    person.page.keyboard.press("u")
    dialog = person.page.get_by_role("dialog", name="Change status")
    dialog.get_by_label("Confirmed").check()
    account.ok("ChangeSubscriberStatus", id=subscriber_id, status="UNSUBSCRIBED")

    dialog.get_by_role("button", name="Confirm", exact=True).click()

    expect(dialog.get_by_role("alert")).to_have_text(
        "Changed meanwhile to Unsubscribed. You entered Confirmed."
    )
    dialog.get_by_role("button", name="Record consent and subscribe").click()
    # How the person asked is required now.
    mailability = account.ok("GetSubscriberMailability", id=subscriber_id)
    assert mailability["reason"] == "UNSUBSCRIBED"
    dialog.get_by_label("How did the person ask?").fill("Phone call")
    person.page.keyboard.press("Enter")
    expect(panel(person).locator(".sentence")).to_contain_text("Can be mailed.")


def test_person_is_accessible(person: Person) -> None:
    markup = "<b>markup</b>"
    person.account.ok("CreateCustomField", label=markup)
    subscriber_id = add_person(
        person.account, firstName=markup, lastName="شخص", tags=["x" * 100], isConfirmed=True
    )["id"]
    person.account.ok("ChangeSubscriberStatus", id=subscriber_id, status="UNSUBSCRIBED")
    person.sign_in()
    show(person, subscriber_id)
    person.check_accessibility()
    person.page.keyboard.press("u")
    person.page.get_by_role("dialog").wait_for()
    person.check_accessibility()


@pytest.mark.parametrize("view", ["bob@example.com", ""])
def test_person_who_is_shown_stays_when_another_was_deleted_late(person: Person, view: str) -> None:
    page = person.page
    gone = add_person(person.account)["id"]
    add_person(person.account, email="bob@example.com")
    person.sign_in()
    hold_answers(person, f"/api/subscribers/{gone}", "DELETE")
    show(person, gone)
    page.keyboard.press(".")
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_function("() => window.held > 0")
    page.keyboard.press("Escape")
    if view:
        page.locator(".rows").get_by_text(view).click()
        expect(panel(person).get_by_role("heading", name=view)).to_be_visible()
    else:
        page.get_by_role("navigation").get_by_role("link", name="Tags").click()
        expect(page.get_by_role("heading", name="Tags", level=1)).to_be_visible()
    address = page.url

    page.evaluate("() => window.release()")
    expect(page.get_by_role("region", name="Notice")).to_contain_text("deleted")

    assert page.url == address


def erase(person: Person, email: str) -> None:
    """Erases the person who is shown."""
    page = person.page
    page.keyboard.press(".")
    page.get_by_role("button", name="Erase…").click()
    page.get_by_role("dialog").get_by_label("Type the address to confirm").fill(email)
    page.keyboard.press("Enter")


def erase_without_answer(person: Person) -> None:
    """Erases Ada, and closes the dialog before the answer arrives."""
    ada = add_person(person.account)["id"]
    add_person(person.account, email="bob@example.com")
    person.sign_in()
    hold_answers(person, f"/api/subscribers/{ada}?", "DELETE")
    show(person, ada)
    erase(person, "ada@example.com")
    person.page.wait_for_function("() => window.held > 0")
    person.page.keyboard.press("Escape")


def test_receipts_of_two_erasures_are_shown_one_after_the_other(person: Person) -> None:
    page, dialog = person.page, person.page.get_by_role("dialog")
    erase_without_answer(person)
    page.locator(".rows").get_by_text("bob@example.com").click()
    expect(panel(person).get_by_role("heading", name="bob@example.com")).to_be_visible()
    erase(person, "bob@example.com")
    expect(dialog).to_contain_text("Erased: bob@example.com")

    page.evaluate("() => window.release()")

    expect(dialog).to_contain_text("Erased: bob@example.com")
    for email in ("bob@example.com", "ada@example.com"):
        expect(dialog).to_contain_text(f"Erased: {email}")
        dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)


def test_receipt_of_an_erasure_is_not_shown_in_another_account(person: Person) -> None:
    page, account = person.page, person.account
    erase_without_answer(person)
    page.get_by_role("button", name="Ada Admin").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    other = new_account(account.service, account.front)
    page.get_by_label("Sign-in link or API key").fill(other.key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="Console")).to_be_visible()

    page.evaluate("async () => { window.release(); await fetch('/readyz'); }")

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert "ada@example.com" not in page.content()
    assert account.ok("ListSubscribers")["total"] == 1
