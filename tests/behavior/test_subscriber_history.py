"""The history of a subscriber, over every front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field, create_subscriber
from .streams import import_rows
from .test_operations import run


def history(account: Account, id_: str = "ada@example.com") -> list[dict[str, Any]]:
    """Returns the history, oldest first, without IDs and times, and checks that they descend."""
    entries = account.ok("ListSubscriberHistory", id=id_)["history"]
    ids = [entry.pop("id") for entry in entries]
    times = [entry.pop("createdAt") for entry in entries]
    assert ids == sorted(ids, reverse=True)
    assert times == sorted(times, reverse=True)
    return entries[::-1]


def by_key(account: Account, **fields: Any) -> dict[str, Any]:
    """Returns an entry of a call with the account's only key."""
    (key,) = account.ok("ListApiKeys")["apiKeys"]
    actor = {"type": "API_KEY", "id": key["id"], "name": key["name"]}
    return {"source": "API", "actor": actor, **fields}


def test_history_has_every_change_with_its_key(account: Account) -> None:
    create_field(account, "City")
    row = create_subscriber(account, firstName="Ada", tags=["early"])
    account.ok("UpdateSubscriber", id=row["id"], firstName="Eve", customFields={"city": "Rome"})
    account.ok("AddSubscriberTags", id=row["id"], tags=["vip", "new"])
    account.ok("RemoveSubscriberTags", id=row["id"], tags=["VIP"])
    account.ok("ChangeSubscriberStatus", id=row["id"], status="CONFIRMED")
    account.ok("UpdateSubscriber", id=row["id"], customFields={"city": None}, tags=["x"])

    assert history(account) == [
        by_key(account, type="CREATED", statusChange={"to": "UNCONFIRMED"}),
        by_key(
            account,
            type="FIELDS_CHANGED",
            before={"firstName": "Ada", "customFields.city": None},
            after={"firstName": "Eve", "customFields.city": "Rome"},
        ),
        by_key(account, type="TAGS_CHANGED", tagsChange={"added": ["new", "vip"], "removed": []}),
        by_key(account, type="TAGS_CHANGED", tagsChange={"added": [], "removed": ["vip"]}),
        by_key(
            account, type="STATUS_CHANGED", statusChange={"from": "UNCONFIRMED", "to": "CONFIRMED"}
        ),
        by_key(
            account,
            type="FIELDS_CHANGED",
            before={"customFields.city": "Rome"},
            after={"customFields.city": None},
        ),
        by_key(
            account, type="TAGS_CHANGED", tagsChange={"added": ["x"], "removed": ["early", "new"]}
        ),
    ]


def test_another_address_is_the_source_of_its_status(account: Account) -> None:
    row = create_subscriber(account, isConfirmed=True)

    account.ok("UpdateSubscriber", id=row["id"], email="eve@example.com")

    _, fields, status = history(account, row["id"])
    assert (fields["before"], fields["after"]) == (
        {"email": "ada@example.com"},
        {"email": "eve@example.com"},
    )
    assert status == by_key(
        account,
        type="STATUS_CHANGED",
        source="EMAIL_CHANGED",
        statusChange={"from": "CONFIRMED", "to": "UNCONFIRMED"},
    )


def change_status(account: Account, status: str, consent_source: str) -> None:
    request = {"status": status, "consentSource": consent_source}
    account.ok("ChangeSubscriberStatus", id="ada@example.com", **request)


def change_status_of_many(account: Account, status: str, consent_source: str) -> None:
    action = {"changeStatus": status, "consentSource": consent_source}
    operation = run(account, filter="email:*", action=action)
    assert operation["action"] == {**action, "consentSource": consent_source.strip()}


@pytest.mark.parametrize("change_status", [change_status, change_status_of_many])
def test_change_of_the_status_states_how_the_person_asked(
    account: Account, change_status: Callable[[Account, str, str], None]
) -> None:
    consent = {"source": "home page", "ip": "192.0.2.7", "at": "2024-05-01T08:00:00.000Z"}
    import_rows(account, [{"email": "ada@example.com", "isConfirmed": True, "consent": consent}])

    def change(status: str, consent_source: str) -> Any:
        change_status(account, status, consent_source)
        return account.ok("GetSubscriber", id="ada@example.com", view="FULL")["subscriber"]

    assert change("UNSUBSCRIBED", "Letter")["consent"] == consent
    assert change("UNSUBSCRIBED", "ignored")["consent"] == consent
    confirmed = change("CONFIRMED", " Phone call ")

    assert confirmed["consent"] == {"source": "Phone call", "at": confirmed["statusChangedAt"]}
    created, *entries = history(account)
    opt_out, opt_in = (entry for entry in entries if entry["type"] == "STATUS_CHANGED")
    assert created["type"] == "CREATED"
    assert [opt_out["consentSource"], opt_in["consentSource"]] == ["Letter", "Phone call"]
    data = account.ok("GetSubscriberPersonalData", id="ada@example.com")
    assert data["subscriber"] == confirmed
    assert data["history"] == account.ok("ListSubscriberHistory", id="ada@example.com")["history"]


