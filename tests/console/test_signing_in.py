"""People sign in and out of the console, in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from ..conftest import new_account
from .conftest import Person
from .test_subscribers import hold_answers

pytestmark = pytest.mark.verify
GERMAN = [{"locale": "de-AT"}]


def test_link_signs_in_once_and_leaves_no_token(person: Person) -> None:
    page, url = person.page, person.account.ok("CreateSignInLink", name="Ada", scope="read")["url"]
    token = url.partition("#")[2]

    page.goto(f"{person.url}/signin#{token}")

    button = page.get_by_role("button", name="Ada Read only")
    expect(button).to_be_visible()
    assert token not in page.url
    assert page.evaluate("document.cookie + JSON.stringify([localStorage, sessionStorage])") == (
        "[{},{}]"
    )
    page.go_back()
    assert token not in page.url
    page.goto(person.url)
    button.click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_label("Sign-in link or API key")).to_be_visible()
    assert person.account.ok("ListSessions")["total"] == 0
    page.goto("about:blank")
    page.goto(f"{person.url}/signin#{token}")
    expect(page.get_by_role("alert")).to_contain_text("A link works once")
    # Another link, which is opened in the same tab, changes the fragment of the address only.
    page.goto(person.account.ok("CreateSignInLink", name="Ada", scope="read")["url"])
    expect(button).to_be_visible()


def test_pasted_key_is_exchanged_for_a_session(person: Person) -> None:
    page, account = person.page, person.account
    person.open("/")

    field = page.get_by_label("Sign-in link or API key")
    expect(field).to_be_focused()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(field).to_be_focused()
    field.fill(account.key)
    page.keyboard.press("Enter")

    expect(page.get_by_role("button", name="test Admin")).to_be_visible()
    assert [each["name"] for each in account.ok("ListSessions")["sessions"]] == ["test"]
    stored = page.evaluate("JSON.stringify([document.cookie, localStorage, sessionStorage])")
    assert account.key not in stored + page.content()


def test_signing_out_everywhere_ends_all_sessions_after_a_question(person: Person) -> None:
    page = person.page
    person.account.ok("SignIn", token=person.account.key)
    person.sign_in()

    page.get_by_role("button", name="Ada Admin").click()
    page.get_by_role("button", name="Sign out everywhere").click()
    dialog = page.get_by_role("dialog", name="Sign everyone out?")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert person.account.ok("ListSessions")["total"] == 2
    page.get_by_role("button", name="Ada Admin").click()
    page.get_by_role("button", name="Sign out everywhere").click()
    dialog.get_by_role("button", name="Sign out everywhere").click()

    expect(page.get_by_label("Sign-in link or API key")).to_be_visible()
    assert person.account.ok("ListSessions")["total"] == 0


@pytest.mark.parametrize("person", GERMAN, indirect=True)
def test_language_follows_the_browser_and_can_be_switched(person: Person) -> None:
    page = person.page
    person.open("/")
    expect(page.get_by_label("Login-Link oder API-Schlüssel")).to_be_visible()
    person.sign_in()

    page.get_by_role("button", name="Ada Administration").click()
    page.get_by_label("Sprache").select_option("English")

    expect(page.get_by_role("button", name="Ada Admin", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Ada Admin", exact=True)).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "en"


def test_theme_can_be_chosen(person: Person) -> None:
    person.sign_in()
    background = "getComputedStyle(document.documentElement).backgroundColor"
    assert person.page.evaluate(background) == "rgb(255, 255, 255)"

    person.page.get_by_role("button", name="Ada Admin").click()
    person.page.get_by_label("Appearance").select_option("Dark")
    person.page.reload()

    person.page.locator("#main").wait_for()
    assert person.page.evaluate(background) == "rgb(15, 18, 23)"


def test_plain_http_on_another_host_explains_why_it_cannot_sign_in(person: Person) -> None:
    """The name of another host is resolved by the test, so that no network is needed."""
    address = person.account.service.http
    person.page.route(
        "**",
        lambda route: route.fulfill(
            response=route.fetch(url=route.request.url.replace("roster.example", address))
        ),
    )

    person.page.goto("http://roster.example/console/")

    expect(person.page.get_by_role("alert")).to_contain_text("uses no HTTPS")
    expect(person.page.get_by_role("button", name="Sign in")).to_have_count(0)
    # Chromium ignores the header Cross-Origin-Opener-Policy without TLS.
    assert ["Cross-Origin" in problem for problem in person.problems] == [True]
    person.problems.clear()


def test_unknown_view_says_so(person: Person) -> None:
    person.sign_in()

    person.open("/nothing/here")

    expect(person.page.get_by_role("heading", name="No such page")).to_be_visible()


def test_signing_in_is_accessible(person: Person) -> None:
    person.open("/")
    person.page.get_by_label("Sign-in link or API key").wait_for()
    person.check_accessibility()
    person.sign_in()
    person.page.get_by_role("button", name="Ada Admin").click()
    person.check_accessibility()


def test_error_of_the_first_request_is_shown_with_a_way_to_try_again(person: Person) -> None:
    page = person.page
    person.sign_in()
    body = {"error": {"code": "Internal", "message": "An internal error occurred."}}
    page.route("**/api/session", lambda route: route.fulfill(status=500, json=body))
    person.open("/tags")
    expect(page.get_by_role("alert")).to_be_visible()
    page.unroute_all()

    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", name="Tags")).to_be_visible()


def test_rejected_call_is_sent_again(person: Person) -> None:
    page = person.page
    person.sign_in()
    body = {"error": {"code": "RateLimited", "message": "Try again later."}}
    rejected = {"status": 429, "headers": {"Retry-After": "1"}, "json": body}
    page.route("**/api/session", lambda route: route.fulfill(**rejected), times=2)

    person.open("/tags")

    expect(page.get_by_role("heading", name="Tags")).to_be_visible()


def test_what_was_typed_is_kept_when_the_session_ends_or_the_server_is_away(
    person: Person,
) -> None:
    page, account = person.page, person.account
    account.ok("CreateTag", name="early")
    person.sign_in()
    person.open("/tags")
    page.get_by_role("button", name="New tag").click()
    dialog = page.get_by_role("dialog", name="New tag")
    dialog.get_by_label("Name").fill("typed")

    for pattern in ("**/api/**", "**/readyz"):
        page.route(pattern, lambda route: route.abort())
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("Roster does not respond")
    expect(dialog.get_by_label("Name")).to_have_value("typed")
    page.unroute_all()

    account.ok("SignOutEverywhere")
    # Another request can have covered the page already.
    dialog.get_by_role("button", name="Save").dispatch_event("click")
    expect(page.locator(".cover").get_by_text("Your session ended")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    # The browser closes a dialog after two Escapes, and the page opens it again.
    expect(page.locator("dialog.cover:modal")).to_be_visible()
    person.check_accessibility()
    page.get_by_label("Sign-in link or API key").fill(account.key)
    page.keyboard.press("Enter")

    expect(page.locator("dialog.cover")).to_have_count(0)
    expect(dialog.get_by_label("Name")).to_have_value("typed")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="typed")).to_be_visible()


def test_cover_has_no_shortcuts_and_goes_when_another_tab_signs_in(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    other = page.context.new_page()
    other.goto(f"{person.url}/tags")
    expect(other.get_by_role("button", name="New tag")).to_be_visible()
    account.ok("SignOutEverywhere")
    # Another request can have covered the page already.
    other.evaluate("document.querySelector('nav a[href$=segments]').click()")
    expect(other.locator(".cover").get_by_text("Your session ended")).to_be_visible()
    url = other.url
    other.evaluate("document.activeElement.blur()")
    other.keyboard.type("?gh")
    expect(other.get_by_role("dialog")).to_have_count(1)
    assert other.url == url

    person.sign_in()
    other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    expect(other.locator("dialog.cover")).to_have_count(0)
    expect(other.get_by_role("heading", level=1)).to_be_visible()


def test_another_scope_begins_anew_after_the_session_ended(person: Person) -> None:
    page, account = person.page, person.account
    account.ok("CreateTag", name="early")
    person.sign_in()
    person.open("/tags")
    page.get_by_role("button", name="New tag").click()
    account.ok("SignOutEverywhere")
    page.get_by_role("dialog").get_by_label("Name").fill("typed")
    page.get_by_role("button", name="Save").dispatch_event("click")
    page.get_by_label("Sign-in link or API key").fill(account.new_key("read"))
    page.keyboard.press("Enter")

    expect(page.get_by_role("link", name="early")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="New tag")).to_have_count(0)


def test_write_of_an_ended_session_is_not_sent_to_another_account(person: Person) -> None:
    page, account = person.page, person.account
    other = new_account(account.service, account.front)
    person.sign_in()
    hold_answers(person, "/api/tags", "POST")
    person.open("/tags")
    page.get_by_role("button", name="New tag").click()
    page.get_by_role("dialog").get_by_label("Name").fill("typed")
    account.ok("SignOutEverywhere")
    sent = list[str]()
    page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))

    page.get_by_role("button", name="Save").dispatch_event("click")
    page.wait_for_function("() => window.held > 0")
    page.evaluate("document.querySelector('nav a[href$=segments]').click()")
    page.get_by_label("Sign-in link or API key").fill(other.key)
    page.keyboard.press("Enter")
    expect(page.locator("dialog.cover")).to_have_count(0)
    expect(page.get_by_role("heading", name="Segments")).to_be_visible()
    # A call that is sent again is sent before the other response arrives.
    page.evaluate("async () => { window.release(); await fetch('/readyz'); }")

    assert sum(each.startswith("POST") and each.endswith("/api/tags") for each in sent) == 1
    assert other.ok("ListTags")["total"] == 0
    # It says nothing about the new session.
    assert page.locator("dialog.cover").count() == 0
