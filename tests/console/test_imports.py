"""Imports in the console: steps, interrupted uploads, results, failed rows and undo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ..behavior import import_jobs
from .actions import Actions, hide, reach
from .conftest import Person
from .files import button, choose_file, drop, mailchimp, payload, state

pytestmark = pytest.mark.verify
MARKUP = "<img src=x onerror=alert(1)>"
RIGHT_TO_LEFT = "\u05d0\u05d1\u05d2"


def check_view(person: Person) -> None:
    """Checks the accessibility, and that a narrow page does not scroll to the side."""
    person.check_accessibility()
    size = person.page.viewport_size
    assert size is not None
    person.page.set_viewport_size({"width": 320, "height": 640})
    assert person.page.evaluate("document.querySelector('main').scrollWidth <= innerWidth")
    person.page.set_viewport_size(size)


def go_through(page: Page) -> None:
    """Goes from the first step to the result."""
    button(page, "Continue").click()
    button(page, "Check the file").click()
    page.get_by_role("button", name=re.compile("^Import .* pe")).click()
    expect(state(page)).to_have_text("Imported")


def test_file_of_a_former_provider_is_imported_in_four_actions(person: Person) -> None:
    page, actions = person.page, Actions(person.page)
    person.sign_in()

    drop(page, mailchimp(1204))
    actions.count += 1
    expect(page.get_by_text("This looks like a Mailchimp export with 1,204 rows")).to_be_visible()
    actions.click(button(page, "Continue"))
    expect(page.get_by_role("heading", name="1,204 people in 1,204 rows")).to_be_visible()
    actions.click(button(page, "Check the file"))
    actions.click(button(page, "Import 1,204 people"))

    expect(state(page)).to_have_text("Imported")
    expect(page.get_by_text("1,204 new people")).to_be_visible()
    assert actions.count <= 4
    assert person.account.ok("ListSubscribers", filter="status = CONFIRMED")["total"] == 1204


def test_delimiter_that_was_not_recognized_is_chosen(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    # The second row updates the person of the first one.
    rows = "Email|First name\nada@example.com|A\nada@example.com|Ada\n"
    drop(page, rows)
    expect(page.get_by_role("alert")).to_be_visible()
    check_view(person)

    page.get_by_label("Delimiter").select_option("Vertical bar")

    expect(page.get_by_role("heading", name="CSV with 2 rows.")).to_be_visible()
    go_through(page)
    expect(page.get_by_role("main")).to_contain_text(
        "1 new person1 update to a person in the list, or in an earlier row"
    )
    found = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert found["firstName"] == "Ada"


def test_import_works_with_the_keyboard_only(person: Person) -> None:
    page, account = person.page, person.account
    # With a listener, the browser shows no dialog, which takes effect after a while.
    page.on("filechooser", lambda _: None)
    person.sign_in()
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Import", exact=True)).to_be_visible()
    reach(button(page, "Choose a file"))
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(payload("email,Town\nada@example.com,Bath\n"))

    town = page.get_by_role("combobox", name="Town")
    expect(town).to_be_visible()
    reach(town)
    # Ignore is the first choice, and a new field the next one.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(town).to_have_value("new")
    expect(town).to_be_focused()
    for name in ("Continue", "Check the file"):
        reach(button(page, name))
        page.keyboard.press("Enter")
    expect(button(page, "Import 1 person")).to_be_focused()
    page.keyboard.press("Enter")

    expect(state(page)).to_have_text("Imported")
    # The button was disabled, and is gone.
    expect(page.locator("#main:focus, #main :focus")).to_have_count(1)
    ada = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert ada["customFields"] == {"town": "Bath"}


def test_unknown_columns_become_tags_fields_of_their_type_or_nothing(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    rows = "ada@example.com,vip,36,31.12.2024,Bath\nbob@example.com,,41,30.11.2024,Ely\n"
    drop(page, "email,Group,Age,Since,Town\n" + rows)
    expect(page.get_by_text("4 columns are not known.")).to_be_visible()
    # What is missing is said, and gets the focus.
    expect(button(page, "Continue")).to_have_accessible_description(re.compile("^4 columns"))
    button(page, "Continue").click()
    group = page.get_by_role("combobox", name="Group")
    expect(group).to_be_focused()
    expect(group.locator("option:checked")).to_have_text("Choose…")
    expect(page.get_by_role("status")).to_contain_text("4 columns are not known.")

    group.select_option("Tags")
    page.get_by_role("combobox", name="Town").select_option("Ignore")
    button(page, "A new field for each").click()
    expect(page.get_by_role("combobox", name="Age")).to_have_value("new")
    sample = page.get_by_role("region", name="The first rows")
    expect(sample.get_by_role("row").nth(1)).to_contain_text("vip")
    expect(sample).to_have_attribute("aria-busy", "false")
    page.reload()
    expect(page.get_by_role("combobox", name="Town")).to_have_value("ignore")
    button(page, "Continue").click()
    button(page, "Check the file").click()
    # An import that is not started leaves no fields.
    expect(page.get_by_text("New fields: Age, Since")).to_be_visible()
    assert account.ok("ListCustomFields")["customFields"] == []
    page.get_by_role("button", name=re.compile("^Import .* pe")).click()
    expect(state(page)).to_have_text("Imported")

    fields = {
        each["key"]: each["dataType"] for each in account.ok("ListCustomFields")["customFields"]
    }
    assert fields == {"age": "NUMBER", "since": "DATE"}
    ada = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert (ada["tags"], ada["customFields"]) == (["vip"], {"age": 36, "since": "2024-12-31"})


def test_new_field_states_why_it_is_text_and_the_order_of_its_dates(person: Person) -> None:
    page = person.page
    person.sign_in()
    rows = ["3,31.12.2024", "4,30.11.2024", "many,29.10.2024"]
    drop(page, "\n".join(["email,Visits,Since", *(f"p{row[0]}@example.com,{row}" for row in rows)]))
    visits = page.get_by_role("combobox", name="Visits")
    expect(visits).to_have_accessible_description(
        re.compile("Not all values have the type Number: “many”")
    )
    expect(page.get_by_label("Order of day and month").first).not_to_be_visible()

    page.get_by_role("combobox", name="Since").select_option("New field: Date")
    visits.select_option("New field: Text")

    order = page.locator(".repairs").get_by_label("Order of day and month")
    expect(order).to_have_value("DMY")


def test_german_file_of_excel_is_read_and_its_opt_outs_are_kept(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    person.open("/import")
    rows = "ada@example.com;Ada;M\u00fcller;\r\nbob@example.com;Bob;Gro\u00df;30.04.2024\r\n"
    text = f"sep=;\r\nE-Mail-Adresse;Vorname;Nachname;Abgemeldet am\r\n{rows}"
    choose_file(page, text.encode("cp1252"))
    expect(page.get_by_text("Characters: German, French, Spanish (windows-1252).")).to_be_visible()
    expect(page.get_by_role("combobox", name="Vorname")).to_have_value("firstName")
    expect(page.get_by_role("region", name="The first rows")).to_contain_text("Bob Gro\u00df")
    page.get_by_role("combobox", name="Abgemeldet am").select_option("Unsubscribed on")
    order = page.locator(".repairs").get_by_role("combobox", name="Order of day and month")
    expect(order).to_have_value("DMY")
    button(page, "Continue").click()
    expect(page.locator(".people-counts")).to_contain_text("1Unsubscribed")
    expect(page.get_by_text("Did all of them opt out?")).to_be_visible()
    expect(page.get_by_role("link", name="Block addresses")).to_be_visible()
    button(page, "Check the file").click()
    button(page, "Import 2 people").click()

    expect(state(page)).to_have_text("Imported")
    ada, bob = account.ok("ListSubscribers", view="FULL")["subscribers"]
    assert (ada["lastName"], ada["status"]) == ("M\u00fcller", "UNCONFIRMED")
    assert (bob["status"], bob["unsubscribedAt"]) == ("UNSUBSCRIBED", "2024-04-30T00:00:00.000Z")


def test_words_for_a_status_are_explained_after_the_check(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    words = ("paused", "gone", "asleep", "stopped")
    rows = [f"{word}@example.com,{word}\n" for word in words]
    drop(page, "email,status\nada@example.com,CONFIRMED\n" + "".join(rows))
    button(page, "Continue").click()
    button(page, "Check the file").click()

    # The server names three of them, and the text says so.
    expect(page.locator(".repairs")).to_contain_text(
        "4 rows have words in the column status that are not known, such as “paused”, “gone”,"
        " “asleep”. The next check shows any others."
    )
    page.get_by_role("combobox", name="paused means").select_option("Unsubscribed")
    # A step back keeps what was chosen.
    button(page, "Back").click()
    button(page, "Check the file").click()
    means = page.get_by_role("combobox", name=re.compile(" means$"))
    expect(means).to_have_count(3)
    for word in words[1:]:
        page.get_by_role("combobox", name=f"{word} means").select_option("Unsubscribed")
    button(page, "Check again").click()
    button(page, "Import 5 people").click()

    expect(state(page)).to_have_text("Imported")
    assert account.ok("ListSubscribers", filter="status = UNSUBSCRIBED")["total"] == 4


def test_words_and_dates_that_are_not_known_are_shown_and_explained_together(
    person: Person,
) -> None:
    page, account = person.page, person.account
    person.sign_in()
    dates = ("03/04/2024", "30.11.2024", "1/2/2024", "5/6/2024")
    words = ("weird", "odd", "weird", "odd")
    rows = [f"p{n}@example.com,{date},{words[n]}\n" for n, date in enumerate(dates)]
    drop(page, "email,confirmedAt,status\n" + "".join(rows))
    # No row is valid yet, which the check shows how to repair.
    question = page.locator(".repairs")
    expect(question).to_contain_text("confirmedAt: “03/04/2024”, “30.11.2024”")
    button(page, "Continue").click()
    button(page, "Check the file").click()
    expect(question).to_contain_text(
        "4 rows have values in the column confirmedAt that cannot be read, such as"
        " “03/04/2024”, “30.11.2024”, “1/2/2024”"
    )
    expect(question).to_contain_text("4 rows have words in the column status that are not known")
    expect(button(page, "Import 0 people")).to_be_disabled()
    check_view(person)

    order = page.get_by_role("combobox", name="Order of day and month")
    order.select_option("MDY")
    page.get_by_role("combobox", name="weird means").select_option("Unsubscribed")
    page.get_by_role("combobox", name="odd means").select_option("Confirmed")
    button(page, "Check again").click()
    expect(page.get_by_text("1 row has a value in the column")).to_contain_text("“30.11.2024”")
    expect(order).to_have_value("MDY")
    order.select_option("DMY")
    button(page, "Check again").click()
    button(page, "Import 4 people").click()

    expect(state(page)).to_have_text("Imported")
    people = account.ok("ListSubscribers", view="FULL")["subscribers"]
    assert [each["status"] for each in people] == ["UNSUBSCRIBED", "CONFIRMED"] * 2
    assert people[0]["confirmedAt"] == "2024-04-03T00:00:00.000Z"


def test_other_encoding_is_recognized_and_can_be_changed(person: Person) -> None:
    page = person.page
    person.sign_in()
    person.open("/import")
    choose_file(page, "email,firstName\nj@example.com,J\u00fcrg\n".encode("windows-1252"))

    expect(page.get_by_text("Characters: German, French, Spanish (windows-1252).")).to_be_visible()
    sample = page.get_by_role("region", name="The first rows")
    expect(sample).to_contain_text("J\u00fcrg")
    page.get_by_text("Not right?").click()
    page.get_by_label("Characters").select_option("Russian, Ukrainian (windows-1251)")
    expect(sample).to_contain_text("J\u044crg")
    page.get_by_label("Characters").select_option("Unicode")
    expect(page.get_by_text("The characters are not UTF-8.")).to_be_visible()
    button(page, "Continue").click()
    expect(page.get_by_label("Characters")).to_be_focused()
    expect(page.get_by_role("status")).to_contain_text("The characters are not UTF-8.")


def test_hostile_content_is_text(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    long = "v" * 1000
    name = f"{MARKUP} {RIGHT_TO_LEFT}.csv"
    header = f'email,firstName,"{MARKUP}",{"x" * 1000},{RIGHT_TO_LEFT}\n'
    drop(page, header + f'ada@example.com,"{MARKUP}",{MARKUP},{long},{RIGHT_TO_LEFT}\n', name)

    button(page, "A new field for each").click()
    region = page.get_by_role("region", name="The first rows")
    expect(region).to_contain_text(long)
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    check_view(person)
    go_through(page)

    ada = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert ada["firstName"] == MARKUP
    assert set(ada["customFields"].values()) == {MARKUP, long, RIGHT_TO_LEFT}


def test_file_with_100_columns_is_decided_at_once(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    names = [f"Question {number}" for number in range(99)]
    drop(page, ",".join(["email", *names]) + "\nada@example.com" + ",1" * 99 + "\n")

    expect(page.get_by_text("99 columns are not known.")).to_be_visible()
    button(page, "Ignore these 99 columns").click()
    go_through(page)

    assert account.ok("ListCustomFields")["total"] == 0


def test_two_tabs_show_the_same_import_also_while_one_is_hidden(person: Person) -> None:
    page, account = person.page, person.account
    page.clock.install()
    person.sign_in()
    drop(page, "email,Town\nada@example.com,Bath\n")
    town = page.get_by_role("combobox", name="Town")
    expect(town).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("combobox", name="Town").select_option("Ignore")
    expect(town).to_have_value("ignore")

    hide(page)
    go_through(other)
    page.clock.run_for(60_000)
    expect(state(page)).to_have_text("Imported")
    assert account.ok("ListSubscribers")["total"] == 1


def test_change_of_another_tab_is_not_overwritten(person: Person) -> None:
    page, account = person.page, person.account
    job = import_jobs.upload(account, b"email,Town\nada@example.com,Bath\n")
    person.sign_in()
    person.open(f"/import/{job['id']}")
    town = page.get_by_role("combobox", name="Town")
    expect(town).to_be_visible()
    # The page reads the import every few seconds.
    page.route(
        "**/api/imports/*",
        lambda route: route.abort() if route.request.method == "GET" else route.continue_(),
    )
    account.ok("UpdateImport", id=job["id"], options={"ignoreColumns": ["Town"]})
    import_jobs.settled(account, job)
    town.select_option("Tags")
    page.unroute("**/api/imports/*")

    expect(page.get_by_text("This was changed meanwhile.")).to_be_visible()
    expect(town).to_have_value("ignore")


def test_file_that_cannot_be_imported_is_explained(person: Person) -> None:
    page = person.page
    person.sign_in()
    person.open("/import")
    for name, content, text in [
        ("empty.csv", "", "The file is empty."),
        ("people.xlsx", "x", "This is a workbook."),
        ("people.csv.gz", "\x1f\x8b\x08\x00", "This is not a CSV, JSON or NDJSON file."),
    ]:
        choose_file(page, content, name)
        expect(page.get_by_role("alert")).to_contain_text(text)

    choose_file(page, "name,town\nAda,Bath\n")
    expect(page.get_by_text("No column is known to have the email addresses.")).to_be_visible()
    button(page, "Cancel the import").click()
    dialog = page.get_by_role("dialog", name="Cancel this import?")
    expect(dialog).to_contain_text("(1 row)")
    expect(state(page)).not_to_have_text("Canceled")
    dialog.get_by_role("button", name="Cancel the import").click()
    expect(state(page)).to_have_text("Canceled")
    person.open("/import")
    choose_file(page, "ada@example.com,Ada\nbob@example.com,Bob\n")
    expect(page.get_by_text("The first line has no names of columns")).to_be_visible()
    person.open("/import/01M7Y2MPAQ036JVMBN3RCKGA5K")
    expect(page.get_by_role("heading", name="No such import")).to_be_visible()


def test_too_many_open_imports_are_explained_and_tried_again(person: Person) -> None:
    page, account = person.page, person.account
    jobs = [import_jobs.create(account, b"email\n") for _ in range(20)]
    person.sign_in()
    drop(page, "email\nada@example.com\n")

    expect(page.get_by_role("alert")).to_contain_text("20 imports have not ended.")
    account.ok("CancelImport", id=jobs[0]["id"])
    page.get_by_role("alert").get_by_role("button", name="Try again").click()

    expect(button(page, "Continue")).to_be_visible()


def test_empty_account_leads_to_imports(person: Person) -> None:
    page = person.page
    person.sign_in()

    page.get_by_role("main").get_by_role("link", name="Import a file").click()

    expect(button(page, "Choose a file")).to_be_visible()


@pytest.mark.parametrize("person", [{"locale": "de-DE"}], indirect=True)
def test_steps_are_in_german(person: Person) -> None:
    page = person.page
    person.sign_in()
    drop(page, "email;status\nada@example.com;UNSUBSCRIBED\n")
    expect(page.get_by_text("CSV mit 1 Zeile, getrennt durch Semikolons.")).to_be_visible()
    button(page, "Weiter").click()
    button(page, "Datei pr\u00fcfen").click()
    button(page, "1 Person importieren").click()
    expect(state(page)).to_have_text("Importiert")


def test_imports_are_accessible(person: Person) -> None:
    page, account = person.page, person.account
    uploading = import_jobs.create(account, b"email\n")
    person.sign_in()
    person.open("/import")
    page.get_by_role("link", name="members.csv").wait_for()
    check_view(person)
    person.open(f"/import/{uploading['id']}")
    button(page, "Choose a file").wait_for()
    check_view(person)
    rows = "ada@example.com,CONFIRMED,yes,Bath\nbob@,paused,no,Ely\ncy@example.com,UNSUBSCRIBED,,\n"
    drop(page, "email,status,Newsletter,Town\n" + rows)
    button(page, "A new field for each").or_(
        page.get_by_text("2 columns are not known.")
    ).first.wait_for()
    check_view(person)
    page.get_by_role("combobox", name="Newsletter").select_option("Says nothing about mail: ignore")
    page.get_by_role("combobox", name="Town").select_option("Tags")
    button(page, "Continue").click()
    button(page, "Check the file").wait_for()
    check_view(person)
    button(page, "Check the file").click()
    button(page, "Import 2 people").wait_for()
    check_view(person)
    button(page, "Import 2 people").click()
    page.get_by_role("link", name="Failed rows (CSV)").wait_for()
    check_view(person)
    button(page, "Undo").click()
    button(page, "Delete").wait_for()
    check_view(person)


def test_new_field_for_one_column_leaves_the_others_ignored(person: Person) -> None:
    page = person.page
    person.sign_in()
    header, row = mailchimp(1).splitlines()
    # Opt-outs in ignored columns count.
    drop(page, f"{header},Shop customer,Town,Remark\n{row},yes,Bath,unsubscribed\n")
    town = page.get_by_role("combobox", name="Town")
    expect(town).to_have_value("ignore")

    page.get_by_role("combobox", name="Shop customer").select_option("New field: Yes or no")

    button(page, "Continue").click()
    page.get_by_role("link", name="Columns").click()
    expect(town).to_have_value("ignore")
    sample = page.get_by_role("region", name="The first rows")
    expect(sample.get_by_role("row").last).to_contain_text("Yes")
    go_through(page)
    expect(state(page)).to_have_text("Imported")
    (subscriber,) = person.account.ok("ListSubscribers", view="FULL")["subscribers"]
    assert (subscriber["status"], subscriber["customFields"]) == (
        "UNSUBSCRIBED",
        {"shop_customer": True},
    )


def test_columns_and_rows_that_are_not_imported_are_named(person: Person) -> None:
    page = person.page
    person.sign_in()
    header, row, other = mailchimp(2).splitlines()
    lines = [f"{header},Nothing,Favourite plant", f"{row},,Fern", f"{other},,", f"bad@{row[2:]},,"]
    drop(page, "\n".join([*lines, f"{row},,Fern"]))

    # Values that would be lost are shown before those that are stored, and before empty columns.
    names = page.locator(".column-name")
    expect(names).to_have_count(11)
    lost = ["MEMBER_RATING", "LEID", "EUID", "Favourite plant"]
    assert names.all_text_contents()[:5] == [*lost, "Email Address"]
    expect(names.last).to_have_text("Nothing")
    expect(page.locator(".step-actions")).to_contain_text("The import ignores 4 columns.")
    page.get_by_role("combobox", name="LEID").select_option("Tags")
    page.get_by_role("combobox", name="EUID").select_option("New field: Text")
    page.get_by_role("combobox", name="EUID").select_option("Ignore")
    button(page, "Continue").click()
    expect(page.get_by_role("heading", name="3 people in 4 rows")).to_be_visible()
    button(page, "Check the file").click()
    expect(page.locator(".step")).to_contain_text(
        "The import ignores 3 columns: MEMBER_RATING, EUID, Favourite plant"
    )
    expect(page.locator("#numbers")).to_contain_text("1 update to a person in the list")


def test_check_shows_the_values_that_fail_and_offers_their_rows(person: Person) -> None:
    page, account = person.page, person.account
    account.ok("CreateCustomField", label="Age", dataType="NUMBER")
    person.sign_in()
    bad = f"bob@,36\n{RIGHT_TO_LEFT},36\nada@example.com,{MARKUP}\n,36\n".replace(",", ",n,")
    others = "bob@,n,36\n" * 497
    drop(page, f"E-Mail,Note,age\n{bad}{others}bob@example.com,n,36,x\n")
    page.get_by_role("combobox", name="Note").select_option("Ignore")
    button(page, "Continue").click()
    button(page, "Check the file").click()

    reasons = page.locator(".row-reasons")
    expect(reasons).to_contain_text(
        "address is not valid lines 2 (E-Mail \u201cbob@\u201d),"
        f" 3 (E-Mail \u201c{RIGHT_TO_LEFT}\u201d)"
    )
    expect(reasons).to_contain_text(f"the type of its field line 4 (age \u201c{MARKUP}\u201d)")
    expect(reasons).to_contain_text(re.compile(r"without an address line 5(?! \()"))
    expect(reasons).to_contain_text(re.compile(r"a wrong quote line 503(?! \()"))
    expect(reasons).to_contain_text(re.compile(r"of the first 500 failed rows only; the file has"))
    check_view(person)
    with page.expect_download() as download:
        page.get_by_role("link", name="Failed rows (CSV)").click()
    assert len(Path(download.value.path()).read_text().splitlines()) == 503
    assert account.ok("ListSubscribers")["total"] == 0


def test_failed_row_of_json_is_not_shown_as_the_value_of_a_field(person: Person) -> None:
    page = person.page
    person.sign_in()
    drop(page, '[{"email": "bob@"}, {"email": "ada@example.com"}]', "members.json")
    button(page, "Continue").click()
    button(page, "Check the file").click()

    expect(page.locator(".row-reasons")).to_have_text(re.compile(r"address is not valid line 1$"))
