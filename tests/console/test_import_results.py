"""Imports in the console that run or have ended: results, failed rows, cancel and undo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from ..behavior import import_jobs
from .actions import Actions
from .conftest import WIDTHS, Person
from .files import button, drop, large, state
from .people import add_person

pytestmark = pytest.mark.verify


def test_failed_rows_are_fetched_in_three_actions(person: Person) -> None:
    page, actions = person.page, Actions(person.page)
    job = import_jobs.run_file(person.account, "email,firstName\nada@example.com,Ada\nbob@,Bob\n")
    person.sign_in()
    file = page.get_by_role("link", name="members.csv")
    expect(file).to_have_attribute("href", re.compile("/import/"))

    actions.click(page.get_by_role("link", name="Activity"))
    page.get_by_role("heading", name="Activity", exact=True).wait_for()
    actions.click(file)
    expect(page.get_by_text("1 row: address is not valid line 3")).to_be_visible()
    with page.expect_download() as download:
        actions.click(page.get_by_role("link", name="Failed rows (CSV)"))

    assert download.value.suggested_filename == "members.failures.csv"
    text = Path(download.value.path()).read_text().splitlines()
    assert text == [
        "email,firstName,line,reason,field",
        "bob@,Bob,3,INVALID_EMAIL,email",
    ]
    assert actions.count <= 3

    # The page of the operation, which other views link, has them too.
    person.open(f"/activity/{job['operationId']}")
    failed = page.get_by_role("link", name="Failed rows (CSV)")
    expect(failed).to_have_attribute("href", re.compile(f"/imports/{job['id']}/failures"))


def test_dry_run_and_import_can_be_canceled(person: Person) -> None:
    page, account = person.page, person.account
    job = import_jobs.upload(account, large(8))
    person.sign_in()
    person.open(f"/import/{job['id']}?step=2")

    button(page, "Check the file").click()
    button(page, "Stop").click()
    expect(button(page, "Check the file")).to_be_visible()
    expect(state(page)).to_have_text("Not imported yet")
    button(page, "Check the file").click()
    page.get_by_role("button", name=re.compile("^Import .* people")).click()
    button(page, "Stop").click()

    expect(state(page)).to_have_text("Canceled")
    expect(page.get_by_text("The rows that were imported before are kept.")).to_be_visible()


def test_import_is_undone_after_its_effect_is_stated(person: Person) -> None:
    page, account = person.page, person.account
    add_person(account, email="ada@example.com", firstName="Augusta")
    rows = "ada@example.com,Ada,\nbob@example.com,Bob,\ncy@example.com,Cy,UNSUBSCRIBED\n"
    content = "email,firstName,status\n" + rows
    job = import_jobs.run_file(account, content, onConflict="UPDATE")
    person.sign_in()
    person.open(f"/import/{job['id']}")

    button(page, "Undo").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 people would be deleted.")
    expect(dialog).to_contain_text("The change would be undone for 1 person.")
    dialog.get_by_role("button", name="Undo for 3 people").click()

    expect(page.get_by_text("This import was undone.")).to_be_visible()
    expect(button(page, "Undo")).to_have_count(0)
    expect(page.get_by_text("2 people were deleted. 1 person is as before again.")).to_be_visible()
    (ada,) = account.ok("ListSubscribers")["subscribers"]
    assert ada["firstName"] == "Augusta"
    account.fails("SubscriberSuppressed", "CreateSubscriber", email="cy@example.com")


def test_undo_is_offered_until_the_time_of_the_server(person: Person) -> None:
    job = import_jobs.run_file(person.account, "email\nada@example.com\n")
    person.page.add_init_script("const now = Date.now; Date.now = () => now() + 500 * 86_400_000")
    person.sign_in()

    person.open(f"/import/{job['id']}")

    expect(button(person.page, "Undo")).to_be_visible()


def test_import_says_which_operation_it_waits_for(person: Person) -> None:
    page, account = person.page, person.account
    first = import_jobs.upload(account, large(4), name="first.csv")
    second = import_jobs.upload(account, b"email\nada@example.com\n")
    account.ok("StartImport", id=first["id"])
    account.ok("StartImport", id=second["id"])
    person.sign_in()

    person.open(f"/import/{second['id']}")

    waits = page.get_by_text("Operations run one after another. This one follows after:")
    expect(waits.get_by_role("link", name="Import a file: first.csv")).to_be_visible()
    expect(state(page)).to_have_text("Imported")


def test_export_has_its_file_in_activity(person: Person) -> None:
    page, account = person.page, person.account
    add_person(account, email="ada@example.com")
    fields = {"columns": ["email", "tags"], "filter": "status = UNCONFIRMED"}
    export = account.ok("CreateExport", format="CSV", **fields)["export"]["id"]
    person.sign_in()
    page.get_by_role("link", name="Activity").click()
    page.get_by_role("link", name="Export to a file").click()

    facts = page.locator(".facts").first
    expect(facts).to_contain_text("FormatCSV")
    expect(facts).to_contain_text("Columnsemail, tags")
    expect(page.get_by_text("Is deleted on")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_text() == "email,tags\nada@example.com,\n"
    person.check_accessibility()
    account.ok("DeleteExport", id=export)
    page.reload()
    expect(page.get_by_text("The file was deleted")).to_be_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_import_is_undone_in_the_list_of_activity(person: Person, width: int) -> None:
    page, account = person.page, person.account
    page.set_viewport_size({"width": width, "height": 640})
    import_jobs.run_file(account, "email\nada@example.com\n")
    person.sign_in()
    person.open("/activity")
    row = page.get_by_role("row").filter(has_text="Import a file: members.csv")
    expect(row).to_contain_text("1 imported")

    row.get_by_role("button", name="Undo").click()
    expect(page.locator("dialog #plan")).to_contain_text("1 person would be deleted.")
    page.get_by_role("button", name="Delete 1 person").click()

    expect(page.get_by_role("row").filter(has_text="1 changed")).to_be_visible()
    assert account.ok("ListSubscribers")["total"] == 0


def test_reader_sees_imports_but_cannot_import(person: Person) -> None:
    page, account = person.page, person.account
    job = import_jobs.run_file(account, "email\nada@example.com\n")
    person.sign_in(scope="read")
    person.open("/import")

    expect(page.get_by_text("Your session can read only.")).to_be_visible()
    expect(button(page, "Choose a file")).to_have_count(0)
    drop(page, "email\nbob@example.com\n")
    expect(page.get_by_text("Importing needs a session that can write.").nth(1)).to_be_visible()
    page.get_by_role("link", name="members.csv").click()
    expect(page.get_by_text("1 new person")).to_be_visible()
    expect(button(page, "Undo")).to_have_count(0)
    assert [each["id"] for each in account.ok("ListImports")["imports"]] == [job["id"]]


def test_result_states_the_status_of_people(person: Person) -> None:
    account = person.account
    rows = "ada@example.com,CONFIRMED\nbob@example.com,UNSUBSCRIBED\ncy@example.com,COMPLAINED\n"
    job = import_jobs.run_file(account, "email,status\n" + rows)
    person.sign_in()

    person.open(f"/import/{job['id']}")

    expect(person.page.get_by_text("3 new people")).to_be_visible()
    numbers = person.page.locator(".import-numbers")
    expect(numbers).to_contain_text("1 of them Confirmed The person confirmed")
    expect(numbers).to_contain_text("1 of them Unsubscribed")
