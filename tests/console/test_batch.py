"""Actions on selected people: numbers before they act, progress, undo, and who is left out."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Request, Route, expect

from ..conftest import new_account
from ..fronts import HttpFront
from .actions import Actions
from .conftest import COUNT, WIDTHS, Person
from .files import drop
from .people import add_people

pytestmark = pytest.mark.verify


def total(person: Person, expression: str) -> int:
    """Returns how many subscribers match."""
    found: int = person.account.ok("ListSubscribers", filter=expression, limit=1)["total"]
    return found


def search(person: Person, text: str, found: int) -> None:
    """Filters the list, and waits for the number of people."""
    person.page.get_by_label("Search or filter").fill(text)
    person.page.keyboard.press("Enter")
    tabs = person.page.get_by_role("navigation", name="Status")
    expect(tabs.get_by_role("link", name=f"All {found}")).to_be_visible()
    expect(person.page.locator(".grid:not(.dimmed)[role=grid]")).to_be_focused()


def toolbar(person: Person) -> Locator:
    return person.page.get_by_role("toolbar", name="Selection")


def numbers(person: Person) -> Locator:
    """Returns the numbers of the dry run in a dialog, which are shown when it has ended."""
    return person.page.locator("dialog #plan")


def notice(person: Person) -> Locator:
    return person.page.get_by_role("region", name="Operations")


def test_tagging_all_who_match_takes_five_actions_and_can_be_undone(owner: Person) -> None:
    page = owner.page
    search(owner, "status = CONFIRMED", 160)
    actions = Actions(page)

    actions.press("Control+a", "Control+a", "t")
    page.get_by_role("dialog", name="Tag 160 people").wait_for()
    actions.type("early")
    expect(numbers(owner)).to_contain_text("80 people get the tag.")
    expect(numbers(owner)).to_contain_text("80 have it already.")
    # A screen reader reads nothing that is behind the dialog.
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("80 people get")
    assert total(owner, 'tags:"early"') == 80
    actions.press("Enter")

    expect(notice(owner)).to_contain_text("80 people got the tag early. 80 have it already.")
    assert actions.count <= 5
    assert total(owner, 'status = CONFIRMED AND tags:"early"') == 160
    assert total(owner, 'status = UNCONFIRMED AND tags:"early"') == 0
    # The list shows the new tag first, and the notice stays in other views.
    expect(page.locator("#row-0")).to_contain_text("earlychurned")
    page.get_by_role("link", name="Settings").click()
    notice(owner).get_by_role("button", name="Undo").click()
    expect(numbers(owner)).to_contain_text("The change would be undone for 80 people.")
    page.get_by_role("button", name="Undo for 80 people").click()
    expect(page.locator(".notice")).to_contain_text("80 people are as before again.")
    expect(notice(owner)).to_have_count(0)
    assert total(owner, 'tags:"early"') == 80


def test_result_of_an_operation_leaves_the_buttons_of_an_import_reachable(owner: Person) -> None:
    page, actions = owner.page, Actions(owner.page)
    actions.press("Control+a", "Control+a", "t")
    page.get_by_role("dialog", name="Tag 240 people").wait_for()
    actions.type("spring")
    # The numbers and the button say that the tag is a new one before Enter creates it.
    expect(numbers(owner)).to_contain_text("There is no tag with this name yet.")
    expect(page.get_by_role("button", name="Create the tag for 240 people")).to_be_enabled()
    actions.press("Enter")
    expect(notice(owner).get_by_role("button", name="Undo")).to_be_visible()
    assert actions.count <= 5

    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 640})
        drop(page, "email\nada@example.com\n")
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Check the file").click()
        expect(page.get_by_role("button", name="Import 1 person")).to_be_visible()


def test_name_without_a_tag_is_counted_and_named_before_it_is_created(owner: Person) -> None:
    page = owner.page
    held: list[Route] = []
    sent: list[Request] = []
    page.route("**/api/tags?*", lambda route: held.append(route))
    page.on("request", lambda each: sent.append(each) if each.url.endswith("/batch") else None)
    page.clock.install()
    page.keyboard.press("j")
    page.keyboard.press("t")
    page.keyboard.type("erly")
    page.clock.fast_forward(5_000)
    page.keyboard.press("Enter")
    # Nothing is counted before the tags are known.
    expect(page.get_by_role("progressbar", name="Counting")).to_be_visible()
    assert sent == []
    held[0].continue_()

    expect(page.get_by_role("dialog")).to_contain_text("whom you selected: p0239@example.com")
    expect(numbers(owner)).to_contain_text("There is no tag with this name yet.")
    assert total(owner, "tagCount = 2") == 0
    expect(page.get_by_role("button", name="Create the tag for 1 person")).to_be_focused()
    page.keyboard.press("Enter")
    expect(notice(owner)).to_contain_text("1 person got the tag erly.")
    assert total(owner, 'tags:"erly"') == 1


def test_people_who_were_taken_out_stay_as_they_are(owner: Person) -> None:
    page = owner.page
    search(owner, 'tags:"vip"', 80)
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")
    for row in (0, 2):
        page.locator(f"#row-{row} .check").click()
    expect(toolbar(owner)).to_contain_text(
        "78 selected All that match: Tags include “vip”. 2 people are taken out."
    )

    toolbar(owner).get_by_role("button", name="Untag…").click()
    page.get_by_label("Tag", exact=True).fill("vip")
    expect(numbers(owner)).to_contain_text("78 people lose the tag.")
    page.get_by_role("button", name="Remove from 78 people").click()

    expect(notice(owner)).to_contain_text("78 people lost the tag vip.")
    left = owner.account.ok("ListSubscribers", filter='tags:"vip"', limit=10)["subscribers"]
    assert {each["email"] for each in left} == {"p0237@example.com", "p0231@example.com"}


def test_new_number_is_explained_if_the_list_has_changed(owner: Person) -> None:
    page = owner.page
    search(owner, 'tags:"vip"', 80)
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")
    more = [{"email": f"n{number}@example.com", "tags": ["vip"]} for number in range(40)]
    assert owner.account.ok("BulkCreateSubscribers", subscribers=more)["failed"] == []

    page.keyboard.press("t")
    page.keyboard.type("early")

    expect(numbers(owner)).to_contain_text("it is now 120 people instead of 80.")
    others = [{**each, "email": f"m{each['email']}"} for each in more]
    assert owner.account.ok("BulkCreateSubscribers", subscribers=others)["failed"] == []
    page.keyboard.press("Enter")
    expect(numbers(owner)).to_contain_text("it is now 160 people instead of 120.")
    assert total(owner, 'tags:"vip" AND tags:"early"') == 0
    page.get_by_role("button", name="Tag 160 people").click()
    expect(notice(owner)).to_contain_text("160 people got the tag early.")


def test_unsubscribing_many_keeps_those_who_opted_out(owner: Person) -> None:
    page = owner.page
    for number, status in ((0, "UNSUBSCRIBED"), (3, "COMPLAINED")):
        owner.account.ok("ChangeSubscriberStatus", id=f"p{number:04}@example.com", status=status)
    search(owner, 'tags:"vip"', 80)
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")
    page.keyboard.press("u")

    # One number: that of the people who change. The other numbers add up to the selected ones.
    dialog = page.get_by_role("dialog", name="Unsubscribe 78 people?")
    expect(dialog).to_contain_text("All that match: Tags include “vip”.")
    expect(numbers(owner)).to_contain_text("80 selected:")
    expect(numbers(owner)).to_contain_text("The status of 78 people changes.")
    expect(dialog.get_by_role("button", name="Unsubscribe 78 people")).to_be_enabled()
    expect(numbers(owner)).to_contain_text("They get no more mail, from now on.")
    expect(numbers(owner)).to_contain_text("2 of them already opted out and stay as they are.")
    expect(numbers(owner)).to_contain_text("Undo is possible for 24 hours.")
    page.keyboard.press("Enter")

    expect(notice(owner)).to_contain_text("78 people changed to Unsubscribed.")
    assert total(owner, 'tags:"vip" AND status = UNSUBSCRIBED') == 79
    assert total(owner, "status = COMPLAINED") == 1


def test_complaint_of_a_chosen_person_is_kept(owner: Person) -> None:
    page = owner.page
    owner.account.ok("ChangeSubscriberStatus", id="p0238@example.com", status="COMPLAINED")
    page.reload()
    page.locator(".rows .row").first.wait_for()
    page.locator("#row-0 .check").click()
    page.locator("#row-1 .check").click()
    page.keyboard.press("u")
    expect(numbers(owner)).to_contain_text("1 of them already opted out and stays as they are.")
    page.get_by_role("button", name="Unsubscribe 1 person").click()

    expect(notice(owner)).to_contain_text("1 person changed to Unsubscribed.")
    assert total(owner, "status = COMPLAINED") == 1
    assert total(owner, "status = UNSUBSCRIBED") == 1


def test_people_who_opted_out_are_not_subscribed_with_many(owner: Person) -> None:
    page = owner.page
    opted_out = {
        f"p{number:04}@example.com": status
        for number, status in ((0, "UNSUBSCRIBED"), (3, "COMPLAINED"))
    }
    for email, status in opted_out.items():
        owner.account.ok("ChangeSubscriberStatus", id=email, status=status)
    search(owner, 'tags:"vip"', 80)
    # Chosen rows cannot leave out a person who opts out until the change.
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("u")
    dialog = page.get_by_role("dialog")
    for weaker in ("CONFIRMED", "UNCONFIRMED", "BOUNCED"):
        expect(dialog.locator(f"input[value={weaker}]")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")
    page.keyboard.press("u")
    dialog.locator("input[value=CONFIRMED]").check()
    expect(numbers(owner)).to_contain_text("2 who unsubscribed or complained are left out")
    confirm = page.get_by_role("button", name="Confirm 78 people")
    expect(page.get_by_role("dialog", name="Confirm 78 people?")).to_be_visible()
    expect(confirm).to_be_disabled()
    # The numbers are those of this moment, also of the people who are left out.
    more = [{"email": f"n{number}@example.com", "tags": ["vip"]} for number in range(5)]
    assert owner.account.ok("BulkCreateSubscribers", subscribers=more)["failed"] == []
    opted_out["n0@example.com"] = "UNSUBSCRIBED"
    owner.account.ok("ChangeSubscriberStatus", id="n0@example.com", status="UNSUBSCRIBED")
    dialog.locator("input[value=UNSUBSCRIBED]").check()
    expect(numbers(owner)).to_contain_text("it is now 85 people instead of 80.")
    dialog.locator("input[value=CONFIRMED]").check()
    expect(numbers(owner)).to_contain_text("85 selected:The status of 82 people changes.")
    expect(numbers(owner)).to_contain_text("3 who unsubscribed or complained are left out")
    confirm = page.get_by_role("button", name="Confirm 82 people")
    page.get_by_label("How did they agree").fill("Paper form")
    confirm.click()

    expect(notice(owner)).to_contain_text("82 people changed to Confirmed.")
    for email, status in opted_out.items():
        assert owner.account.ok("GetSubscriber", id=email)["subscriber"]["status"] == status
    history = owner.account.ok("ListSubscriberHistory", id="p0006@example.com")["history"]
    assert history[0]["consentSource"] == "Paper form"


def test_status_that_all_have_has_a_reason_and_no_button(owner: Person) -> None:
    page = owner.page
    search(owner, "status = CONFIRMED", 160)
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")
    page.keyboard.press("u")
    dialog = page.get_by_role("dialog")
    dialog.locator("input[value=CONFIRMED]").check()
    page.get_by_label("How did they agree").fill("Paper form")

    expect(numbers(owner)).to_contain_text("160 have this status already.")
    button = page.get_by_role("button", name="Change status")
    expect(button).to_be_disabled()
    expect(button).to_have_accessible_description(re.compile("Nothing would change."))
    expect(dialog).not_to_contain_text("0 people")


def test_session_that_cannot_undo_a_status_reads_so_before_it_changes(person: Person) -> None:
    add_people(person.account, 4)
    person.sign_in(scope="write")
    person.open("/subscribers")
    page = person.page
    for row in (0, 1):
        page.locator(f"#row-{row} .check").click()
    page.keyboard.press("u")

    expect(numbers(person)).to_contain_text("This cannot be undone by this session.")
    page.get_by_role("button", name="Unsubscribe 2 people").click()
    expect(notice(person)).to_contain_text("2 people changed to Unsubscribed.")
    expect(notice(person).get_by_role("button", name="Undo")).to_have_count(0)


def test_deleting_100_people_requires_their_number(owner: Person) -> None:
    page = owner.page
    page.keyboard.press("Control+a")
    expect(toolbar(owner)).to_contain_text("100 selected")
    toolbar(owner).get_by_role("button", name="Delete…").click()
    expect(page.get_by_role("dialog")).to_contain_text(
        "Opt-outs stay blocked. Deleted people cannot be restored."
    )
    expect(numbers(owner)).to_contain_text("100 people would be deleted.")
    delete = page.get_by_role("button", name="Delete 100 people")
    expect(delete).to_be_disabled()
    page.keyboard.type("10")
    expect(delete).to_be_disabled()
    page.keyboard.type("0")
    page.keyboard.press("Enter")

    expect(notice(owner)).to_contain_text("100 people were deleted.")
    expect(notice(owner).get_by_role("button", name="Undo")).to_have_count(0)
    assert total(owner, "email:*") == COUNT - 100
    expect(page.get_by_role("link", name=f"All {COUNT - 100}")).to_be_visible()


def test_deletion_has_one_number_if_the_list_has_changed(owner: Person) -> None:
    page = owner.page
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")
    more = [{"email": f"n{number}@example.com"} for number in range(40)]
    assert owner.account.ok("BulkCreateSubscribers", subscribers=more)["failed"] == []
    toolbar(owner).get_by_role("button", name="Delete…").click()

    expect(numbers(owner)).to_contain_text("it is now 280 people instead of 240.")
    dialog = page.get_by_role("dialog", name="Delete 280 people and their history?")
    expect(dialog).to_contain_text("Type 280 to confirm")
    page.keyboard.type("280")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Activity").click()
    expect(page.locator("tbody tr")).to_contain_text("Everyone in the list.")


def test_setting_and_removing_a_field(owner: Person) -> None:
    page = owner.page
    owner.account.ok("CreateCustomField", key="visits", label="Visits", dataType="NUMBER")
    page.reload()
    page.locator(".rows .row").first.wait_for()
    for row in (0, 1):
        page.locator(f"#row-{row} .check").click()
    toolbar(owner).get_by_role("button", name="Set field…").click()
    page.get_by_label("Value", exact=True).fill("12.5")
    page.keyboard.press("Enter")
    expect(numbers(owner)).to_contain_text("The value of 2 people changes.")
    page.keyboard.press("Enter")
    expect(notice(owner)).to_contain_text("The field Visits of 2 people changed.")
    assert total(owner, "customFields.visits = 12.5") == 2

    page.locator("#row-1 .check").click()
    toolbar(owner).get_by_role("button", name="Set field…").click()
    page.get_by_label("Remove the value").check()
    page.get_by_role("button", name="Change 1 person").click()
    expect(notice(owner)).to_contain_text("The field Visits of 1 person changed.")
    assert total(owner, "customFields.visits:*") == 1


def test_saving_a_filter_as_a_segment_takes_three_actions(owner: Person) -> None:
    page = owner.page
    button = page.get_by_role("button", name="Add filter")
    place = button.bounding_box()
    search(owner, 'tags:"vip" OR tags:"early"', 160)
    page.get_by_role("link", name=re.compile("^Confirmed")).click()
    page.wait_for_url("**status=CONFIRMED**")
    assert button.bounding_box() == place
    actions = Actions(page)

    actions.click(page.get_by_role("button", name="Save as segment"))
    actions.type("Readers")
    actions.press("Enter")

    expect(page.locator(".notice")).to_contain_text("Saved as segment “Readers”")
    assert actions.count <= 3
    (segment,) = owner.account.ok("ListSegments")["segments"]
    assert segment["name"] == "Readers"
    assert total(owner, segment["filter"]) == 80


def test_progress_is_shown_until_the_end_also_without_a_connection(owner: Person) -> None:
    page = owner.page
    page.keyboard.press("Control+a")
    page.keyboard.press("t")
    page.keyboard.type("early")
    numbers(owner).wait_for()
    page.route("**/api/operations/*", lambda route: route.abort())
    page.keyboard.press("Enter")

    expect(notice(owner)).to_contain_text("Add tags: early")
    expect(notice(owner).get_by_role("progressbar")).to_be_visible()
    expect(toolbar(owner)).to_have_count(0)
    page.get_by_role("link", name="Settings").click()
    expect(notice(owner)).to_contain_text("Add tags: early")
    page.unroute_all()

    expect(notice(owner)).to_contain_text("people got the tag early.")
    notice(owner).get_by_role("button", name="Close").click()
    expect(notice(owner)).to_have_count(0)


def test_progress_continues_after_the_session_ended(owner: Person) -> None:
    page, account = owner.page, owner.account
    page.keyboard.press("Control+a")
    page.keyboard.press("t")
    page.keyboard.type("early")
    numbers(owner).wait_for()
    page.route("**/api/operations/*", lambda route: route.abort())
    page.keyboard.press("Enter")
    expect(notice(owner).get_by_role("progressbar")).to_be_visible()
    account.ok("SignOutEverywhere")
    page.unroute_all()
    expect(page.locator(".cover").get_by_text("Your session ended")).to_be_visible()

    page.get_by_label("Sign-in link or API key").fill(account.key)
    page.keyboard.press("Enter")
    expect(notice(owner)).to_contain_text("people got the tag early.")

    # It is not shown in another account.
    page.get_by_role("button", name="test Admin").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    other = new_account(account.service, HttpFront("http", account.service.http))
    page.get_by_label("Sign-in link or API key").fill(other.key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="Console")).to_be_visible()
    expect(notice(owner)).to_have_count(0)


@pytest.mark.parametrize("person", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_range_that_was_begun_ends_with_its_selection(owner: Person) -> None:
    page, bar = owner.page, toolbar(owner)

    def begin() -> None:
        page.locator("#row-0 .check").click()
        bar.get_by_role("button", name="Actions").click()
        bar.get_by_role("button", name="Select up to…").click()

    begin()
    bar.get_by_role("button", name="Clear").click()
    page.locator("#row-4 .check").click()
    expect(bar).to_contain_text("1 selected")

    bar.get_by_role("button", name="Clear").click()
    begin()
    bar.get_by_role("button", name="Select all 240 that match").click()
    page.locator("#row-4 .check").click()
    expect(bar).to_contain_text("239 selected")


def test_keys_for_a_selection_are_listed(owner: Person) -> None:
    owner.page.keyboard.press("?")

    dialog = owner.page.get_by_role("dialog", name="Keyboard shortcuts")
    for text in (
        "Tag the selected people",
        "Change the status of the selected people",
        "again: all that match",
    ):
        expect(dialog).to_contain_text(text)


def test_actions_on_a_selection_are_accessible(owner: Person) -> None:
    page = owner.page
    owner.account.ok("CreateCustomField", key="plan", label="Plan", dataType="TEXT")
    page.reload()
    page.locator(".rows .row").first.wait_for()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")
    owner.check_accessibility()
    for button in ("Tag…", "Status…", "Set field…", "Export…", "Delete…"):
        opens = toolbar(owner).locator(".buttons").get_by_role("button", name=button, exact=True)
        opens.click()
        page.get_by_role("dialog").wait_for()
        if button in ("Status…", "Delete…"):
            numbers(owner).wait_for()
        owner.check_accessibility()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(opens).to_be_focused()
    page.keyboard.press("t")
    page.keyboard.type("vip")
    numbers(owner).wait_for()
    page.keyboard.press("Enter")
    notice(owner).get_by_role("button", name="Undo").wait_for()
    owner.check_accessibility()
    notice(owner).get_by_role("button", name="Undo").click()
    numbers(owner).wait_for()
    owner.check_accessibility()


def test_nothing_can_be_done_with_the_people_of_an_earlier_search(owner: Person) -> None:
    page = owner.page
    search(owner, 'tags:"vip"', 80)
    page.keyboard.press("Control+a")
    expect(toolbar(owner)).to_be_visible()

    page.get_by_label("Search or filter").fill("status = NONE")
    page.keyboard.press("Enter")
    expect(page.locator(".search").get_by_role("alert")).to_be_visible()

    export = page.get_by_role("button", name="Export")
    expect(page.locator(".grid.dimmed")).to_be_visible()
    expect(toolbar(owner)).to_have_count(0)
    expect(export).to_be_disabled()
    expect(page.get_by_role("button", name="Save as segment")).to_be_disabled()
    page.locator("#row-0 .check").click()
    page.get_by_role("grid").focus()
    for key in ("j", "Control+a", "Control+a", "x", "Shift+ArrowDown", "t", "u"):
        page.keyboard.press(key)
    expect(page.locator("[role=row][aria-selected=true]")).to_have_count(0)
    expect(toolbar(owner)).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)

    search(owner, "status = CONFIRMED", 160)
    expect(export).to_be_enabled()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+a")
    expect(toolbar(owner)).to_contain_text("160 selected")


def test_wrong_search_does_not_say_that_no_one_matches(owner: Person) -> None:
    page = owner.page
    page.get_by_label("Search or filter").fill("unknown")
    expect(page.get_by_role("heading", name="No one matches")).to_be_visible()

    page.get_by_label("Search or filter").fill("unknown = 1")
    page.keyboard.press("Enter")

    expect(page.locator(".search").get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("heading", name="No one matches")).to_have_count(0)


def test_typed_condition_that_was_not_searched_for_offers_no_action(owner: Person) -> None:
    page = owner.page
    page.keyboard.press("j")
    page.keyboard.press("Control+a")
    expect(toolbar(owner)).to_be_visible()

    page.get_by_label("Search or filter").fill("status = CONFIRMED")

    expect(toolbar(owner)).to_have_count(0)
    expect(page.get_by_role("button", name="Export")).to_be_disabled()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Export")).to_be_enabled()
