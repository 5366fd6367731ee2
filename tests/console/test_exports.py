"""Exports of a segment, a list, and selected people in the console."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .actions import Actions
from .conftest import COUNT, Person
from .people import add_people
from .test_batch import notice, search, toolbar, total

pytestmark = pytest.mark.verify


def test_exporting_a_segment_takes_four_actions(owner: Person, tmp_path: Path) -> None:
    page = owner.page
    created = owner.account.ok("CreateSegment", name="Early", filter='tags:"early"')
    for label in ("City", "Plan"):
        owner.account.ok("CreateCustomField", label=label)
    actions = Actions(page)
    owner.open(f"/subscribers?segment={created['segment']['id']}")
    actions.count += 1
    expect(page.get_by_role("link", name="All 80")).to_be_visible()

    actions.click(page.get_by_role("button", name="Export"))
    expect(page.get_by_role("dialog", name="Export 80 people")).to_contain_text(
        "All that match: segment “Early”."
    )
    actions.click(page.get_by_label("CSV for Excel"))
    with page.expect_download() as download:
        actions.click(page.get_by_role("link", name="Download"))

    assert actions.count <= 4
    expect(page.locator(".notice")).to_contain_text("The download begins.")
    assert re.fullmatch(r"early-[\d-]{10}\.csv", download.value.suggested_filename)
    file = tmp_path / "export.csv"
    download.value.save_as(file)
    with file.open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == 80
    assert list(rows[0])[-2:] == ["customFields.city", "customFields.plan"]
    assert {row["tags"] for row in rows} == {"early"}


def test_export_for_excel_has_semicolons_if_the_person_wants_them(
    owner: Person, tmp_path: Path
) -> None:
    page = owner.page
    owner.open("/subscribers?q=p0001")
    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("so that the file can be imported again")
    semicolons = dialog.get_by_label("Semicolons")
    expect(semicolons).to_have_count(0)
    dialog.get_by_label("CSV for Excel").check()
    expect(semicolons).not_to_be_checked()
    semicolons.check()
    with page.expect_download() as download:
        dialog.get_by_role("link", name="Download").click()

    file = tmp_path / "export.csv"
    download.value.save_as(file)
    assert file.read_text(encoding="utf-8-sig").splitlines()[0].startswith("email;firstName;")


def exported(person: Person, count: int, file: Path) -> list[str]:
    """Exports the selected people, and returns the addresses of the file."""
    button = f"Export {count} {'person' if count == 1 else 'people'}"
    with person.page.expect_download() as download:
        person.page.get_by_role("dialog").get_by_role("button", name=button).click()
    download.value.save_as(file)
    with file.open(newline="") as opened:
        return [row["email"] for row in csv.DictReader(opened)]


def test_export_of_a_selection_has_exactly_the_selected_people(
    owner: Person, tmp_path: Path
) -> None:
    page, file = owner.page, tmp_path / "export.csv"
    vips = [f"p{number:04}@example.com" for number in range(0, COUNT, 3)]
    search(owner, 'tags:"vip"', 80)
    for row in (0, 2):
        page.locator(f"#row-{row} .check").click()
    toolbar(owner).get_by_role("button", name="Export…").click()
    assert sorted(exported(owner, 2, file)) == [vips[-3], vips[-1]]

    toolbar(owner).get_by_role("button", name="Select all 80").click()
    page.locator("#row-1 .check").click()
    toolbar(owner).get_by_role("button", name="Export…").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 person is taken out.")
    assert sorted(exported(owner, 79, file)) == sorted(set(vips) - {vips[-2]})

    # The file stays in the notice and in the list of activities.
    expect(notice(owner)).to_contain_text(
        "Export to a file: 79 people. The file is kept for 24 hours."
    )
    page.get_by_role("link", name="Activity").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    with page.expect_download() as download:
        notice(owner).get_by_role("link", name="Download").last.click()
    download.value.save_as(file)
    assert len(file.read_text().splitlines()) == 80


def test_columns_of_the_list_come_first_in_an_export(owner: Person, tmp_path: Path) -> None:
    page, account = owner.page, owner.account
    account.ok("CreateCustomField", label="City")
    owner.open("/subscribers?columns=customFields.city%2Ccreated&q=p0001")
    expect(page.get_by_role("link", name="All 1", exact=True)).to_be_visible()

    page.get_by_role("button", name="Export").click()
    columns = page.get_by_role("group", name="Columns").get_by_role("checkbox")
    expect(columns.nth(2)).to_be_checked()
    expect(columns.nth(3)).not_to_be_checked()
    page.get_by_role("dialog").get_by_label("Created").uncheck()
    page.get_by_role("dialog").get_by_label("Last name").check()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()

    file = tmp_path / "export.csv"
    download.value.save_as(file)
    assert file.read_text().splitlines()[0] == "email,customFields.city,lastName"


def test_read_only_session_can_only_export(person: Person, tmp_path: Path) -> None:
    add_people(person.account, 3)
    person.sign_in(scope="read")
    person.open("/subscribers")
    page = person.page
    page.locator("#row-0 .check").click()
    buttons = toolbar(person).locator(".buttons button")
    expect(buttons).to_have_text(["Export…", "Copy addresses"])
    buttons.first.click()
    assert exported(person, 1, tmp_path / "export.csv") == ["p0002@example.com"]
    page.keyboard.press("t")
    page.keyboard.press("u")
    expect(page.get_by_role("dialog")).to_have_count(0)
    person.open('/subscribers?filter=tags:"vip"')
    expect(page.get_by_role("button", name="Export")).to_be_enabled()
    expect(page.get_by_role("button", name="Save as segment")).to_have_count(0)


@pytest.mark.parametrize("person", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_range_is_exported_and_unsubscribed_on_a_phone(owner: Person, tmp_path: Path) -> None:
    page, file = owner.page, tmp_path / "export.csv"
    menu = toolbar(owner).get_by_role("button", name="Actions")
    owner.account.ok("ChangeSubscriberStatus", id="p0238@example.com", status="UNSUBSCRIBED")
    page.locator("#row-0 .check").click()
    menu.click()
    toolbar(owner).get_by_role("button", name="Select up to…").click()
    expect(page.locator(".notice")).to_contain_text("Tap the box of the row at the other end.")
    page.locator("#row-4 .check").click()
    expect(toolbar(owner)).to_contain_text("5 selected")
    expect(page.locator(".notice")).to_have_count(0)

    menu.click()
    toolbar(owner).get_by_role("button", name="Export…").click()
    dialog = page.get_by_role("dialog")
    button = dialog.get_by_role("button", name="Export 5 people")
    button.scroll_into_view_if_needed()
    expect(button).to_be_in_viewport(ratio=1)
    owner.check_accessibility()
    assert exported(owner, 5, file) == [f"p{number:04}@example.com" for number in range(235, 240)]
    expect(notice(owner).get_by_role("link", name="Download")).to_be_in_viewport(ratio=1)
    owner.check_accessibility()
    notice(owner).get_by_role("button", name="Close").click()

    menu.click()
    toolbar(owner).get_by_role("button", name="Status…").click()
    expect(page.get_by_role("dialog", name="Unsubscribe 4 people?")).to_contain_text(
        "1 of them already opted out and stays as they are."
    )
    button = dialog.get_by_role("button", name="Unsubscribe 4 people")
    button.scroll_into_view_if_needed()
    expect(button).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    button.click()
    expect(notice(owner)).to_contain_text("4 people changed to Unsubscribed.")
    assert total(owner, "status = UNSUBSCRIBED") == 5
