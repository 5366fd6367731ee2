"""Settings in the console: the account, people who have access, API keys and the audit log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from ..browser import violations
from .conftest import Person

pytestmark = pytest.mark.verify
ROOT = Path(__file__).parent.parent.parent
GIF = bytes.fromhex("47494638396101000100000000002c00000000010001000002024401003b")
HOSTILE = "<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 " + "x" * 40


def test_account_is_changed_with_a_preview(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    person.open("/settings")

    page.get_by_label("Name of the sender").fill(HOSTILE)
    page.get_by_label("Color of buttons").fill("#ffee00")
    page.get_by_label("Logo").set_input_files(
        {"name": "logo.gif", "mimeType": "image/gif", "buffer": GIF}
    )

    sample = page.locator(".sample")
    expect(page.locator("figure .sender")).to_have_text(HOSTILE)
    expect(sample).to_have_css("background-color", "rgb(255, 238, 0)")
    expect(sample).to_have_css("color", "rgb(0, 0, 0)")
    expect(page.locator("figure img")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("Saved")
    stored = account.ok("GetAccount")["account"]
    assert (stored["displayName"], stored["color"]) == (HOSTILE, "#ffee00")
    assert stored["logo"]


@pytest.mark.parametrize("person", [{"locale": "de-AT"}], indirect=True)
def test_public_pages_open_in_a_new_tab_and_change_nothing(person: Person) -> None:
    page, account = person.page, person.account
    account.ok("UpdateAccount", displayName=HOSTILE, color="#ffee00")
    person.sign_in(scope="read")
    person.open("/settings")

    with page.expect_popup() as opened:
        page.get_by_role("link", name="Abbestellen").click()

    public = opened.value
    public.on("pageerror", lambda error: person.problems.append(str(error)))
    expect(public.get_by_role("heading", name="Abmelden")).to_be_visible()
    expect(public.get_by_text(HOSTILE)).to_be_visible()
    public.reload()
    assert violations(public, "html") == []
    public.get_by_role("button", name="Abmelden").click()
    expect(public.get_by_role("heading", name="Sie sind abgemeldet")).to_be_visible()
    public.get_by_role("link", name="English").click()
    public.get_by_role("button", name="Undo").click()
    expect(public.get_by_role("heading", name="You are subscribed again")).to_be_visible()
    expect(public.get_by_text("This is a preview.")).to_be_visible()
    assert account.ok("ListSubscribers")["total"] == 0


def test_change_of_another_person_is_not_overwritten(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    person.open("/settings")
    page.get_by_label("Name of the sender").fill("Mine")
    account.ok("UpdateAccount", displayName="Theirs")

    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("alert")).to_contain_text("This was changed meanwhile.")
    assert account.ok("GetAccount")["account"]["displayName"] == "Theirs"


def test_person_is_invited_and_signed_out(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    person.open("/settings/sessions")
    dialog = page.get_by_role("dialog")

    page.get_by_role("button", name="Create sign-in link").click()
    page.get_by_label("Name of the person").fill("Grace")
    page.get_by_label("Read only").check()
    page.get_by_label("The link works for").select_option("1 hour")
    dialog.get_by_role("button", name="Create sign-in link").click()
    url = dialog.get_by_label("Link", exact=True).input_value()
    expect(dialog).to_have_accessible_description(re.compile("not shown again. It signs in"))
    dialog.get_by_role("button", name="Close").click()

    expect(page.get_by_role("button", name="Create sign-in link")).to_be_focused()
    expect(page.get_by_role("row", name="Grace")).to_contain_text("Read only")
    account.ok("SignIn", token=url.partition("#")[2])
    page.reload()
    page.get_by_role("row", name="Grace").get_by_role("button", name="Sign out").click()
    dialog.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("Grace was signed out.").first).to_be_visible()
    expect(page.get_by_role("row", name="Grace")).to_have_count(0)
    assert [each["name"] for each in account.ok("ListSessions")["sessions"]] == ["Ada"]


def test_unused_link_is_revoked(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    account.ok("CreateSignInLink", name=HOSTILE, scope="admin")
    person.open("/settings/sessions")

    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()

    expect(page.get_by_text("No unused links.")).to_be_visible()
    assert account.ok("ListSignInLinks")["signInLinks"] == []


def test_link_that_was_used_meanwhile_leaves_the_list(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    token = account.ok("CreateSignInLink", name="Grace", scope="admin")["url"].partition("#")[2]
    person.open("/settings/sessions")
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Revoke").click()
    account.ok("SignIn", token=token)

    dialog.get_by_role("button", name="Revoke").click()
    expect(dialog.get_by_role("alert")).to_contain_text("does not exist")
    dialog.get_by_role("button", name="Keep the link").click()

    expect(page.get_by_text("No unused links.")).to_be_visible()
    expect(page.get_by_role("row", name="Grace")).to_contain_text("Sign out")


def test_key_is_created_and_its_secret_is_shown_once(person: Person) -> None:
    page, account = person.page, person.account
    person.sign_in()
    person.open("/settings/keys")
    dialog = page.get_by_role("dialog")

    page.get_by_role("button", name="Create key").click()
    page.get_by_label("What it is used for").fill(HOSTILE)
    page.get_by_label("Read only").check()
    page.get_by_label("Expires").select_option("In 30 days")
    dialog.get_by_role("button", name="Create key").click()
    field = dialog.get_by_label("Key")
    expect(field).to_have_attribute("type", "password")
    secret = field.input_value()
    dialog.get_by_role("button", name="Close").click()

    expect(page.get_by_role("button", name="Create key")).to_be_focused()
    expect(page.get_by_role("row", name=re.compile("onerror"))).to_contain_text("Ada")
    assert account.with_key(secret).ok("GetCurrentSession")["apiKey"]["scope"] == "read"
    assert secret not in page.content()


def test_key_is_rotated_with_time_for_the_old_secret_in_three_actions(person: Person) -> None:
    page, account = person.page, person.account
    key = account.ok("CreateApiKey", name="shop backend", scope="write")
    person.sign_in()
    person.open("/settings/keys")
    row = page.get_by_role("row", name="shop backend")

    row.get_by_role("button").click()
    page.get_by_role("button", name="Rotate secret").click()
    expect(page.get_by_label("For 24 hours")).to_be_checked()
    expect(page.get_by_label("For 24 hours")).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="Rotate secret").click()

    new = page.get_by_role("dialog").get_by_label("Key").input_value()
    page.get_by_role("button", name="Close").click()
    expect(row.get_by_role("button")).to_be_focused()
    expect(row).to_contain_text(re.compile("The old secret stops working in 2[34] hours"))
    for secret in (key["secret"], new):
        assert account.with_key(secret).ok("GetCurrentSession")["apiKey"]["name"] == "shop backend"


def test_key_is_revoked_in_three_actions_after_its_use_is_stated(person: Person) -> None:
    page, account = person.page, person.account
    key = account.ok("CreateApiKey", name="shop backend", scope="write")
    account.ok("SignIn", token=key["secret"])
    person.sign_in()
    person.open("/settings/keys")
    row = page.get_by_role("row", name="shop backend")
    dialog = page.get_by_role("dialog")

    row.get_by_role("button").click()
    page.get_by_role("button", name="Revoke key").click()
    expect(dialog).to_contain_text(re.compile("shop backend was (used today|not used yet)"))
    expect(dialog).to_contain_text("1 session that began with it ends too.")
    dialog.get_by_role("button", name="Revoke key").click()

    expect(row).to_have_count(0)
    account.with_key(key["secret"]).fails("Unauthorized", "GetCurrentSession")
    # The row that had the focus is gone.
    expect(page.get_by_role("row", name="test").get_by_role("button")).to_be_focused()
    page.get_by_role("row", name="test").get_by_role("button").click()
    page.get_by_role("button", name="Revoke key").click()
    dialog.get_by_role("button", name="Revoke key").click()
    expect(dialog.get_by_role("alert")).to_contain_text("last admin key")
    # It was disabled while the call ran.
    expect(dialog.get_by_role("button", name="Revoke key")).to_be_focused()


def test_revoking_the_key_of_the_own_session_says_so(person: Person) -> None:
    page = person.page
    key = person.account.ok("CreateApiKey", name="laptop", scope="admin")
    person.open("/signin")
    page.get_by_label("Sign-in link or API key").fill(key["secret"])
    page.get_by_role("button", name="Sign in").click()
    page.locator("#main").wait_for()
    person.open("/settings/keys")

    page.get_by_role("row", name="laptop").get_by_role("button").click()
    page.get_by_role("button", name="Revoke key").click()

    expect(page.get_by_role("dialog")).to_contain_text("This ends your own session too")


def test_audit_log_is_filtered_in_the_address_and_exported(person: Person) -> None:
    page, account = person.page, person.account
    tag = account.ok("CreateTag", name="vip")["tag"]
    account.ok("UpdateTag", id=tag["id"], name="VIP")
    account.ok("CreateWebhook", url="http://127.0.0.1:9/")
    person.sign_in()
    person.open("/settings/audit")
    rows = page.locator("tbody tr")

    page.get_by_label("Action").select_option("Tag: All")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Name: vip → VIP")
    page.get_by_label("Action").select_option("Tag: created")
    expect(rows).to_have_count(1)
    page.reload()
    expect(rows).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    lines = download.value.path().read_text().splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["tag.created"]
    page.get_by_role("link", name="Clear filters").click()
    page.get_by_label("Who").select_option("Ada")
    expect(rows).to_have_text([re.compile("Audit log: exported"), re.compile("Session: created")])
    page.get_by_label("To").fill("2020-01-01")
    expect(page.get_by_text("No entry matches.")).to_be_visible()


def test_audit_log_can_be_filtered_by_each_action_of_its_guide(person: Person) -> None:
    page = person.page
    person.sign_in()
    person.open("/settings/audit")
    guide = (ROOT / "server/guides/audit.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (`.*`) \|$", guide, re.MULTILINE)
    expected = [[type_, *re.findall("`(.*?)`", actions)] for type_, actions in rows]

    groups = page.get_by_label("Action").locator("optgroup")

    assert len(expected) > 10
    expect(groups).to_have_count(len(expected))
    options = "all => all.map(each => [...each.querySelectorAll('option')].map(one => one.value))"
    assert groups.evaluate_all(options) == expected


def test_audit_log_is_readable_on_a_laptop_and_a_phone(person: Person) -> None:
    page, account = person.page, person.account
    account.ok("CreateApiKey", name="shop", scope="read")
    person.sign_in()
    page.set_viewport_size({"width": 1280, "height": 800})
    person.open("/settings/audit")
    row = page.get_by_role("row", name="API key: created").first
    expect(row).to_contain_text("Scope: Read only")
    link = row.get_by_role("link", name="key “test”").bounding_box()
    assert link is not None
    assert link["height"] < 30

    page.set_viewport_size({"width": 360, "height": 800})
    page.reload()
    tab = page.get_by_role("navigation", name="Settings").get_by_role("link", name="Audit log")
    expect(tab).to_be_in_viewport(ratio=1)


def test_writers_see_the_account_and_nothing_else(person: Person) -> None:
    page = person.page
    person.sign_in(scope="write")

    person.open("/settings")

    name = page.get_by_label("Name of the sender")
    expect(name).to_be_disabled()
    expect(name).not_to_have_css("background-color", "rgb(255, 255, 255)")
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    for view in ("Access", "API keys", "Audit log"):
        page.get_by_role("link", name=view).click()
        expect(page.get_by_text("Only people with the scope Admin see this.")).to_be_visible()


def test_settings_are_accessible(person: Person) -> None:
    page = person.page
    person.account.ok("CreateApiKey", name=HOSTILE, scope="signup")
    person.account.ok("CreateSignInLink", name=HOSTILE, scope="write")
    person.sign_in()

    for part in ("account", "sessions", "keys", "audit"):
        person.open(f"/settings/{part}")
        page.locator("table, figure").first.wait_for()
        person.check_accessibility()
    person.open("/settings/keys")
    page.get_by_role("button", name="Create key").click()
    person.check_accessibility()
