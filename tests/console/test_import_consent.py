"""Consent and opt-outs of the people in a file that the console imports."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Person
from .files import button, drop, state
from .people import add_person
from .test_imports import check_view

pytestmark = pytest.mark.verify


def test_column_that_looks_like_consent_needs_an_answer(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    drop(page, "email,Newsletter,Town,Plan\nada@example.com,yes,,\nbob@example.com,no,,\n")
    newsletter = page.get_by_role("combobox", name="Newsletter")
    expect(newsletter).to_be_visible()
    expect(page.get_by_text("Looks like consent.")).to_be_visible()
    assert "New field" not in newsletter.inner_text()
    # It is not ignored with the others, because opt-outs would be lost.
    button(page, "Ignore these 2 columns").click()
    expect(page.get_by_text("1 column is not known.")).to_be_visible()

    newsletter.select_option("Wants mail: yes or no")
    button(page, "Continue").click()
    expect(page.get_by_text("1 person in the file opted out elsewhere")).to_be_visible()
    expect(page.get_by_label("Take them over, so that they are never mailed")).to_be_checked()
    button(page, "Check the file").click()
    button(page, "Import 2 people").click()

    expect(state(page)).to_have_text("Imported")
    people = account.ok("ListSubscribers")["subscribers"]
    assert {each["email"]: each["status"] for each in people} == {
        "ada@example.com": "CONFIRMED",
        "bob@example.com": "UNSUBSCRIBED",
    }


def test_date_of_consent_leads_to_the_question_and_one_of_confirmation_does_not(
    person: Person,
) -> None:
    page = person.page
    person.sign_in()
    drop(page, "email,Newsletter since\nada@example.com,2024-05-28\n")
    since = page.get_by_role("combobox", name="Newsletter since")
    since.select_option("Confirmed on")
    button(page, "Continue").click()
    expect(page.get_by_text("A confirmation date alone confirms no one.")).to_be_visible()
    page.get_by_role("link", name="Columns").click()
    since.select_option("Time of consent")
    button(page, "Continue").click()
    page.get_by_label("Yes, confirmed by link").check()
    button(page, "Check the file").click()
    button(page, "Import 1 person").click()

    expect(state(page)).to_have_text("Imported")
    ada = person.account.ok("GetSubscriber", id="ada@example.com", view="FULL")["subscriber"]
    assert ada["status"] == "CONFIRMED"
    assert ada["consent"]["at"].startswith("2024-05-28")


def test_people_who_opted_out_stay_opted_out(person: Person) -> None:
    page, account = person.page, person.account
    add_person(account, email="ada@example.com", isConfirmed=True)
    account.ok("ChangeSubscriberStatus", id="ada@example.com", status="UNSUBSCRIBED")
    add_person(account, email="gone@example.com", isConfirmed=True)
    account.ok("ChangeSubscriberStatus", id="gone@example.com", status="UNSUBSCRIBED")
    account.ok("DeleteSubscriber", id="gone@example.com")
    add_person(account, email="bob@example.com", isConfirmed=True)
    person.sign_in()
    rows = "ada@example.com,CONFIRMED\ngone@example.com,CONFIRMED\nnew@example.com,CONFIRMED\n"
    drop(page, "email,status\n" + rows + "bob@example.com,UNSUBSCRIBED\n")

    button(page, "Continue").click()
    button(page, "Check the file").click()

    numbers = page.locator("#numbers")
    expect(numbers).to_contain_text("1 of them had opted out before and stays opted out")
    expect(numbers).to_contain_text("1 of them could be mailed until now, and is opted out")
    expect(numbers).to_contain_text("1 opted out before or blocked: stays out")
    button(page, "Import 3 people").click()
    expect(state(page)).to_have_text("Imported")
    ada = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert ada["status"] == "UNSUBSCRIBED"
    account.fails("SubscriberNotFound", "GetSubscriber", id="gone@example.com")


def test_people_without_consent_are_tagged_and_opt_outs_left_out(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    drop(page, "email,unsubscribedAt\nada@example.com,\nbob@example.com,2024-01-01\n")
    button(page, "Continue").click()

    page.get_by_label("Leave them out").check()
    page.get_by_label("I don't know").check()
    page.get_by_label("Tag for everyone in the file").fill("from the shop")
    with page.expect_response(
        lambda response: "from the shop" in (response.request.post_data or "")
    ):
        page.get_by_label("Tag for everyone in the file").press("Tab")
    page.reload()
    expect(page.get_by_label("Leave them out")).to_be_checked()
    expect(page.get_by_label("I don't know")).to_be_checked()
    button(page, "Check the file").click()
    expect(page.get_by_text("1 left out, as chosen")).to_be_visible()
    button(page, "Import 1 person").click()

    expect(state(page)).to_have_text("Imported")
    (ada,) = account.ok("ListSubscribers")["subscribers"]
    assert (ada["status"], sorted(ada["tags"])) == (
        "UNCONFIRMED",
        ["from the shop", "needs-consent"],
    )


def test_consent_of_all_people_is_stated_once(person: Person) -> None:
    page, account = person.page, person.account
    add_person(account, email="ada@example.com")
    person.sign_in()
    drop(page, "email\nada@example.com\nbob@example.com\n")
    button(page, "Continue").click()
    expect(page.get_by_label("Yes, but not confirmed")).to_be_checked()
    counts = page.locator(".people-counts")
    expect(counts).to_contain_text("2Unconfirmed")

    page.get_by_label("Source of consent").fill("Paper form")
    page.get_by_label("Yes, confirmed by link").check()
    expect(counts).to_contain_text("2Confirmed")
    page.reload()
    expect(page.get_by_label("Yes, confirmed by link")).to_be_checked()
    expect(page.get_by_label("Source of consent")).to_have_value("Paper form")
    check_view(person)
    button(page, "Check the file").click()
    button(page, "Import 2 people").click()

    expect(state(page)).to_have_text("Imported")
    ada, bob = account.ok("ListSubscribers", view="FULL")["subscribers"]
    assert (ada["status"], "consent" in ada) == ("UNCONFIRMED", False)
    assert (bob["status"], bob["consent"]["source"]) == ("CONFIRMED", "Paper form")


@pytest.mark.parametrize("person", [{"locale": "de-DE"}], indirect=True)
def test_consent_is_asked_only_of_files_without_it(person: Person) -> None:
    page = person.page
    person.sign_in()
    drop(page, "email;status\nada@example.com;UNCONFIRMED\n")
    button(page, "Weiter").click()
    button(page, "Datei pr\u00fcfen").wait_for()
    expect(page.get_by_text("zugestimmt")).to_have_count(0)

    drop(page, "email\nada@example.com\n", "other.csv")
    button(page, "Weiter").click()
    page.get_by_label("Ja, per Link best\u00e4tigt").check()
    expect(page.get_by_label("Quelle der Einwilligung")).to_be_visible()
    page.get_by_label("Ich wei\u00df es nicht").check()
    expect(page.get_by_label("Quelle der Einwilligung")).to_have_count(0)
    expect(page.locator(".people-counts")).to_contain_text("1Unbest\u00e4tigt")


def test_file_with_statuses_is_not_asked_and_says_what_happens_without_one(
    person: Person,
) -> None:
    page = person.page
    person.sign_in()
    header = "Email Address,First Name,State\n"
    drop(page, f"{header}ada@example.com,Ada,active\nbob@example.com,Bob,\n")
    expect(page.get_by_text("This looks like a Kit export")).to_be_visible()
    button(page, "Continue").click()

    counts = page.locator(".people-counts")
    expect(counts).to_contain_text("1Unconfirmed")
    expect(page.get_by_text("Rows without any become Unconfirmed.")).to_be_visible()
    expect(page.get_by_text("Have these people agreed")).to_have_count(0)

    # The answer for a file is given before a column of it is said to be the status.
    drop(page, "email,Group\nada@example.com,CONFIRMED\nbob@example.com,\n", "other.csv")
    group = page.get_by_role("combobox", name="Group")
    group.select_option("Ignore")
    button(page, "Continue").click()
    page.get_by_label("Yes, confirmed by link").check()
    expect(counts).to_contain_text("2Confirmed")
    page.get_by_role("link", name="Columns").click()
    group.select_option("Status")
    button(page, "Continue").click()
    expect(page.get_by_text("Rows with a status in the file keep it.")).to_be_visible()
    page.get_by_label("Yes, but not confirmed").check()
    expect(counts).to_contain_text("1Unconfirmed")
