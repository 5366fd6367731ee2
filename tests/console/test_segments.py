"""Segments in a browser: list, filter with its matches, changes and deletion."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from .actions import Actions
from .conftest import Person
from .people import add_people

pytestmark = pytest.mark.verify
HOSTILE = "<img src=x onerror=alert(1)>" + "\u202e" + "w" * 60


def create(person: Person, name: str, filter: str) -> dict[str, Any]:
    created = person.account.ok("CreateSegment", name=name, filter=filter)
    segment: dict[str, Any] = created["segment"]
    return segment


def test_segment_is_opened_as_a_list(person: Person) -> None:
    page = person.page
    add_people(person.account, 30)
    create(person, "VIPs", 'tags:"vip"')
    person.sign_in()
    page.keyboard.press("g")
    page.keyboard.press("e")
    row = page.get_by_role("row", name="VIPs")
    expect(row).to_contain_text("Tags include “vip”10")

    row.get_by_role("link", name="VIPs", exact=True).click()

    expect(page.get_by_role("link", name="All 10", exact=True)).to_be_visible()
    person.check_accessibility()
    page.get_by_role("link", name="Edit VIPs").click()
    expect(page.get_by_text("10 people match")).to_be_visible()
    page.get_by_role("link", name="Open as list").click()
    page.get_by_role("link", name="Show all people").click()
    expect(page.get_by_role("link", name="All 30", exact=True)).to_be_visible()


def test_segment_is_chosen_at_the_side_in_one_action(person: Person) -> None:
    page, actions = person.page, Actions(person.page)
    add_people(person.account, 30)
    create(person, "VIPs", 'tags:"vip"')
    create(person, HOSTILE, "status = UNCONFIRMED")
    page.set_viewport_size({"width": 1280, "height": 800})
    person.sign_in()
    person.open("/subscribers?status=CONFIRMED&filter=status:*")
    side = page.get_by_role("navigation", name="Segments")
    expect(side.get_by_role("link")).to_have_count(3)

    actions.click(side.get_by_role("link", name="VIPs"))

    assert actions.count == 1
    expect(side.get_by_role("link", name="VIPs")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("link", name="All 10", exact=True)).to_have_attribute(
        "aria-current", "true"
    )
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "11")
    person.check_accessibility()
    page.locator("#row-2").click()
    expect(page.get_by_role("complementary")).to_be_visible()
    expect(side).to_be_hidden()
    page.get_by_role("button", name="Segments").click()
    page.get_by_role("link", name="All people", exact=True).click()
    expect(page.get_by_role("link", name="All 30", exact=True)).to_be_visible()


def test_saved_segment_appears_in_the_menu_of_a_phone(person: Person) -> None:
    page, actions = person.page, Actions(person.page)
    add_people(person.account, 30)
    create(person, "Early", 'tags:"early"')
    page.set_viewport_size({"width": 360, "height": 800})
    person.sign_in()
    person.open('/subscribers?filter=tags:"vip"')
    page.get_by_role("button", name="Save").click()
    page.keyboard.type("VIPs")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved as segment").first).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="Segments").click()
    vips = page.get_by_role("link", name="VIPs", exact=True)
    expect(vips).to_have_attribute("aria-current", "true")
    person.open("/subscribers")

    actions.click(page.get_by_role("main").get_by_role("button", name="Segments"))
    actions.click(vips)

    assert actions.count == 2
    expect(page.get_by_role("link", name="All 10", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Edit VIPs")).to_be_visible()


def test_filter_shows_its_matches_and_errors_while_it_is_typed(person: Person) -> None:
    page = person.page
    add_people(person.account, 30)
    segment = create(person, "VIPs", 'tags:"vip"')
    person.sign_in()
    page.get_by_role("link", name="Segments", exact=True).click()
    page.get_by_role("link", name="Edit VIPs").click()

    page.get_by_label("Filter").fill("status = CONFIRMED AND plan = 1")
    expect(page.get_by_role("alert").locator("mark")).to_have_text("plan")
    expect(page.get_by_label("Filter")).to_have_accessible_error_message(re.compile("column 24"))
    expect(page.get_by_label("Filter")).to_have_accessible_description("")
    expect(page.locator("[role=status]")).not_to_contain_text("column")
    page.get_by_label("Filter").fill("status = CONFIRMED")
    expect(page.get_by_role("main").get_by_text("20 people match")).to_be_visible()
    page.get_by_label("Description").fill("Get the weekly letter.")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("row", name="VIPs")).to_contain_text("Status is Confirmed20")
    stored = person.account.ok("GetSegment", id=segment["id"])["segment"]
    assert stored["description"] == "Get the weekly letter."


def test_other_changes_are_shown_before_they_are_replaced(person: Person) -> None:
    page = person.page
    segment = create(person, "VIPs", 'tags:"vip"')
    create(person, "Other", "status:*")
    person.sign_in()
    person.open(f"/segments/{segment['id']}")
    page.get_by_label("Name").fill("Other")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_have_text("Another segment has this name.")
    person.account.ok("UpdateSegment", id=segment["id"], filter="status = CONFIRMED")

    page.get_by_label("Name").fill("Mine")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("VIPs: status = CONFIRMED")
    assert person.account.ok("GetSegment", id=segment["id"])["segment"]["name"] == "VIPs"
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("row", name="Mine")).to_contain_text("Tags include “vip”")


def test_segment_is_deleted_after_a_question(person: Person) -> None:
    page = person.page
    add_people(person.account, 3)
    segment = create(person, HOSTILE, "status:*")
    person.sign_in()
    person.open(f"/segments/{segment['id']}")

    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("<img src=x")
    expect(dialog).to_contain_text("The people stay as they are.")
    dialog.get_by_role("button", name="Delete segment").click()

    expect(page).to_have_url(re.compile("/segments$"))
    expect(page.get_by_role("table")).to_have_count(0)
    person.account.fails("SegmentNotFound", "GetSegment", id=segment["id"])
    assert person.account.ok("ListSubscribers")["total"] == 3


def test_segment_without_a_filter_says_why_and_gets_a_new_one(person: Person) -> None:
    page, account = person.page, person.account
    tag = account.ok("CreateTag", name="old")["tag"]["id"]
    create(person, "Lost", 'tags:"old"')
    account.ok("DeleteTag", id=tag, force=True)
    person.sign_in()
    person.open("/segments")
    expect(page.get_by_role("row", name="Lost")).to_contain_text("No filter")

    page.get_by_role("link", name="Edit Lost").click()
    expect(page.get_by_text("This segment lost its filter")).to_be_visible()
    page.get_by_label("Filter").fill("status = CONFIRMED")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("row", name="Lost")).to_contain_text("0")


def test_read_only_session_sees_filters_and_no_actions(person: Person) -> None:
    create(person, "VIPs", 'tags:"vip"')
    person.sign_in(scope="read")
    person.open("/segments")
    page = person.page
    page.get_by_role("link", name="Show the filter of VIPs").click()

    expect(page.get_by_label("Filter")).to_have_js_property("readOnly", True)
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)
    person.open("/segments")
    expect(page.get_by_role("row", name="VIPs")).to_be_visible()
    expect(page.get_by_role("link", name="New segment")).to_have_count(0)
    person.open("/segments/new")
    expect(page.get_by_text("Your session can read only.")).to_be_visible()
    expect(page.get_by_label("Filter")).to_have_count(0)


@pytest.mark.parametrize("person", [{"locale": "de-AT"}], indirect=True)
def test_segments_are_accessible_in_german(person: Person) -> None:
    page = person.page
    segment = create(person, HOSTILE, 'lastName:"' + "q" * 200 + '"')
    person.sign_in()
    person.open("/segments")
    expect(page.get_by_role("row", name="<img")).to_contain_text("0")
    person.check_accessibility()
    person.open(f"/segments/{segment['id']}")
    expect(page.locator(".filter-result")).to_have_text("Trifft auf 0 Personen zu")
    page.get_by_label("Filter").fill("status =")
    expect(page.locator("mark")).to_be_visible()
    person.check_accessibility()
    page.get_by_role("button", name="Löschen").click()
    person.check_accessibility()
