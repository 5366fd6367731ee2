"""Sign-ups over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import (
    STATUSES,
    create_field,
    create_subscriber,
    create_subscriber_in,
    over_http,
    record_events,
    send,
    suppress,
)

ADA = "ada@example.com"


@pytest.fixture
def form(account: Account) -> Account:
    """The account through a key that a web page contains."""
    return account.with_key(account.new_key("signup"))


def sign_up(form: Account, email: str = ADA, **request: Any) -> None:
    """Signs up, and expects the response that every valid request gets."""
    response = form.call("SignUp", email=email, **request)
    assert (response.status, response.body) == (202, {})


def subscribers(account: Account) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = account.ok("ListSubscribers")["subscribers"]
    return listed


def events(account: Account) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = account.ok("ListEvents", eventType="subscriber.*")["events"]
    return listed


def test_a_sign_up_creates_an_unconfirmed_subscriber(account: Account, form: Account) -> None:
    account.ok("CreateTag", name="News")
    create_field(account, "Town")
    record_events(account)

    sign_up(
        form,
        " Ada@Example.com ",
        firstName="Ada",
        lastName="Lovelace",
        tags=["news"],
        customFields={"town": "London"},
    )

    (ada,) = subscribers(account)
    assert ada | {"id": "", "createdAt": ""} == {
        "id": "",
        "email": "Ada@Example.com",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "status": "UNCONFIRMED",
        "tags": ["News"],
        "customFields": {"town": "London"},
        "createdAt": "",
    }
    (event,) = events(account)
    assert event["type"] == "subscriber.created"
    token = event["data"]["subscriber"]["confirmUrl"].rpartition("/")[2]
    assert account.ok("FollowLink", token=token)["link"]["status"] == "CONFIRMED"
    *_, created = account.ok("ListSubscriberHistory", id=ADA)["history"]
    assert (created["source"], created["ip"]) == ("SELF_SERVICE", "127.0.0.1")


@pytest.mark.parametrize("status", STATUSES)
def test_an_existing_subscriber_is_never_changed(
    account: Account, form: Account, status: str
) -> None:
    account.ok("CreateTag", name="news")
    before = create_subscriber_in(account, status)

    sign_up(form, firstName="Eve", tags=["news"])

    assert subscribers(account) == [before]


@pytest.mark.parametrize("status", STATUSES)
def test_a_repeated_sign_up_has_a_link_that_confirms(
    account: Account, form: Account, status: str
) -> None:
    create_subscriber_in(account, status)
    record_events(account)

    sign_up(form)
    sign_up(form)

    found = events(account)
    if status not in ("UNCONFIRMED", "UNSUBSCRIBED"):
        assert found == []
        return
    assert [event["type"] for event in found] == ["subscriber.signup_repeated"]
    token = found[0]["data"]["subscriber"]["confirmUrl"].rpartition("/")[2]
    assert account.ok("FollowLink", token=token)["link"]["status"] == "CONFIRMED"


@pytest.mark.parametrize(("field", "exists"), [("firstName", False), ("lastName", True)])
def test_a_name_with_a_link_is_rejected(
    account: Account, form: Account, field: str, exists: bool
) -> None:
    if exists:
        create_subscriber(account)

    error = form.fails("ValidationError", "SignUp", email=ADA, **{field: "Win at win-money.ru"})

    assert error.violations == [(field, "NAME_NOT_ALLOWED")]
    assert len(subscribers(account)) == exists
    create_subscriber(account, "owner@example.com", **{field: "Win at win-money.ru"})


SPELLINGS = ["ada.love@gmail.com", "Ada.L.ove+news@GMail.com", "adalove+a+b@googlemail.com"]


@pytest.mark.parametrize("status", ["new", *STATUSES])
def test_spellings_of_a_gmail_address_are_one_mailbox(
    account: Account, form: Account, status: str
) -> None:
    if status != "new":
        create_subscriber_in(account, status, SPELLINGS[0])
    record_events(account)

    for email in SPELLINGS:
        sign_up(form, email)

    (ada,) = subscribers(account)
    assert ada["email"] == SPELLINGS[0]
    types = {
        "new": "subscriber.created",
        "UNCONFIRMED": "subscriber.signup_repeated",
        "UNSUBSCRIBED": "subscriber.signup_repeated",
    }
    expected = types.get(status)
    assert [event["type"] for event in events(account)] == ([expected] if expected else [])


def test_spellings_at_other_providers_are_different_people(account: Account, form: Account) -> None:
    others = ["ada.love@example.com", "adalove@example.com", "adalove+a@example.com"]
    others += ["adalove@gmail.com.example", "adalovee@gmail.com", "a+dalove@gmail.com"]
    for email in others:
        sign_up(form, email)

    assert sorted(row["email"] for row in subscribers(account)) == sorted(others)


def test_a_suppressed_address_is_not_subscribed(account: Account, form: Account) -> None:
    account.ok("AddSuppressions", emails=["adalove@gmail.com"])
    for email in (suppress(account), *SPELLINGS):
        sign_up(form, email)

    assert subscribers(account) == []


def test_a_suppressed_subscriber_gets_no_link(account: Account, form: Account) -> None:
    for email in (ADA, "ada.love@gmail.com"):
        create_subscriber(account, email)
        account.ok("AddSuppressions", emails=[email])
    record_events(account)

    for email in (ADA, "ada.love@gmail.com", "a.dalove@gmail.com"):
        sign_up(form, email)

    assert events(account) == []


def test_a_filled_honeypot_stores_nothing(account: Account, form: Account) -> None:
    sign_up(form, website="https://spam.example")

    assert subscribers(account) == []


INVALID: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "no address": ({}, [("email", "REQUIRED")]),
    "invalid address": ({"email": "no address"}, [("email", "INVALID_FORMAT")]),
    "unknown tags": (
        {"email": ADA, "tags": ["old", "news", "OLD", "new"]},
        [("tags[2]", "INVALID_VALUE"), ("tags[3]", "INVALID_VALUE")],
    ),
    "unknown field": (
        {"email": ADA, "customFields": {"x": 1}},
        [("customFields.x", "UNKNOWN_FIELD")],
    ),
    "address of the client": ({"email": ADA, "ip": "192.0.2.1"}, [("ip", "INVALID_VALUE")]),
}


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize(("request_", "violations"), INVALID.values(), ids=INVALID)
def test_errors_do_not_depend_on_existing_subscribers(
    account: Account,
    form: Account,
    request_: dict[str, Any],
    violations: list[tuple[str, str]],
    exists: bool,
) -> None:
    account.ok("CreateTag", name="news")
    if exists:
        create_subscriber(account)

    error = form.fails("ValidationError", "SignUp", **request_)

    assert error.violations == violations
    assert len(subscribers(account)) == exists
    assert [tag["name"] for tag in account.ok("ListTags")["tags"]] == ["news"]


@over_http
def test_idempotency_keys_of_a_form_are_separate(account: Account, form: Account) -> None:
    headers = {"Idempotency-Key": "a key"}
    send(account, "POST", "/api/tags", {"name": "vip"}, headers=headers)

    for body in ({"email": ADA}, {"email": ADA, "website": "x"}):
        headers = {"Idempotency-Key": f"a key {len(body)}"}
        again = [send(form, "POST", "/api/signup", body, headers=headers) for _ in range(2)]
        assert [response.status for response in again] == [202, 202]
    assert send(form, "POST", "/api/signup", {"email": ADA}, headers=headers).status == 422
    headers = {"Idempotency-Key": "a key"}
    assert send(form, "POST", "/api/signup", {"email": ADA}, headers=headers).status == 202


def test_internal_callers_state_the_address_of_the_person(account: Account) -> None:
    internal = account.with_key(account.new_key("write"))

    sign_up(internal, ip="2001:db8:0:0::7")

    (created,) = account.ok("ListSubscriberHistory", id=ADA)["history"]
    assert (created["source"], created["ip"]) == ("SELF_SERVICE", "2001:db8::7")
