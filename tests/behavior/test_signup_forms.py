"""Sign-ups of HTML forms without script: their fields, pages and errors."""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from ..conftest import Account
from ..fronts import HttpFront
from .helpers import STATUSES, create_field, create_subscriber_in, over_http, suppress

pytestmark = over_http

ADA = "ada@example.com"
FORM = "application/x-www-form-urlencoded"
HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
TITLES = {
    "en": "Thank you for signing up",
    "de": "Danke für Ihre Anmeldung",
    "fr": "Merci pour votre inscription",
    "es": "Gracias por suscribirse",
}


class Submitted(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def title(self) -> str:
        assert self.headers["content-type"] == "text/html; charset=utf-8"
        return self.text.partition("<h1>")[2].partition("</h1>")[0]

    @property
    def error(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.text)["error"]

    @property
    def violations(self) -> list[tuple[str, str]]:
        return [(detail["field"], detail["code"]) for detail in self.error["details"]]


def submit(account: Account, fields: Any, *, key: str | None = None, **headers: str) -> Submitted:
    """Submits a form with the key that it contains; text is sent unchanged."""
    body = fields.encode() if isinstance(fields, str) else fields
    if not isinstance(body, bytes):
        body = urlencode(fields, doseq=True).encode()
    sent = {"Content-Type": FORM} | {n.replace("_", "-"): v for n, v in headers.items()}
    assert isinstance(account.front, HttpFront)
    status, received, text = account.front.exchange(
        "POST", "/api/signup", key, body=body, headers=sent
    )
    return Submitted(status, received, text.decode())


@pytest.fixture
def key(account: Account) -> str:
    """The key that a form contains."""
    return account.new_key("signup")


def subscribers(account: Account) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = account.ok("ListSubscribers")["subscribers"]
    return listed


def test_a_form_stores_all_of_its_fields(account: Account, key: str) -> None:
    for tag in ("News", "VIP"):
        account.ok("CreateTag", name=tag)
    for label, data_type in (("Town", "TEXT"), ("Size", "NUMBER"), ("Happy", "BOOLEAN")):
        create_field(account, label, data_type)
    fields = {
        "key": key,
        "email": "Ada@Example.com",
        "firstName": "Äda & Co",
        "lastName": "",
        "tags": ["news", "vip", ""],
        "customFields.town": "São Paulo",
        "customFields.size": "42.5",
        "customFields.happy": "yes",
        "website": "",
        "redirect": "",
    }

    submitted = submit(account, fields, Accept=HTML)

    assert (submitted.status, submitted.title) == (202, TITLES["en"])
    assert "Ada@Example.com" in submitted.text
    assert "default-src 'none'" in submitted.headers["content-security-policy"]
    (ada,) = subscribers(account)
    assert (ada["email"], ada["firstName"], ada["status"]) == (
        "Ada@Example.com",
        "Äda & Co",
        "UNCONFIRMED",
    )
    assert ada["tags"] == ["News", "VIP"]
    assert ada["customFields"] == {"town": "São Paulo", "size": 42.5, "happy": True}


@pytest.mark.parametrize("language", TITLES)
def test_the_page_has_the_language_of_the_person_and_the_design_of_the_account(
    account: Account, key: str, language: str
) -> None:
    account.ok("UpdateAccount", displayName="Analytical <Letters>", color="#ff0000")

    submitted = submit(
        account, {"key": key, "email": ADA}, Accept=HTML, Accept_Language=f"{language}-XX"
    )

    assert submitted.title == TITLES[language]
    assert submitted.headers["content-language"] == language
    assert "Analytical &lt;Letters&gt;" in submitted.text
    assert "#ff0000" in submitted.text


@pytest.mark.parametrize("state", ["new", "suppressed", "website", *STATUSES])
def test_the_page_does_not_reveal_who_is_a_subscriber(
    account: Account, key: str, state: str
) -> None:
    fields = {"key": key, "email": ADA, "website": "spam" if state == "website" else ""}
    if state in STATUSES:
        create_subscriber_in(account, state)
    if state == "suppressed":
        fields["email"] = suppress(account)
    before = subscribers(account)

    submitted = submit(account, fields, Accept=HTML)
    reference = submit(account, {"key": key, "email": "a-new@person.example"}, Accept=HTML)

    assert submitted.status == reference.status == 202
    assert submitted.text.replace(fields["email"], "") == reference.text.replace(
        "a-new@person.example", ""
    )
    changed = [row for row in subscribers(account) if row["email"] != "a-new@person.example"]
    assert changed == before or state == "new"


INVALID: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "nothing": ("", [("email", "REQUIRED")], "This email address is not valid"),
    "empty address": ("email=", [("email", "REQUIRED")], "This email address is not valid"),
    "invalid address": (
        "email=ada",
        [("email", "INVALID_FORMAT")],
        "This email address is not valid",
    ),
    "link": (
        "email=a@b.io&firstName=t.me/x",
        [("firstName", "NAME_NOT_ALLOWED")],
        "This name cannot be used",
    ),
    "unknown field": ("email=a@b.io&age=5", [("age", "UNKNOWN_FIELD")], "The sign-up did not work"),
    "unknown empty field": ("email=a@b.io&submit=x", [("submit", "UNKNOWN_FIELD")], ""),
    "repeated field": (
        "email=a@b.io&age=1&email=c@d.io",
        [("age", "UNKNOWN_FIELD"), ("email", "DUPLICATE_FIELD")],
        "This email address is not valid",
    ),
    "custom field": ("email=a@b.io&customFields.x=1", [("customFields.x", "UNKNOWN_FIELD")], ""),
    "object": ("email=a@b.io&customFields=1", [("customFields", "UNKNOWN_FIELD")], ""),
    "unknown tag": ("email=a@b.io&tags=x", [("tags[0]", "INVALID_VALUE")], ""),
    "escape": ("email=a%zz@b.io", [("", "INVALID_FORMAT")], ""),
    "cut escape": ("email=a@b.io%2", [("", "INVALID_FORMAT")], ""),
    "not UTF-8": ("email=%ff@b.io", [("", "INVALID_FORMAT")], ""),
    "too many fields": ("email=a@b.io" + "&tags=x" * 64, [("", "TOO_MANY")], ""),
    "address of a person": ("email=a@b.io&ip=192.0.2.1", [("ip", "INVALID_VALUE")], ""),
}


