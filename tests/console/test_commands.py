"""Commands with Ctrl+K, and the keys of tables and of the navigation on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Person
from .people import add_person

pytestmark = pytest.mark.verify


def palette(person: Person, text: str) -> None:
    """Opens the commands, types a text and runs the first one."""
    person.page.keyboard.press("Control+k")
    expect(person.page.locator(".palette input")).to_be_focused()
    person.page.keyboard.type(text)
    person.page.keyboard.press("Enter")
    expect(person.page.get_by_role("dialog", name="Commands and go to")).to_have_count(0)


def test_commands_lead_to_views_segments_and_people(person: Person) -> None:
    page = person.page
    add_person(person.account)
    person.account.ok("CreateSegment", name="Loyal", filter="status = UNCONFIRMED")
    person.sign_in()

    palette(person, "webh")
    expect(page.get_by_role("heading", name="Webhooks", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("loyal")
    expect(page.locator("[role=option]").first).to_contain_text("Segment")
    page.keyboard.press("Enter")
    page.wait_for_url("**/subscribers?segment=*")
    # Also while a field has the focus.
    page.get_by_label("Search or filter").focus()
    palette(person, "zoe")
    page.wait_for_url("**/subscribers?q=zoe")
    expect(page.get_by_role("heading", name="No one matches")).to_be_visible()
    palette(person, "ada@example.com")
    expect(page.locator(".sentence")).to_contain_text("Waiting for confirmation")


def test_commands_run_actions_of_the_view_and_change_settings(person: Person) -> None:
    page = person.page
    add_person(person.account)
    person.sign_in()
    person.open("/subscribers")
    page.locator(".rows .row").first.wait_for()

    palette(person, "add filter")
    expect(page.get_by_role("dialog", name="Add filter")).to_be_visible()
    page.keyboard.press("Escape")
    palette(person, "columns")
    expect(page.get_by_label("Created")).to_be_visible()
    page.keyboard.press("Escape")
    person.open("/tags")
    expect(page.get_by_role("heading", name="Tags")).to_be_visible()
    palette(person, "new tag")
    expect(page.get_by_role("dialog", name="New tag")).to_be_visible()
    page.keyboard.press("Escape")
    palette(person, "dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    palette(person, "deutsch")
    expect(page.get_by_role("link", name="Abonnenten")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("ausloggen")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Abonnenten")).to_have_count(0)


def test_rows_of_tables_are_reached_with_keys(person: Person) -> None:
    page = person.page
    for name in ("One", "Two", "Three"):
        person.account.ok("CreateSegment", name=name, filter="status = CONFIRMED")
    person.sign_in()
    person.open("/segments")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)

    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1).locator(":focus")).to_have_count(1)
    page.keyboard.press("End")
    expect(rows.nth(2).locator(":focus")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Home")
    page.keyboard.press("k")
    expect(rows.nth(0).locator(":focus")).to_have_count(1)
    name = rows.nth(0).locator(":focus").inner_text()
    page.keyboard.press("Enter")

    expect(page.locator("bdi", has_text=name).first).to_be_visible()
    expect(rows).to_have_count(0)


@pytest.mark.parametrize(
    "person",
    [{"locale": "de-DE", "viewport": {"width": 320, "height": 640}, "has_touch": True}],
    indirect=True,
)
def test_navigation_of_a_phone_is_not_cut_and_its_sheet_has_the_other_views(person: Person) -> None:
    page = person.page
    person.sign_in()
    navigation = page.get_by_role("navigation", name="Konsole")
    for item in navigation.locator("li:visible > a, .account").all():
        assert item.evaluate("item => item.scrollWidth <= item.clientWidth"), item.inner_text()

    navigation.get_by_role("button", name="Mehr").tap()
    sheet = page.locator("[popover]:popover-open")
    box = sheet.bounding_box()
    assert box is not None
    assert (box["x"], box["width"], round(box["y"] + box["height"])) == (0, 320, 640)
    sheet.get_by_role("link", name="Einstellungen").tap()

    expect(page.get_by_role("heading", name="Einstellungen", level=1)).to_be_visible()
    expect(sheet).to_have_count(0)
    person.check_accessibility()


def test_commands_and_shortcuts_are_found_with_the_mouse(person: Person) -> None:
    page = person.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    add_person(person.account)
    person.sign_in()
    person.open("/subscribers?status=UNCONFIRMED")
    navigation = page.get_by_role("navigation", name="Console")

    navigation.get_by_role("button", name="Search…").click()
    expect(page.get_by_role("dialog", name="Commands and go to")).to_be_visible()
    expect(page.locator(".palette input")).to_be_focused()
    page.keyboard.press("Escape")
    navigation.get_by_role("button", name="Ada").click()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied").first).to_be_visible()
    navigation.get_by_role("button", name="Ada").click()
    page.get_by_role("button", name="Keyboard shortcuts").click()

    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Next row")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{person.url}/subscribers?status=UNCONFIRMED"
    person.check_accessibility()


@pytest.mark.parametrize("person", [{"viewport": {"width": 360, "height": 640}}], indirect=True)
def test_commands_and_shortcuts_are_in_the_menu_of_a_phone(person: Person) -> None:
    page = person.page
    person.sign_in()
    more = page.get_by_role("navigation").get_by_role("button", name="More")
    expect(page.get_by_role("button", name="Search…")).to_have_count(0)

    more.click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    more.click()
    page.get_by_role("button", name="Search or run a command").click()
    page.keyboard.type("webh")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Webhooks", level=1)).to_be_visible()
