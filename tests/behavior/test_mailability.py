"""Whether a person may be mailed, and why not, over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..cases import each
from ..conftest import Account
from . import import_jobs
from .helpers import (
    MISSING_ID,
    STATUSES,
    create_subscriber,
    create_subscriber_in,
    suppress,
    unsubscribe_token,
)
from .streams import import_rows

pytestmark = pytest.mark.each_database

ADA = "ada@example.com"


def mailability(account: Account, id_: str = ADA) -> dict[str, Any]:
    body: dict[str, Any] = account.ok("GetSubscriberMailability", id=id_)
    return body


def full(account: Account) -> dict[str, Any]:
    subscriber: dict[str, Any] = account.ok("GetSubscriber", id=ADA, view="FULL")["subscriber"]
    return subscriber


@pytest.mark.parametrize("status", STATUSES)
def test_only_a_confirmed_subscriber_may_be_mailed(account: Account, status: str) -> None:
    ada = create_subscriber_in(account, status)

    answer = mailability(account, ada["id"])

    assert mailability(account, " ADA@Example.com") == answer
    assert answer.pop("allowedStatuses")
    (key,) = account.ok("ListApiKeys")["apiKeys"]
    stored = full(account)
    assert answer == {
        "mayBeMailed": status == "CONFIRMED",
        "reason": status,
        "since": stored.get("statusChangedAt", stored["createdAt"]),
        "actor": {"type": "API_KEY", "id": key["id"], "name": key["name"]},
        "suppressed": False,
        "source": "API",
    }


def opted_out_after_bounce(account: Account, email: str) -> None:
    create_subscriber_in(account, "BOUNCED", email)
    account.ok(
        "ChangeSubscriberStatus", id=email, status="UNSUBSCRIBED", consentSource="Phone call"
    )


def suppressed(account: Account, email: str) -> None:
    create_subscriber(account, email)
    account.ok("AddSuppressions", emails=[email], reason="BOUNCED")


STATES = {
    **{
        status: lambda account, email, status=status: create_subscriber_in(account, status, email)
        for status in STATUSES
    },
    "after a bounce": opted_out_after_bounce,
    "suppressed": suppressed,
}


@pytest.mark.parametrize("create", STATES.values(), ids=STATES)
def test_allowed_statuses_are_those_to_which_the_key_can_change_the_subscriber(
    account: Account, create: Any
) -> None:
    for scope in ("read", "write", "admin"):
        caller = account.with_key(account.new_key(scope))
        for status in STATUSES:
            email = f"{scope}.{status}@example.com"
            create(account, email)
            allowed = mailability(caller, email)["allowedStatuses"]
            before = account.ok("GetSubscriber", id=email)["subscriber"]["status"]

            response = caller.call("ChangeSubscriberStatus", id=email, status=status)

            is_changed = response.status == 200 and before != status
            assert (status in allowed) == is_changed, (scope, status, allowed)


def test_address_without_a_subscriber_has_an_answer(account: Account) -> None:
    assert mailability(account) == {
        "mayBeMailed": False,
        "reason": "NOT_SUBSCRIBED",
        "suppressed": False,
        "allowedStatuses": [],
    }
    create_subscriber(account, "bob@example.com", isConfirmed=True)
    account.ok("UpdateSubscriber", id="bob@example.com", email=ADA)
    assert mailability(account, "bob@example.com")["reason"] == "NOT_SUBSCRIBED"


@each("reason", ["UNSUBSCRIBED", "BOUNCED", "COMPLAINED", "MANUAL"])
def test_suppressed_address_without_a_subscriber_has_the_reason_of_its_suppression(
    account: Account, reason: str
) -> None:
    email = f"{reason}@example.com"
    if reason == "MANUAL":
        account.ok("AddSuppressions", emails=[email], reason=reason)
    else:
        suppress(account, email, reason)

    assert mailability(account, email) == {
        "mayBeMailed": False,
        "reason": "SUPPRESSED" if reason == "MANUAL" else reason,
        "since": account.ok("GetSuppression", id=email)["suppression"]["createdAt"],
        "suppressed": True,
        "allowedStatuses": [],
    }


def test_suppressed_person_may_not_be_mailed_even_if_the_status_is_confirmed(
    account: Account,
) -> None:
    ada = create_subscriber(account)
    account.ok("AddSuppressions", emails=[ADA], reason="MANUAL")
    assert mailability(account)["reason"] == "UNSUBSCRIBED"
    with account.service.unit_of_work() as tx:
        # No call stores this.
        tx.raw().execute_sql(f"UPDATE subscriber SET status = 2 WHERE id = '{ada['id']}'")

    answer = mailability(account)

    assert (answer["mayBeMailed"], answer["reason"]) == (False, "SUPPRESSED")
    assert answer["suppressed"]


def test_answer_names_the_person_who_unsubscribed_with_a_link(account: Account) -> None:
    create_subscriber(account, isConfirmed=True)
    account.ok("FollowLink", token=unsubscribe_token(account, ADA), ip="192.0.2.1")

    answer = mailability(account)

    assert (answer["reason"], answer["actor"]) == ("UNSUBSCRIBED", {"type": "PERSON"})
    assert answer["since"] == full(account)["statusChangedAt"]
    # The system of the sender states it again.
    account.ok("ChangeSubscriberStatus", id=ADA, status="UNSUBSCRIBED")
    history = account.ok("ListSubscriberHistory", id=ADA)["history"]
    assert history[0]["type"] == "OPT_OUT_REPEATED"
    assert mailability(account) == answer


@each(
    ("row", "since"),
    {
        "of the opt-out": (
            {"status": "UNSUBSCRIBED", "unsubscribedAt": "2024-02-01T00:00:00.000Z"},
            "2024-02-01T00:00:00.000Z",
        ),
        "of the confirmation": (
            {"status": "CONFIRMED", "confirmedAt": "2024-02-01T00:00:00.000Z"},
            "2024-02-01T00:00:00.000Z",
        ),
        "of the creation, waiting": ({"status": "UNCONFIRMED"}, "2024-01-01T00:00:00.000Z"),
        "of an unknown confirmation": ({"status": "CONFIRMED"}, None),
        "of an unknown bounce": ({"status": "BOUNCED"}, None),
    },
)
def test_time_of_an_imported_person_is_the_one_that_the_row_states(
    account: Account, row: dict[str, str], since: str | None
) -> None:
    email = f"{row['status']}{len(row)}@example.com"
    import_rows(account, [{"email": email, "createdAt": "2024-01-01T00:00:00.000Z", **row}])

    answer = mailability(account, email)

    assert (answer["reason"], answer.get("since")) == (row["status"], since)
    assert (answer["actor"]["type"], answer["source"]) == ("API_KEY", "IMPORT")
    assert "operationId" not in answer


def test_import_that_set_the_status_is_named_and_states_no_time_of_its_own(
    account: Account,
) -> None:
    create_subscriber(account, isConfirmed=True)
    rows = "email,status\nada@example.com,unsubscribed\nbob@example.com,\n"
    job = import_jobs.run_file(account, rows, onConflict="UPDATE", isConfirmed=True)

    ada, bob = mailability(account), mailability(account, "bob@example.com")

    for answer in (ada, bob):
        assert (answer["source"], answer["operationId"]) == ("IMPORT", job["operationId"])
    operation = account.ok("GetOperation", id=ada["operationId"])["operation"]
    assert operation["importId"] == job["id"]
    assert ada["since"] == full(account)["unsubscribedAt"]
    assert (bob["reason"], bob.get("since")) == ("CONFIRMED", None)


def test_text_that_names_nobody_is_rejected(account: Account) -> None:
    for text in ("ada", "ada@", "ada@example.com,bob@example.com"):
        error = account.fails("ValidationError", "GetSubscriberMailability", id=text)
        assert error.violations == [("id", "INVALID_FORMAT")]
    account.fails("SubscriberNotFound", "GetSubscriberMailability", id=MISSING_ID)