def test_lifted_suppression_states_the_reason(account: Account) -> None:
    ada = create_subscriber(account)
    reasons = [({"reason": "Asked by ada@example.com"}, "Asked by [address]"), ({}, None)]
    for request, recorded in reasons:
        account.ok("AddSuppressions", emails=["ada@example.com"], reason="COMPLAINED")
        account.ok("DeleteSuppression", id="ada@example.com", **request)

        last = history(account, ada["id"])[-1]
        assert last == by_key(account, type="SUPPRESSION_LIFTED", **request)
        entry = account.ok("ListAuditEntries", action="suppression.deleted", limit=1)["entries"][0]
        assert entry["before"]["reason"] == "COMPLAINED"
        assert entry.get("after", {}).get("liftedBecause") == recorded


def test_import_is_a_source(account: Account) -> None:
    for name in ("Ada", "Eve"):
        rows = [{"email": "ada@example.com", "firstName": name, "isConfirmed": True}]
        import_rows(account, rows, onConflict="UPDATE")

    created, changed = history(account)
    assert created == by_key(
        account, type="CREATED", source="IMPORT", statusChange={"to": "CONFIRMED"}
    )
    assert (changed["source"], changed["after"]) == ("IMPORT", {"firstName": "Eve"})


def test_revoked_key_keeps_its_name_in_the_history(account: Account) -> None:
    key = account.ok("CreateApiKey", name="Nightly sync", scope="write")
    create_subscriber(account.with_key(key["secret"]))
    before = history(account)
    account.ok("RevokeApiKey", id=key["apiKey"]["id"])

    assert history(account) == before
    actor = {"type": "API_KEY", "id": key["apiKey"]["id"], "name": "Nightly sync"}
    assert before[0]["actor"] == actor


def test_change_that_changes_nothing_has_no_entry(account: Account) -> None:
    row = create_subscriber(account, firstName="Ada", tags=["vip"])

    account.ok("UpdateSubscriber", id=row["id"], firstName="Ada", tags=["VIP"])
    account.ok("ChangeSubscriberStatus", id=row["id"], status="UNCONFIRMED")
    account.ok("AddSubscriberTags", id=row["id"], tags=["vip"])
    account.fails(
        "ValidationError", "UpdateSubscriber", id=row["id"], email="eve@example.com", firstName="\0"
    )

    assert [entry["type"] for entry in history(account)] == ["CREATED"]


def test_page_tokens_traverse_the_history(account: Account) -> None:
    row = create_subscriber(account)
    for number in range(7):
        account.ok("UpdateSubscriber", id=row["id"], firstName=f"{number}")
    expected = [f"{number}" for number in reversed(range(7))] + ["created"]

    def name(entry: dict[str, Any]) -> str:
        return str(entry.get("after", {}).get("firstName", "created"))

    for limit in (1, 3, 4, 7, 8, 100):
        pages = [account.call("ListSubscriberHistory", id=row["id"], limit=limit)]
        while pages[-1].next:
            token = pages[-1].next
            pages.append(
                account.call("ListSubscriberHistory", id=row["id"], limit=limit, pageToken=token)
            )
        assert [name(entry) for page in pages for entry in page.body["history"]] == expected
        numbered = [
            account.ok("ListSubscriberHistory", id=row["id"], limit=limit, page=number + 1)
            for number in range(len(pages) + 1)
        ]
        assert [name(entry) for page in numbered for entry in page["history"]] == expected
        assert {page["total"] for page in numbered} == {8}


def test_history_is_deleted_with_its_subscriber(account: Account) -> None:
    row = create_subscriber(account)
    account.ok("UpdateSubscriber", id=row["id"], firstName="Eve")
    account.ok("DeleteSubscriber", id=row["id"])

    account.fails("SubscriberNotFound", "ListSubscriberHistory", id=row["id"])
    create_subscriber(account)
    assert [entry["type"] for entry in history(account)] == ["CREATED"]
