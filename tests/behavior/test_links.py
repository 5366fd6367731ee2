"""Links of subscribers over every front."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ..conftest import Account
from .helpers import (
    STATUSES,
    confirm_token,
    create_subscriber,
    create_subscriber_in,
    record_events,
    signed_unsubscribe_token,
    stored,
    unsubscribe_token,
)
from .streams import export, import_rows, import_table, send_export
from .test_operations import run

ADA = "ada@example.com"


def status_of(account: Account, subscriber: str = ADA) -> str:
    status: str = account.ok("GetSubscriber", id=subscriber)["subscriber"]["status"]
    return status


def follow(account: Account, token: str, **request: Any) -> dict[str, Any]:
    link: dict[str, Any] = account.ok("FollowLink", token=token, **request)["link"]
    return link


def history(account: Account) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = account.ok("ListSubscriberHistory", id=ADA)["history"]
    return entries


def subscriber_events(account: Account) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = account.ok("ListEvents", eventType="subscriber.*")["events"]
    return events


def test_links_are_urls_of_pages_on_the_public_url(account: Account) -> None:
    create_subscriber(account)

    created = account.ok("CreateSubscriberLinks", id=ADA)

    confirm, unsubscribe = links = created.pop("links")
    # Deprecated fields.
    assert created == {
        "confirmUrl": confirm["url"],
        "confirmExpiresAt": confirm["expiresAt"],
        "unsubscribeUrl": unsubscribe["url"],
    }
    assert confirm.keys() == {"purpose", "url", "expiresAt"}
    assert unsubscribe.keys() == {"purpose", "url"}
    assert [link["purpose"] for link in links] == ["CONFIRM", "UNSUBSCRIBE"]
    assert confirm["url"].startswith(f"http://{account.service.http}/c/")
    assert unsubscribe["url"].startswith(f"http://{account.service.http}/u/")
    # A URL reveals neither the account nor the subscriber.
    assert not any(account.id in link["url"] for link in links)
    for link in links:
        purposes = [link["purpose"]]
        (one,) = account.ok("CreateSubscriberLinks", id=ADA, purposes=purposes)["links"]
        assert one["purpose"] == link["purpose"]


def test_following_a_link_confirms_once(account: Account) -> None:
    ada = create_subscriber(account)
    record_events(account)
    token = confirm_token(account, ADA)

    links = [follow(account, token, ip="2001:db8:0::1") for _ in range(2)]

    assert links[0] == links[1]
    assert links[0]["subscriberId"] == ada["id"]
    assert (links[0]["purpose"], links[0]["status"]) == ("CONFIRM", "CONFIRMED")
    assert links[0]["maskedEmail"] == "ad…@example.com"
    assert status_of(account) == "CONFIRMED"
    assert [event["type"] for event in subscriber_events(account)] == ["subscriber.confirmed"]
    change, _ = history(account)
    assert (change["source"], change["ip"]) == ("SELF_SERVICE", "2001:db8::1")
    assert change["actor"] == {"type": "PERSON"}
    assert change["statusChange"] == {"from": "UNCONFIRMED", "to": "CONFIRMED"}


@pytest.mark.parametrize("before", STATUSES)
def test_every_person_can_unsubscribe(account: Account, before: str) -> None:
    create_subscriber_in(account, before)

    link = follow(account, unsubscribe_token(account, ADA))

    # A complaint already ends all mail.
    after = "COMPLAINED" if before == "COMPLAINED" else "UNSUBSCRIBED"
    assert link["status"] == status_of(account) == after


@pytest.mark.parametrize("before", ["UNCONFIRMED", "CONFIRMED"])
def test_unsubscribing_can_be_undone(account: Account, before: str) -> None:
    create_subscriber_in(account, before)
    record_events(account)
    token = unsubscribe_token(account, ADA)

    link = follow(account, token)
    assert "undoUntil" in link
    assert follow(account, token) == link
    undone = [follow(account, token, undo=True) for _ in range(2)]

    assert undone[0] == undone[1]
    assert "undoUntil" not in undone[0]
    assert undone[0]["status"] == status_of(account) == before
    after = "subscriber.confirmed" if before == "CONFIRMED" else "subscriber.updated"
    types = [event["type"] for event in subscriber_events(account)]
    assert types == ["subscriber.unsubscribed", after]


def state_by_file(account: Account, conflict: str) -> None:
    import_rows(account, [{"email": ADA, "status": "UNSUBSCRIBED"}], onConflict=conflict)


def state_by_call(account: Account) -> None:
    account.ok("ChangeSubscriberStatus", id=ADA, status="UNSUBSCRIBED")


def state_by_suppression(account: Account) -> None:
    account.ok("AddSuppressions", emails=[ADA], reason="UNSUBSCRIBED")
    account.ok("DeleteSuppression", id=ADA)


def state_by_operation(account: Account) -> None:
    run(account, filter=f"email = {ADA}", action={"changeStatus": "UNSUBSCRIBED"})


@pytest.mark.parametrize(
    "state",
    [
        *(partial(state_by_file, conflict=each) for each in ("UPDATE", "SKIP", "FAIL")),
        state_by_call,
        state_by_suppression,
        state_by_operation,
    ],
)
def test_undo_keeps_an_opt_out_that_was_stated_again(account: Account, state: Any) -> None:
    create_subscriber(account, isConfirmed=True)
    token = unsubscribe_token(account, ADA)
    follow(account, token)

    state(account)

    links = [follow(account, token, undo=undo) for undo in (True, False, True)]
    assert [link["status"] for link in links] == ["UNSUBSCRIBED"] * 3
    assert not any("undoUntil" in link for link in links)


@pytest.mark.parametrize("before", ["UNSUBSCRIBED", "BOUNCED", "COMPLAINED"])
def test_nothing_is_undone_if_the_person_was_not_subscribed(account: Account, before: str) -> None:
    create_subscriber_in(account, before)
    token = unsubscribe_token(account, ADA)
    after = follow(account, token)

    assert "undoUntil" not in after
    assert follow(account, token, undo=True) == after


def test_a_complaint_cannot_be_confirmed(account: Account) -> None:
    create_subscriber_in(account, "COMPLAINED")

    token = confirm_token(account, ADA)

    account.fails("InvalidStatusTransition", "FollowLink", token=token)
    assert status_of(account) == "COMPLAINED"


def test_a_suppressed_address_cannot_be_confirmed(account: Account) -> None:
    create_subscriber(account)
    account.ok("AddSuppressions", emails=[ADA])

    account.fails("SubscriberSuppressed", "FollowLink", token=confirm_token(account, ADA))
    assert status_of(account) == "UNSUBSCRIBED"


def change_address(account: Account) -> None:
    account.ok("UpdateSubscriber", id=ADA, email="new@example.com")


def delete(account: Account) -> None:
    account.call("DeleteSubscriber", id=ADA)


def replace(account: Account) -> None:
    delete(account)
    create_subscriber(account)


@pytest.mark.parametrize("change", [change_address, delete, replace])
def test_a_link_that_confirms_ends_with_the_address(account: Account, change: Any) -> None:
    create_subscriber(account)
    token = confirm_token(account, ADA)

    change(account)

    for rpc in ("GetLink", "FollowLink"):
        account.fails("LinkNotFound", rpc, token=token)


def token_of_today(account: Account, ada: dict[str, Any]) -> str:
    return unsubscribe_token(account, ada["id"])


each_token = pytest.mark.parametrize("new_token", [token_of_today, signed_unsubscribe_token])


@each_token
def test_a_link_unsubscribes_after_changes_of_the_address(account: Account, new_token: Any) -> None:
    ada = create_subscriber(account, isConfirmed=True)
    token = new_token(account, ada)
    # Another person can have the address then.
    for email in ("eve@example.com", "bob@example.com"):
        account.ok("UpdateSubscriber", id=ada["id"], email=email)
    account.ok("ChangeSubscriberStatus", id=ada["id"], status="CONFIRMED")
    is_reused = new_token is token_of_today
    other = create_subscriber(account, isConfirmed=True) if is_reused else None

    links = [follow(account, token), follow(account, token, undo=True)]

    assert [link["maskedEmail"] for link in links] == ["ad…@example.com"] * 2
    assert [link["subscriberId"] for link in links] == [ada["id"]] * 2
    assert not any("undoUntil" in link for link in links)
    assert stored(account, ada)["status"] == "UNSUBSCRIBED"
    if other is not None:
        assert stored(account, other)["status"] == "CONFIRMED"
    else:
        account.fails("SubscriberSuppressed", "CreateSubscriber", email=ADA, isConfirmed=True)


@each_token
def test_a_link_unsubscribes_after_a_bounce_and_its_reset(account: Account, new_token: Any) -> None:
    ada = create_subscriber(account, isConfirmed=True)
    token = new_token(account, ada)
    for status in ("BOUNCED", "CONFIRMED", "BOUNCED"):
        account.ok("ChangeSubscriberStatus", id=ADA, status=status)

    assert follow(account, token)["status"] == "UNSUBSCRIBED"

    for status in ("CONFIRMED", "UNCONFIRMED"):
        account.fails("InvalidStatusTransition", "ChangeSubscriberStatus", id=ADA, status=status)
    assert status_of(account) == "UNSUBSCRIBED"


def test_a_link_of_a_deleted_subscriber_unsubscribes_its_successor(account: Account) -> None:
    ada = create_subscriber(account)
    token = unsubscribe_token(account, ADA)
    account.call("DeleteSubscriber", id=ADA)
    import_table(account, f"email,status\n{ADA},CONFIRMED\n")

    link = follow(account, token)

    assert (link["status"], status_of(account)) == ("UNSUBSCRIBED", "UNSUBSCRIBED")
    assert link["subscriberId"] == account.ok("GetSubscriber", id=ADA)["subscriber"]["id"]
    assert link["subscriberId"] != ada["id"]
    assert follow(account, token, undo=True)["status"] == "CONFIRMED"


def test_a_link_of_a_deleted_subscriber_suppresses_its_address(account: Account) -> None:
    create_subscriber(account, isConfirmed=True)
    token = unsubscribe_token(account, ADA)
    account.ok("DeleteSubscriber", id=ADA, erase=True)

    before = account.ok("GetLink", token=token)["link"]
    account.fails("SuppressionNotFound", "GetSuppression", id=ADA)
    links = [follow(account, token), follow(account, token), follow(account, token, undo=True)]

    unsubscribed = {**before, "status": "UNSUBSCRIBED"}
    assert before == {
        "purpose": "UNSUBSCRIBE",
        "subscriberId": "",
        "maskedEmail": "ad…@example.com",
        "status": "UNCONFIRMED",
    }
    assert links == [unsubscribed] * 3
    suppression = account.ok("GetSuppression", id=ADA)["suppression"]
    assert suppression["reason"] == "UNSUBSCRIBED"
    account.fails("SubscriberSuppressed", "CreateSubscriber", email=ADA, isConfirmed=True)


@pytest.mark.parametrize(
    "statuses",
    [
        ["BOUNCED", "UNCONFIRMED"],
        ["UNSUBSCRIBED", "UNCONFIRMED"],
        ["CONFIRMED", "UNSUBSCRIBED", "CONFIRMED", "BOUNCED"],
    ],
)
def test_a_link_that_confirms_ends_with_any_later_change_of_the_status(
    account: Account, statuses: list[str]
) -> None:
    create_subscriber(account)
    token = confirm_token(account, ADA)
    for status in statuses:
        account.ok("ChangeSubscriberStatus", id=ADA, status=status)

    for rpc in ("GetLink", "FollowLink"):
        account.fails("LinkNotFound", rpc, token=token)
    assert status_of(account) == statuses[-1]


def test_a_link_that_confirms_ends_with_an_imported_opt_out(account: Account) -> None:
    create_subscriber(account)
    token = confirm_token(account, ADA)
    opt_out = f"email,status,unsubscribedAt\n{ADA},UNSUBSCRIBED,2024-05-05\n"
    import_table(account, opt_out, onConflict="UPDATE")

    account.fails("LinkNotFound", "FollowLink", token=token)
    assert status_of(account) == "UNSUBSCRIBED"


def test_links_of_another_account_do_not_work(account: Account, other_account: Account) -> None:
    create_subscriber(other_account)
    token = unsubscribe_token(other_account, ADA)

    for rpc in ("GetLink", "FollowLink"):
        account.fails("LinkNotFound", rpc, token=token)
    assert status_of(other_account) == "UNCONFIRMED"


def test_the_event_of_a_creation_contains_links_that_work(account: Account) -> None:
    record_events(account)
    create_subscriber(account)
    create_subscriber(account, "eve@example.com", isConfirmed=True)

    ada, eve = (event["data"]["subscriber"] for event in subscriber_events(account))

    assert "confirmUrl" not in eve
    for subscriber in (ada, eve):
        follow(account, subscriber["unsubscribeUrl"].rpartition("/")[2], undo=True)
    assert follow(account, ada["confirmUrl"].rpartition("/")[2])["status"] == "CONFIRMED"


def test_a_read_key_gets_no_links_from_events(account: Account) -> None:
    record_events(account)
    ada = create_subscriber(account)
    reader = account.with_key(account.new_key("read"))

    personal = account.ok("GetSubscriberPersonalData", id=ADA)
    listed = [*subscriber_events(reader), *personal["events"]]

    assert [event["data"]["subscriber"] for event in listed] == [ada, ada]
    assert "confirmUrl" in subscriber_events(account)[0]["data"]["subscriber"]


def test_rendering_inserts_links_and_returns_headers(account: Account) -> None:
    create_subscriber(account)
    body = '<a href="{{confirmUrl}}">{{ unsubscribeUrl }}</a>'

    rendered = account.ok("RenderMergeTags", subscriberId=ADA, body=body)

    _, confirm_url, rest = rendered["body"].split('"')
    unsubscribe_url = rest[1:].removesuffix("</a>")
    assert follow(account, confirm_url.rpartition("/")[2])["purpose"] == "CONFIRM"
    assert follow(account, unsubscribe_url.rpartition("/")[2])["purpose"] == "UNSUBSCRIBE"
    assert rendered["headers"] == {
        "List-Unsubscribe": f"<{unsubscribe_url}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def test_rendering_links_requires_the_scope_write(account: Account) -> None:
    create_subscriber(account)
    reader = account.with_key(account.new_key("read"))

    reader.fails("Forbidden", "RenderMergeTags", subscriberId=ADA, body="{{confirmUrl}}")
    reader.ok("RenderMergeTags", subscriberId=ADA, body="{{ confirmUrls }}")


def test_a_suppressed_person_cannot_undo(account: Account) -> None:
    create_subscriber(account, isConfirmed=True)
    token = unsubscribe_token(account, ADA)
    follow(account, token)
    account.ok("AddSuppressions", emails=[ADA])

    link = follow(account, token, undo=True)

    assert (link["status"], "undoUntil" in link) == ("UNSUBSCRIBED", False)


def test_undo_keeps_the_time_of_the_confirmation(account: Account) -> None:
    create_subscriber(account, isConfirmed=True)
    token = unsubscribe_token(account, ADA)

    def confirmed_at() -> str:
        subscriber = account.ok("GetSubscriber", id=ADA, view="FULL")["subscriber"]
        return str(subscriber["confirmedAt"])

    before = confirmed_at()
    follow(account, token)
    follow(account, token, undo=True)

    assert confirmed_at() == before


def test_export_includes_links_on_request(account: Account) -> None:
    create_subscriber(account)
    create_subscriber(account, "eve@example.com", isConfirmed=True)

    plain, included = export(account), export(account, include=["LINKS"])

    urls = [(row.pop("confirmUrl", ""), row.pop("unsubscribeUrl")) for row in included]
    assert included == plain
    assert urls[1][0] == ""
    for url in (urls[0][0], urls[0][1], urls[1][1]):
        account.ok("GetLink", token=url.rpartition("/")[2])


def test_export_with_links_requires_the_scope_write(account: Account) -> None:
    streamed = send_export(account.with_key(account.new_key("read")), include=["LINKS"])

    assert streamed.error is not None
    assert streamed.error.code == "Forbidden"
