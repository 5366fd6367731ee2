"""Blocked addresses in a browser: look-up, list, blocking and lifting."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Person
from .people import add_people, add_person

pytestmark = pytest.mark.verify


def look_up(person: Person, address: str) -> Locator:
    """Looks an address up with two actions, and returns the answer."""
    region = person.page.get_by_role("region", name="Is an address blocked?")
    region.get_by_role("textbox").fill(address)
    person.page.keyboard.press("Enter")
    return region.locator(".answer")


def test_address_is_looked_up_in_two_actions(person: Person) -> None:
    page, account = person.page, person.account
    add_person(account, email="ada@example.com", isConfirmed=True)
    add_person(account, email="bob@example.com", isConfirmed=True)
    account.ok("ChangeSubscriberStatus", id="bob@example.com", status="UNSUBSCRIBED")
    account.ok("AddSuppressions", emails=["gone@example.com"], reason="COMPLAINED")
    account.ok("AddSuppressions", emails=["never@example.com"])
    person.sign_in()
    page.get_by_role("link", name="Is an address blocked?").click()
    expect(page.get_by_role("textbox")).to_be_focused()

    expected = {
        "GONE@example.com": r"^Blocked\. Its owner reported mail as spam\. Blocked on \d.*\.",
        "never@example.com": r"^Blocked\. This account decided so, on \d",
        "ada@example.com": r"^Not blocked\. Confirmed on \d",
        "eve@example.com": r"^Not blocked\. No one has this address\.",
        "bob@example.com": r"^Not blocked\. Must not be mailed\. Unsubscribed on \d",
    }
    for address, text in expected.items():
        expect(look_up(person, address)).to_have_text(re.compile(text))
        # For the next address.
        expect(page.get_by_role("textbox")).to_be_focused()

    page.go_back()
    expect(page.locator(".answer")).to_contain_text("No one has this address")
    expect(page.get_by_role("textbox")).to_have_value("eve@example.com")
    page.go_forward()
    expect(page.locator(".answer")).to_contain_text("Unsubscribed")
    page.get_by_role("link", name="Show the person").click()
    expect(page).to_have_url(re.compile("/subscribers/bob%40example.com"))


def test_address_is_blocked_and_lifted_with_a_reason(person: Person) -> None:
    page, account = person.page, person.account
    add_person(account, email="ada@example.com", isConfirmed=True)
    person.sign_in()
    person.open("/suppressions?email=ada@example.com")

    page.get_by_role("button", name="Block this address").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("get no more mail, from now on")
    dialog.get_by_role("button", name="Block 1 address").click()
    answer = page.locator(".answer")
    expect(answer).to_contain_text("This account decided so")
    expect(page.get_by_role("heading", name="1 blocked address")).to_be_visible()
    person_now = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert person_now["status"] == "UNSUBSCRIBED"
    answer.get_by_role("button", name="Lift the block").click()
    dialog.get_by_role("button", name="Lift the block").click()
    expect(dialog).to_be_visible()
    dialog.get_by_label("Why is it lifted?").fill("Asked by phone")
    page.keyboard.press("Enter")

    expect(answer).to_have_text(re.compile("^Not blocked. Must not be mailed."))
    expect(page.get_by_role("heading", name="0 blocked addresses")).to_be_visible()
    assert "Asked by phone" in str(account.ok("ListSubscriberHistory", id="ada@example.com"))


def test_many_addresses_are_blocked_and_those_that_are_none_stay(person: Person) -> None:
    page, account = person.page, person.account
    add_people(account, 3)
    account.ok("AddSuppressions", emails=["p0001@example.com"], reason="BOUNCED")
    person.sign_in()
    person.open("/suppressions")
    page.get_by_role("button", name="Block addresses").click()
    dialog = page.get_by_role("dialog")
    many = [f"p{number:04}@example.com" for number in range(1_100)]
    field = dialog.get_by_label("Addresses, one a line")
    field.fill("\n".join([*many, "Ada <x>", "p0000@example.com"]))
    dialog.get_by_label("Reason").select_option("Complained")

    dialog.get_by_role("button", name="Block 1,101 addresses").click()

    expect(dialog.get_by_role("alert")).to_have_text("This is not a valid address.")
    expect(field).to_have_value("Ada <x>")
    notice = "1,099 addresses blocked, 1 was blocked before, 3 people in the list get no more mail"
    expect(page.get_by_text(notice).first).to_be_attached()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    listed = account.ok("ListSuppressions")
    assert (listed["total"], listed["suppressions"][0]["reason"]) == (1_100, "COMPLAINED")


def test_addresses_of_a_file_are_blocked_and_wrong_rows_are_named(
    person: Person, tmp_path: Path
) -> None:
    page, account = person.page, person.account
    add_people(account, 2)
    file = tmp_path / "opted out.csv"
    rows = ["p0000@example.com,COMPLAINED", "no address,", "gone@example.com,"]
    file.write_text("\n".join(["Email Address,reason", *rows]))
    person.sign_in()
    person.open("/suppressions")
    page.get_by_role("button", name="Block addresses").click()
    dialog = page.get_by_role("dialog")

    dialog.get_by_label("Addresses, one a line").fill("p0001@example.com")
    dialog.get_by_label("Or a file").set_input_files(file)
    dialog.get_by_label("Reason").select_option("Bounced")
    dialog.get_by_role("button", name="Block 1 address and the file").click()

    expect(dialog).to_contain_text("1 row: address is not valid line 3")
    expect(page.get_by_text("3 addresses blocked, 2 people in the list").first).to_be_attached()
    expect(dialog.get_by_label("Addresses, one a line")).to_have_value("")
    reasons = {each["reason"] for each in account.ok("ListSuppressions")["suppressions"]}
    assert reasons == {"COMPLAINED", "BOUNCED"}
    opted_out = account.ok("GetSubscriber", id="p0000@example.com")["subscriber"]
    assert opted_out["status"] == "COMPLAINED"


def test_list_has_hashes_and_can_be_exported(person: Person) -> None:
    page, account = person.page, person.account
    for reason in ("UNSUBSCRIBED", "BOUNCED", "COMPLAINED", "MANUAL"):
        emails = [f"{reason}{number}@example.com" for number in range(30)]
        account.ok("AddSuppressions", emails=emails, reason=reason)
    person.sign_in()
    person.open("/suppressions")
    expect(page.get_by_role("heading", name="120 blocked addresses")).to_be_visible()
    expect(page.get_by_text("stores only a hash of each")).to_be_visible()
    rows = page.get_by_role("row")
    expect(rows).to_have_count(101)

    page.get_by_role("button", name="Show more").click()

    expect(rows).to_have_count(121)
    expect(page.get_by_role("button", name="more")).to_have_count(0)
    listed: list[dict[str, Any]] = account.ok("ListSuppressions")["suppressions"]
    first = listed[0]["emailHash"]
    expect(rows.nth(1)).to_contain_text(first[:8])
    with page.expect_download() as download:
        page.get_by_role("link", name="Export (CSV)").click()
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == 121
    assert first in lines[1]
    page.get_by_role("button", name=f"Lift the block of {first[:8]}").click()
    page.get_by_label("Why is it lifted?").fill("By mistake")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="119 blocked addresses")).to_be_visible()
    account.fails("SuppressionNotFound", "GetSuppression", id=first)


@pytest.mark.parametrize("scope", ["read", "write"])
def test_session_sees_only_what_its_scope_permits(person: Person, scope: str) -> None:
    person.account.ok("AddSuppressions", emails=["gone@example.com"])
    person.sign_in(scope=scope)
    person.open("/suppressions?email=gone@example.com")
    page = person.page

    expect(page.locator(".answer")).to_contain_text("Blocked.")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page.get_by_role("button", name="Lift")).to_have_count(0)
    blocking = page.get_by_role("button", name="Block addresses")
    expect(blocking).to_have_count(1 if scope == "write" else 0)


@pytest.mark.parametrize("person", [{"locale": "de-AT"}], indirect=True)
def test_suppressions_are_accessible_in_german(person: Person) -> None:
    page = person.page
    hostile = f"<b>{'w' * 50}</b>@example.com"
    for reason in ("UNSUBSCRIBED", "BOUNCED", "COMPLAINED", "MANUAL"):
        person.account.ok("AddSuppressions", emails=[f"{reason}@example.com"], reason=reason)
    person.sign_in()
    person.open("/suppressions?email=manual@example.com")
    expect(page.locator(".answer")).to_contain_text("Gesperrt.")
    person.check_accessibility()
    page.locator(".answer").get_by_role("button", name="Sperre aufheben").click()
    person.check_accessibility()
    person.open(f"/suppressions?email={quote(hostile)}")
    expect(page.get_by_role("alert")).to_have_text("Dies ist keine gültige Adresse.")
    page.get_by_role("button", name="Adressen sperren").click()
    person.check_accessibility()
