"""Filters in the list of subscribers: conditions as chips and as text, completion, empty lists."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from .actions import Actions
from .conftest import Person
from .people import add_people, add_person

pytestmark = pytest.mark.verify


@pytest.fixture
def list_owner(person: Person) -> Person:
    """A person who looks at 12 subscribers, of whom 4 have each tag, and at Ada, who has a plan."""
    account = person.account
    account.ok("CreateCustomField", label="Plan")
    account.ok("CreateCustomField", label="Score", dataType="NUMBER")
    add_people(account, 12)
    add_person(account, customFields={"plan": "pro", "score": 7}, tags=["vip"])
    person.sign_in()
    person.open("/subscribers")
    person.page.locator(".rows .row").first.wait_for()
    return person


def chips(person: Person) -> Locator:
    return person.page.get_by_role("list", name="Filter").get_by_role("listitem")


def box(person: Person) -> Locator:
    return person.page.get_by_label("Search or filter")


def found(person: Person) -> Locator:
    return person.page.get_by_role("navigation", name="Status").get_by_role("link").first


def options(person: Person) -> Locator:
    return person.page.locator("[role=option]")


def choose(person: Person, *names: str) -> None:
    for name in names:
        options(person).filter(has_text=re.compile(rf"^{name}")).first.click()


def test_finding_a_group_with_a_status_a_field_and_a_value(list_owner: Person) -> None:
    page, actions = list_owner.page, Actions(list_owner.page)

    actions.click(page.get_by_role("navigation", name="Status").get_by_text("Unconfirmed"))
    actions.click(page.get_by_role("button", name="Add filter"))
    actions.click(options(list_owner).filter(has_text=re.compile("^tags$", re.I)))
    actions.click(options(list_owner).filter(has_text="vip"))

    expect(chips(list_owner)).to_have_text([re.compile("tags include “vip”", re.I)])
    expect(box(list_owner)).to_have_value('tags:"vip"')
    expect(page.get_by_role("navigation", name="Status")).to_contain_text("Unconfirmed 5")
    assert actions.count <= 4

    # A value that is typed applies without a further key, until Escape restores the list.
    list_owner.open("/subscribers")
    actions = Actions(page)
    actions.click(page.get_by_role("navigation", name="Status").get_by_text("Unconfirmed"))
    actions.click(page.get_by_role("button", name="Add filter"))
    actions.click(options(list_owner).filter(has_text=re.compile("^Plan$")))
    actions.type("pro")
    expect(chips(list_owner)).to_have_text(["Plan is “pro”"])
    expect(page.get_by_role("navigation", name="Status")).to_contain_text("Unconfirmed 1")
    assert actions.count <= 4
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(chips(list_owner)).to_have_count(0)
    page.keyboard.type("pro")
    expect(chips(list_owner)).to_have_count(1)
    page.keyboard.press("Escape")
    expect(chips(list_owner)).to_have_count(0)
    expect(page).to_have_url(re.compile("status=UNCONFIRMED"))
    expect(page.get_by_role("button", name="Add filter")).to_be_focused()


def test_condition_is_added_with_the_keyboard_only(list_owner: Person) -> None:
    page = list_owner.page
    page.keyboard.press("f")
    expect(page.get_by_role("combobox", name="Field to filter by")).to_be_focused()
    page.keyboard.type("plan")
    expect(options(list_owner)).to_have_text(["Plan"])
    page.keyboard.press("Enter")
    expect(options(list_owner)).to_have_text(["pro"])
    page.keyboard.type("p")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    expect(chips(list_owner)).to_have_text(["Plan is “pro”"])
    expect(found(list_owner)).to_have_text("All 1")
    page.keyboard.press("f")
    page.keyboard.type("created")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(chips(list_owner).nth(1)).to_have_text(re.compile("created in the last 30 days", re.I))
    expect(box(list_owner)).to_have_value('customFields.plan = "pro" AND createdAt > daysAgo(30)')


def test_chips_and_text_mirror_each_other(list_owner: Person) -> None:
    page = list_owner.page
    box(list_owner).fill('tags:"vip" OR tags:"early" AND -customFields.score > 6')
    page.keyboard.press("Enter")

    expect(box(list_owner)).to_have_value(
        '(tags:"vip" OR tags:"early") AND NOT customFields.score > 6'
    )
    expect(chips(list_owner)).to_have_text(
        ["(Tags include “vip” or tags include “early”)", "Not Score more than 6"]
    )
    expect(found(list_owner)).to_have_text("All 8")
    page.get_by_role("button", name="Remove filter: (Tags").click()
    expect(box(list_owner)).to_have_value("NOT customFields.score > 6")
    box(list_owner).fill("customFields.score > 6")
    page.keyboard.press("Enter")
    chips(list_owner).get_by_role("button", name="Score more than 6", exact=True).click()
    page.get_by_label("Value").fill("7")
    page.keyboard.press("Enter")

    expect(box(list_owner)).to_have_value("customFields.score > 7")
    expect(page.get_by_role("heading", name="No one matches")).to_be_visible()
    page.go_back()
    expect(chips(list_owner)).to_have_text(["Score more than 6"])
    # The parentheses are missing in the link of a program.
    list_owner.open('/subscribers?filter=tags%3A"vip" OR tags%3A"early"')
    expect(chips(list_owner)).to_have_count(1)
    expect(page.locator(".chip.wrong")).to_have_count(0)


def test_expression_is_completed_in_the_box(list_owner: Person) -> None:
    page = list_owner.page
    page.keyboard.press("/")
    page.keyboard.type("pla")
    expect(options(list_owner).first).to_contain_text("customFields.plan")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box(list_owner)).to_have_value("customFields.plan ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(options(list_owner)).to_have_text(['"pro"pro'])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box(list_owner)).to_have_value('customFields.plan = "pro" ')
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")

    expect(found(list_owner)).to_have_text("All 1")
    # The first word of an expression was searched as a name until it was one.
    box(list_owner).fill("status")
    expect(page.get_by_role("heading", name="No one matches")).to_be_visible()
    page.keyboard.press("End")
    page.keyboard.type(" = ")
    expect(found(list_owner)).to_have_text("All 13")
    expect(box(list_owner)).to_have_value("status = ")
    box(list_owner).fill("VIP")
    page.get_by_role("link", name="Show people with the tag vip").click()
    expect(box(list_owner)).to_have_value('tags:"vip"')
    expect(chips(list_owner)).to_have_text([re.compile("tags include “vip”", re.I)])
    # A name is searched as it is typed, without a choice among fields.
    box(list_owner).fill("first1")
    page.keyboard.press("Enter")
    expect(found(list_owner)).to_have_text("All 3")


def test_empty_list_names_the_condition_without_which_people_match(list_owner: Person) -> None:
    page = list_owner.page
    box(list_owner).fill('tags:"vip" AND customFields.plan = "none"')
    page.keyboard.press("Enter")
    empty = page.get_by_role("link", name=re.compile("people match without:"))
    expect(empty).to_have_text("5 people match without: Plan is “none”")

    empty.click()

    expect(chips(list_owner)).to_have_text([re.compile("tags include “vip”", re.I)])
    expect(found(list_owner)).to_have_text("All 5")


def test_words_are_found_anywhere_with_one_key_or_click(list_owner: Person) -> None:
    page = list_owner.page
    anywhere = "Search anywhere in addresses and names"
    box(list_owner).fill("ample.com IRST1")
    link = page.get_by_role("link", name=anywhere)
    expect(link).to_be_visible()
    expect(options(list_owner)).to_have_text([anywhere])
    list_owner.check_accessibility()
    page.keyboard.press("Enter")

    expect(found(list_owner)).to_have_text("All 3")
    expect(chips(list_owner)).to_have_count(2)
    expect(box(list_owner)).to_have_value(
        '(email:"ample.com" OR name:"ample.com") AND (email:"IRST1" OR name:"IRST1")'
    )
    # Few people are found: one has such a name, two have it in their addresses.
    page.get_by_role("button", name="Remove filter").first.click()
    add_person(list_owner.account, email="xfirst10@example.com")
    add_person(list_owner.account, email="xfirst11@example.com")
    list_owner.open("/subscribers?status=UNCONFIRMED")
    box(list_owner).fill("first1")
    expect(options(list_owner)).to_have_text([anywhere])
    choose(list_owner, anywhere)
    expect(found(list_owner)).to_have_text("All 5")
    assert "status=UNCONFIRMED" in page.url
    page.go_back()
    expect(box(list_owner)).to_have_value("first1")
    list_owner.open("/subscribers?q=zzz")
    expect(link).to_be_visible()
    page.keyboard.press("Enter")
    expect(chips(list_owner)).to_have_count(1)
    expect(link).to_have_count(0)


def test_filters_are_accessible(list_owner: Person) -> None:
    page = list_owner.page
    list_owner.open('/subscribers?filter=tags%3A"vip" AND (tags%3A"early" OR name%3A"<b>")')
    expect(chips(list_owner)).to_have_count(2)
    list_owner.check_accessibility()
    page.keyboard.press("f")
    expect(page.get_by_role("listbox")).to_be_visible()
    list_owner.check_accessibility()
    choose(list_owner, "Tags|tags")
    expect(options(list_owner).first).to_be_visible()
    list_owner.check_accessibility()
    page.keyboard.press("Escape")
    box(list_owner).fill("stat")
    expect(page.get_by_role("listbox")).to_be_visible()
    list_owner.check_accessibility()


def test_selected_status_is_in_view_on_a_narrow_screen(person: Person) -> None:
    page = person.page
    page.set_viewport_size({"width": 360, "height": 740})
    person.sign_in()
    person.open("/subscribers?status=COMPLAINED")

    expect(page.get_by_role("link", name="Complained")).to_be_in_viewport(ratio=0.9)
    page.get_by_role("link", name="Subscribers").click()

    expect(page.get_by_role("link", name="All", exact=False).first).to_be_in_viewport(ratio=0.9)
