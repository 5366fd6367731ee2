"""Tags and custom fields in a browser: numbers, uses, changes and deletion."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Person
from .people import add_people

pytestmark = pytest.mark.verify
HOSTILE = "<img src=x onerror=alert(1)> \u202e" + "w" * 45


def row(person: Person, name: str) -> Locator:
    return person.page.get_by_role("row").filter(has=person.page.get_by_role("link", name=name))


def choose(person: Person, name: str, action: str) -> Locator:
    """Opens the menu of a row, chooses an action, and returns its dialog."""
    person.page.get_by_role("button", name=f"Actions for {name}").click()
    person.page.get_by_role("button", name=action).click()
    return person.page.get_by_role("dialog")


def test_tags_have_numbers_that_lead_to_their_people(person: Person) -> None:
    add_people(person.account, 31)
    person.account.ok("CreateTag", name='say "hi"*')
    person.account.ok("AddSubscriberTags", id="p0001@example.com", tags=['say "hi"*'])
    person.account.ok("CreateSegment", name="VIPs", filter='tags:"vip"')
    person.sign_in()
    person.page.get_by_role("link", name="Tags & fields").click()
    expect(row(person, "vip")).to_contain_text("vip111 segment")
    expect(row(person, "early")).to_contain_text("early10")

    person.page.get_by_role("link", name='say "hi"*').click()

    expect(person.page.get_by_role("link", name="All 1", exact=True)).to_be_visible()
    expect(person.page.get_by_role("grid")).to_contain_text("p0001@example.com")


def test_tag_is_created_in_three_actions_and_renamed_in_filters(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    person.open("/tags")

    page.get_by_role("button", name="New tag").click()
    page.keyboard.type("vip")
    page.keyboard.press("Enter")

    expect(row(person, "vip")).to_be_visible()
    segment = account.ok("CreateSegment", name="VIPs", filter='tags:"vip"')["segment"]["id"]
    account.ok("CreateTag", name="taken")
    dialog = choose(person, "vip", "Edit")
    dialog.get_by_label("Name").fill("taken")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("Another tag has this name.")
    dialog.get_by_label("Name").fill("gold")
    dialog.get_by_label("Description").fill("People whom we know.")
    dialog.get_by_role("button", name="Save").click()
    expect(row(person, "gold")).to_contain_text("People whom we know.")
    assert account.ok("GetSegment", id=segment)["segment"]["filter"] == 'tags:"gold"'


def test_deletion_of_a_tag_states_what_is_lost(person: Person) -> None:
    page, account = person.page, person.account
    add_people(account, 31)
    for name, tag in (("VIPs", "vip"), ("Best", "vip"), ("Early", "early")):
        account.ok("CreateSegment", name=name, filter=f'tags:"{tag}"')
    person.sign_in()
    person.open("/tags")
    expect(row(person, "vip")).to_contain_text("11")

    dialog = choose(person, "vip", "Delete")
    expect(dialog).to_contain_text("It is removed from 11 people, who stay in the list.")
    expect(dialog).to_contain_text("2 segments name it. Their filters are cleared")
    expect(dialog.get_by_role("listitem")).to_have_text(["Best", "VIPs"])
    page.keyboard.press("Escape")
    expect(row(person, "vip")).to_be_visible()
    choose(person, "vip", "Delete").get_by_role("button", name="Delete tag").click()

    expect(row(person, "vip")).to_have_count(0)
    filters = {each["name"]: each["filter"] for each in account.ok("ListSegments")["segments"]}
    assert filters == {"Best": "", "Early": 'tags:"early"', "VIPs": ""}
    assert account.ok("ListSubscribers")["total"] == 31


def test_use_that_the_question_did_not_name_stops_the_deletion(person: Person) -> None:
    person.account.ok("CreateTag", name="vip")
    person.sign_in()
    person.open("/tags")
    dialog = choose(person, "vip", "Delete")
    person.account.ok("CreateSegment", name="VIPs", filter='tags:"vip"')

    dialog.get_by_role("button", name="Delete tag").click()

    expect(dialog.get_by_role("alert")).to_contain_text("A segment uses this now.")
    assert person.account.ok("ListTags")["total"] == 1


def test_field_is_created_with_its_type_and_its_merge_tag_is_copied(person: Person) -> None:
    page, account = person.page, person.account
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    person.sign_in()
    person.open("/fields")

    page.get_by_role("button", name="New field").click()
    page.keyboard.type("Favorite color")
    page.get_by_label("Type").select_option("Number")
    page.get_by_label("Fallback").fill("7")
    page.keyboard.press("Enter")

    expect(row(person, "Favorite color")).to_contain_text("Number07")
    page.get_by_role("button", name="Copy the merge tag of Favorite color").click()
    expect(page.get_by_text("Copied")).not_to_have_count(0)
    copied = page.evaluate("navigator.clipboard.readText()")
    field: dict[str, Any] = account.ok("ListCustomFields")["customFields"][0]
    assert (copied, field["dataType"]) == ("{{customFields.favorite_color}}", "NUMBER")
    dialog = choose(person, "Favorite color", "Edit")
    expect(dialog).to_contain_text("The merge tag stays {{customFields.favorite_color}}")
    dialog.get_by_label("Name").fill("Color")
    dialog.get_by_label("Fallback").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(row(person, "Color")).to_contain_text("favorite_color}}Number0Edit")
    assert "fallback" not in account.ok("ListCustomFields")["customFields"][0]


def test_deletion_of_a_field_states_how_many_people_have_a_value(person: Person) -> None:
    page, account = person.page, person.account
    account.ok("CreateCustomField", label="Plan")
    add_people(account, 5)
    for number in range(3):
        account.ok("UpdateSubscriber", id=f"p000{number}@example.com", customFields={"plan": "pro"})
    account.ok("CreateSegment", name="Pro", filter='customFields.plan = "pro"')
    person.sign_in()
    person.open("/fields")
    expect(row(person, "Plan")).to_contain_text("Text31 segment")
    page.get_by_role("link", name="Plan").click()
    expect(page.get_by_role("link", name="All 3", exact=True)).to_be_visible()
    page.go_back()

    dialog = choose(person, "Plan", "Delete")
    expect(dialog).to_contain_text("3 people have a value, which is deleted for good.")
    expect(dialog.get_by_role("listitem")).to_have_text(["Pro"])
    dialog.get_by_role("button", name="Delete field").click()

    expect(row(person, "Plan")).to_have_count(0)
    assert account.ok("ListSegments")["segments"][0]["filter"] == ""


def test_read_only_session_sees_no_actions(person: Person) -> None:
    person.account.ok("CreateTag", name="vip")
    person.account.ok("CreateCustomField", label="Plan")
    person.sign_in(scope="read")

    for path, name in (("/tags", "vip"), ("/fields", "Plan")):
        person.open(path)
        expect(row(person, name)).to_be_visible()
        expect(person.page.get_by_role("button", name="Actions for")).to_have_count(0)
        expect(person.page.get_by_role("button", name="New")).to_have_count(0)


def test_tags_and_fields_are_accessible(person: Person) -> None:
    page, account = person.page, person.account
    add_people(account, 3)
    account.ok("CreateTag", name=HOSTILE, description="d" * 500)
    account.ok("CreateCustomField", label=HOSTILE, fallback="f" * 1000, dataType="DATE")
    account.ok("CreateSegment", name=HOSTILE, filter='tags:"vip"')
    person.sign_in()
    person.open("/tags")
    expect(row(person, "vip")).to_contain_text("1")
    person.check_accessibility()
    choose(person, "vip", "Delete")
    person.check_accessibility()
    page.keyboard.press("Escape")
    choose(person, "vip", "Edit")
    person.check_accessibility()
    person.open("/fields")
    expect(row(person, "<img")).to_be_visible()
    person.check_accessibility()
    page.get_by_role("button", name="New field").click()
    person.check_accessibility()


def test_text_that_is_cut_has_a_title_under_the_pointer(person: Person) -> None:
    page = person.page
    name = "<b>" + "w" * 47
    for each in (name, "vip"):
        person.account.ok("CreateTag", name=each)
    person.sign_in()
    page.set_viewport_size({"width": 360, "height": 800})
    person.open("/tags")

    for each, title in ((name, name), ("vip", "")):
        link = page.locator("a.cut", has_text=each)
        link.hover()
        expect(link).to_have_attribute("title", title)
