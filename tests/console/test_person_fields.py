"""Fields of a person that are edited in place: what is saved, restored, lost, and in conflict."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import Person
from .people import add_person
from .test_person import panel, show
from .test_subscribers import hold_answers

pytestmark = pytest.mark.verify


def test_field_is_changed_with_enter_and_restored_with_escape(person: Person) -> None:
    subscriber_id = add_person(person.account, firstName="Ada")["id"]
    person.sign_in()
    field = show(person, subscriber_id).get_by_label("First name")

    field.fill("Augusta")
    person.page.keyboard.press("Escape")
    expect(field).to_have_value("Ada")
    field.fill("Augusta")
    person.page.keyboard.press("Enter")

    expect(panel(person).get_by_title("Saved")).to_be_visible()
    expect(panel(person)).to_contain_text("First name: Ada → Augusta")
    expect(panel(person).locator(".timeline li").first).to_contain_text("Ada")
    subscriber = person.account.ok("GetSubscriber", id=subscriber_id)["subscriber"]
    assert subscriber["firstName"] == "Augusta"
    expect(person.page.locator(".rows .row").first).to_contain_text("Augusta")


def test_change_is_saved_when_the_field_is_left(person: Person) -> None:
    account, page = person.account, person.page
    ada = add_person(account)["id"]
    add_person(account, email="bob@example.com")
    account.ok("CreateCustomField", key="birthday", label="Birthday", dataType="DATE")
    account.ok("UpdateSubscriber", id=ada, customFields={"birthday": "1815-12-10"})
    person.sign_in()
    person.open("/subscribers")
    page.locator(".rows .row", has_text="ada@").click()
    shown = panel(person)

    def stored(name: str) -> str:
        value: str = account.ok("GetSubscriber", id=ada)["subscriber"][name]
        return value

    # With Tab, which leads to the next field.
    shown.get_by_label("First name").fill("Augusta")
    page.keyboard.press("Tab")
    expect(shown.get_by_label("Last name")).to_be_focused()
    expect(shown).to_contain_text("First name: – → Augusta")
    # With a click on a link or another person, and with the way back.
    shown.get_by_label("Last name").fill("King")
    page.locator(".rows .row", has_text="bob@").click()
    expect(panel(person)).to_contain_text("bob@example.com")
    expect(page.locator(".rows .row", has_text="ada@")).to_contain_text("Augusta King")
    page.go_back()
    expect(shown.get_by_label("Last name")).to_have_value("King")
    shown.get_by_label("Last name").fill("Byron")
    page.go_back()
    expect(panel(person)).to_have_count(0)
    expect(page.locator(".rows .row", has_text="ada@")).to_contain_text("Augusta Byron")
    page.go_forward()
    expect(shown).to_contain_text("Last name: King → Byron")

    # What cannot be saved is not lost without a word.
    field = shown.get_by_label("First name")
    field.fill("x" * 101)
    page.keyboard.press("Tab")
    expect(shown.get_by_role("alert")).to_have_text("must be at most 100 characters")
    shown.get_by_role("heading", level=2).click()
    page.keyboard.press("Escape")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_have_value("Augusta")
    field.fill("x" * 101)
    shown.get_by_role("button", name="Close").click()
    expect(page.locator(".notice")).to_contain_text("First name was not saved: must be at most")

    # A part of a date is not a removed date.
    page.locator(".rows .row", has_text="ada@").click()
    shown.get_by_label("Birthday").focus()
    page.keyboard.press("Delete")
    shown.get_by_label("First name").focus()
    expect(shown.get_by_role("alert")).to_be_visible()
    assert account.ok("GetSubscriber", id=ada)["subscriber"]["customFields"] == {
        "birthday": "1815-12-10"
    }
    assert stored("firstName") == "Augusta"


def test_part_of_a_value_is_not_saved_when_the_window_or_a_dialog_takes_the_focus(
    person: Person,
) -> None:
    account, page = person.account, person.page
    ada = add_person(account, isConfirmed=True)["id"]
    person.sign_in()
    shown = show(person, ada)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.method))

    # Another window leaves the focus of the page where it is.
    name, address = shown.get_by_label("First name"), shown.get_by_label("Email")
    name.fill("Aug")
    name.dispatch_event("blur")
    expect(shown.get_by_role("button", name="Save")).to_be_visible()
    page.keyboard.press("Escape")
    address.fill("ada@example.co")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    address.focus()
    page.keyboard.press("Tab")
    expect(name).to_be_focused()
    expect(address).to_have_value("ada@example.co")
    assert "PATCH" not in requests

    # Escape leads back to the address, and restores it.
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(address).to_be_focused()
    page.keyboard.press("Escape")
    expect(address).to_have_value("ada@example.com")
    address.fill("ada@example.co")
    shown.get_by_role("button", name="Close").click()
    expect(page.locator(".notice")).to_contain_text("was not saved: A confirmed person must")
    subscriber = account.ok("GetSubscriber", id=ada)["subscriber"]
    assert (subscriber["email"], subscriber["status"]) == ("ada@example.com", "CONFIRMED")

    shown = show(person, ada)
    shown.get_by_label("Email").fill("ada@example.net")
    page.keyboard.press("Enter")
    expect(shown).to_contain_text("Waiting for confirmation")


def test_conflict_shows_both_values_and_another_field_is_no_conflict(person: Person) -> None:
    account, subscriber_id = person.account, add_person(person.account, firstName="Ada")["id"]
    person.sign_in()
    field = show(person, subscriber_id).get_by_label("First name")

    account.ok("UpdateSubscriber", id=subscriber_id, lastName="King")
    field.fill("Augusta")
    person.page.keyboard.press("Enter")
    expect(panel(person)).to_contain_text("First name: Ada → Augusta")
    expect(panel(person).get_by_label("Last name")).to_have_value("King")

    account.ok("UpdateSubscriber", id=subscriber_id, firstName="Byron")
    field.fill("Countess")
    person.page.keyboard.press("Enter")
    alert = panel(person).get_by_role("alert")
    expect(alert).to_contain_text("Changed meanwhile to Byron. You entered Countess.")
    name = account.ok("GetSubscriber", id=subscriber_id)["subscriber"]["firstName"]
    assert name == "Byron"
    expect(field).to_be_focused()
    expect(field).to_have_accessible_description(re.compile("^Changed meanwhile to Byron"))
    alert.get_by_role("button", name="Keep mine").click()

    expect(panel(person)).to_contain_text("First name: Byron → Countess")


def test_long_values_leave_what_follows_them_in_view(person: Person) -> None:
    account, page = person.account, person.page
    account.ok("CreateCustomField", label="Notes", dataType="TEXT")
    ada = add_person(account, customFields={"notes": "before " * 140})["id"]
    person.sign_in()
    notes = show(person, ada).get_by_role("textbox", name="Notes")
    notes.fill("mine " * 200)
    account.ok("UpdateSubscriber", id=ada, customFields={"notes": "theirs " * 140})
    page.keyboard.press("Enter")

    expect(panel(person).get_by_role("button", name="Take theirs")).to_be_in_viewport()
    person.check_accessibility()
    panel(person).get_by_role("button", name="Take theirs").click()
    # A page to print has all of them.
    person.open(f"/subscribers/{ada}/data")
    value = page.locator(".timeline .long").first
    assert value.evaluate("element => element.scrollHeight <= element.clientHeight")
    assert value.evaluate("element => element.tabIndex") == -1


def test_value_that_failed_has_the_focus_before_the_person_closes(person: Person) -> None:
    account, page = person.account, person.page
    account.ok("CreateCustomField", label="Member", dataType="BOOLEAN")
    ada = add_person(account, firstName="Ada")["id"]
    person.sign_in()
    shown = show(person, ada)
    page.route("**/api/subscribers/*", lambda route: route.abort(), times=1)
    member = shown.get_by_label("Member")
    member.select_option("Yes")
    expect(shown.get_by_role("alert")).to_be_visible()

    shown.get_by_role("heading", level=2).click()
    page.keyboard.press("Escape")
    expect(member).to_be_focused()
    member.select_option("No")
    expect(shown).to_contain_text("Member: – → No")
    change = shown.locator(".timeline .values").first
    expect(change).to_match_aria_snapshot(
        """
        - paragraph:
          - text: "Member:"
          - img "empty"
          - img "changed to"
          - text: "No"
        """
    )

    # To enter the other value ends a conflict.
    account.ok("UpdateSubscriber", id=ada, firstName="Byron")
    name = shown.get_by_label("First name")
    name.fill("Countess")
    page.keyboard.press("Enter")
    expect(shown.get_by_role("alert")).to_contain_text("Changed meanwhile to Byron.")
    name.fill("Byron")
    expect(shown.get_by_role("alert")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(panel(person)).to_have_count(0)


def test_choice_that_changes_while_it_is_stored_is_stored_too(person: Person) -> None:
    account, page = person.account, person.page
    account.ok("CreateCustomField", label="Member", dataType="BOOLEAN")
    ada = add_person(account)["id"]
    person.sign_in()
    hold_answers(person, "/api/subscribers/", "PATCH")
    shown = show(person, ada)

    shown.get_by_label("Member").select_option("Yes")
    page.wait_for_function("() => window.held > 0")
    shown.get_by_label("Member").select_option("No")
    page.evaluate("window.release()")

    expect(shown).to_contain_text("Member: Yes → No")
    expect(shown.get_by_label("Member")).to_have_value("false")
    subscriber = account.ok("GetSubscriber", id=ada)["subscriber"]
    assert subscriber["customFields"] == {"member": False}


@pytest.mark.parametrize("scope", ["write", "read"])
def test_value_is_kept_until_the_person_has_signed_in_again(person: Person, scope: str) -> None:
    account, page = person.account, person.page
    ada = add_person(account, firstName="Ada")["id"]
    person.sign_in(scope="write")
    name = show(person, ada).get_by_label("First name")
    name.fill("Augusta")
    account.ok("SignOutEverywhere")
    page.keyboard.press("Enter")
    expect(page.locator(".cover").get_by_text("Your session ended")).to_be_visible()

    page.get_by_label("Sign-in link or API key").fill(account.new_key(scope))
    page.keyboard.press("Enter")
    expect(page.locator("dialog.cover")).to_have_count(0)

    if scope == "write":
        expect(name).to_have_value("Augusta")
        name.focus()
        page.keyboard.press("Tab")
        expect(panel(person)).to_contain_text("First name: Ada → Augusta")
        return
    # A session that must not change it does not try, and says so.
    expect(page.locator(".notice")).to_contain_text("First name was not saved:")
    expect(panel(person)).to_contain_text("Ada")
    assert account.ok("GetSubscriber", id=ada)["subscriber"]["firstName"] == "Ada"


def test_error_of_a_field_is_shown_next_to_it(person: Person) -> None:
    subscriber_id = add_person(person.account)["id"]
    person.sign_in()
    field = show(person, subscriber_id).get_by_label("First name")

    field.fill("x" * 101)
    person.page.keyboard.press("Enter")

    expect(panel(person).get_by_role("alert")).to_have_text("must be at most 100 characters")
    assert field.get_attribute("aria-invalid") == "true"


@pytest.mark.parametrize("person", [{"locale": "de-DE"}], indirect=True)
def test_error_of_a_field_is_in_the_language_of_the_person(person: Person) -> None:
    subscriber_id = add_person(person.account)["id"]
    add_person(person.account, email="bob@example.com")
    person.sign_in()
    field = show(person, subscriber_id).get_by_label("E-Mail", exact=True)

    for text, reason in (("x", "Falsches Format, "), ("bob@example.com", "Eine andere Person")):
        field.fill(text)
        person.page.keyboard.press("Enter")
        expect(panel(person).get_by_role("alert")).to_contain_text(reason)


def test_custom_fields_are_edited_by_their_types(person: Person) -> None:
    account = person.account
    for label, data_type in {
        "City": "TEXT",
        "Score": "NUMBER",
        "Member": "BOOLEAN",
        "Birthday": "DATE",
    }.items():
        account.ok("CreateCustomField", label=label, dataType=data_type)
    subscriber_id = add_person(account)["id"]
    person.sign_in()
    shown = show(person, subscriber_id)

    for label, value in {"City": "London", "Score": "7.5", "Birthday": "1815-12-10"}.items():
        shown.get_by_label(label).fill(value)
        person.page.keyboard.press("Enter")
        expect(shown).to_contain_text(f"{label}: – → {value}")
    shown.get_by_label("Member").select_option("Yes")
    expect(shown).to_contain_text("Member: – → Yes")

    values = account.ok("GetSubscriber", id=subscriber_id)["subscriber"]["customFields"]
    assert values == {"city": "London", "score": 7.5, "member": True, "birthday": "1815-12-10"}
    shown.get_by_label("City").fill("")
    person.page.keyboard.press("Enter")
    expect(shown).to_contain_text("City: London → –")