@pytest.mark.parametrize(("fields", "violations", "title"), INVALID.values(), ids=INVALID)
def test_an_invalid_form_gets_an_error_as_json_or_as_a_page(
    account: Account, key: str, fields: str, violations: list[tuple[str, str]], title: str
) -> None:
    form = f"key={key}&{fields}"

    answered = submit(account, form, key=key)
    shown = submit(account, form, key=key, Accept=HTML)

    assert (answered.status, answered.violations) == (400, violations)
    assert (shown.status, shown.title) == (400, title or "The sign-up did not work")
    assert subscribers(account) == []


def test_other_character_encodings_are_rejected(account: Account, key: str) -> None:
    latin = submit(account, {"key": key, "email": ADA}, Content_Type=f"{FORM}; charset=iso-8859-1")
    raw = submit(account, f"key={key}&email={ADA}&firstName=".encode() + b"\xc4da")

    assert (latin.status, latin.error["code"]) == (415, "UnsupportedMediaType")
    assert (raw.status, raw.violations) == (400, [("", "INVALID_FORMAT")])
    named = submit(account, {"key": key, "email": ADA}, Content_Type=f"{FORM};charset=UTF-8")
    assert named.status == 202


@pytest.mark.parametrize("scope", ["read", "write", "admin"])
def test_a_form_must_not_contain_a_key_of_another_scope(account: Account, scope: str) -> None:
    other = account.new_key(scope)

    in_form = submit(account, {"key": other, "email": ADA})
    in_both = submit(account, {"key": other, "email": ADA}, key=other)
    shown = submit(account, {"key": other, "email": ADA}, Accept=HTML)

    code = "Forbidden" if scope == "read" else "ApiKeyScopeTooBroad"
    assert (in_form.status, in_form.error["code"]) == (403, code)
    assert in_both.status == shown.status == 403
    assert shown.title == "The sign-up did not work"
    assert subscribers(account) == []
    in_header = submit(account, {"email": ADA}, key=other)
    assert in_header.status == (403 if scope == "read" else 202)


def test_a_form_without_a_valid_key_learns_nothing_else(account: Account, key: str) -> None:
    for form in ("email=x", "key=rk_x&email=x", f"key={key}&key=rk_x&email=x", "key=%e4&age=1"):
        answered = submit(account, form)
        shown = submit(account, form, Accept=HTML)

        assert (answered.status, answered.error["code"]) == (401, "Unauthorized")
        assert (shown.status, shown.title) == (401, "The sign-up did not work")
