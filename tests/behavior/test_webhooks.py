"""Webhooks, through every front."""

from __future__ import annotations

import http.client
import json
import re
import threading
from typing import Any

import grpc
import pytest
from roster.v1 import webhooks_pb2 as pb
from standardwebhooks import WebhookVerificationError

from ..conftest import Account
from ..fronts import GrpcFront, HttpFront, Response
from ..parts import free_port, wait_until
from ..webhooks.receiver import Receiver, Reply
from .helpers import MISSING_ID, call_concurrently, error_of, over_http, send, statuses

URL = "https://example.com/hooks/roster"
SECRET = re.compile(r"whsec_[0-9A-Za-z+/]{43}=")
KEYS = {"id", "url", "description", "eventTypes", "enabled", "createdAt", "updatedAt"}


def create(account: Account, url: str = URL, **given: Any) -> dict[str, Any]:
    """Creates a webhook and returns it."""
    made: dict[str, Any] = account.ok("CreateWebhook", url=url, **given)["webhook"]
    return made


def stored(account: Account, made: dict[str, Any]) -> dict[str, Any]:
    """Returns a webhook as it is now."""
    found: dict[str, Any] = account.ok("GetWebhook", id=made["id"])["webhook"]
    return found


def test_create_webhook_returns_exactly_the_documented_keys_and_a_secret(account: Account) -> None:
    answer = account.call(
        "CreateWebhook", url=URL, description="CRM", eventTypes=["subscriber.*", "tag.deleted"]
    )

    assert answer.status == 201
    assert set(answer.body) == {"webhook", "secret"}
    webhook = answer.body["webhook"]
    assert set(webhook) == KEYS
    assert (webhook["url"], webhook["description"]) == (URL, "CRM")
    assert (webhook["eventTypes"], webhook["enabled"]) == (["subscriber.*", "tag.deleted"], True)
    assert webhook["createdAt"] == webhook["updatedAt"]
    assert len(webhook["id"]) == 26
    assert SECRET.fullmatch(answer.body["secret"])


def test_webhook_is_enabled_and_receives_all_events_by_default(account: Account) -> None:
    plain, silent = create(account), create(account, enabled=False)

    assert (plain["description"], plain["eventTypes"], plain["enabled"]) == ("", [], True)
    assert silent["enabled"] is False
    assert stored(account, silent) == silent


def test_url_is_trimmed_and_kept_in_its_normal_form(account: Account) -> None:
    made = create(account, " HTTPS://Example.COM:443/a/../Hooks?x=1 ")

    assert made["url"] == "https://example.com/Hooks?x=1"


def test_types_that_are_named_twice_count_once(account: Account) -> None:
    made = create(account, eventTypes=["tag.*", "tag.deleted", "tag.*"])

    assert made["eventTypes"] == ["tag.*", "tag.deleted"]


FAULTS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "no url": ({"url": ""}, [("url", "REQUIRED")]),
    "blank url": ({"url": "  "}, [("url", "REQUIRED")]),
    "long url": ({"url": f"{URL}/{'x' * 2048}"}, [("url", "TOO_LONG")]),
    "no scheme": ({"url": "example.com"}, [("url", "INVALID_VALUE")]),
    "another scheme": ({"url": "ftp://example.com"}, [("url", "INVALID_VALUE")]),
    "a user": ({"url": "https://a:b@example.com"}, [("url", "INVALID_VALUE")]),
    "a fragment": ({"url": f"{URL}#x"}, [("url", "INVALID_VALUE")]),
    "an address that is not public": ({"url": "https://10.0.0.1/"}, [("url", "INVALID_VALUE")]),
    "metadata of a cloud": ({"url": "https://169.254.169.254/"}, [("url", "INVALID_VALUE")]),
    "long description": ({"description": "d" * 501}, [("description", "TOO_LONG")]),
    "types that are none": (
        {"eventTypes": ["tag.*", "tags.*", "subscriber.created", "*"]},
        [("eventTypes[1]", "INVALID_VALUE"), ("eventTypes[3]", "INVALID_VALUE")],
    ),
    "too many types": ({"eventTypes": ["tag.*"] * 51}, [("eventTypes", "TOO_MANY")]),
}


@pytest.mark.parametrize(("given", "faults"), FAULTS.values(), ids=FAULTS)
def test_create_webhook_refuses_a_bad_body(
    account: Account, given: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    refused = account.fails("ValidationError", "CreateWebhook", **{"url": URL, **given})

    assert (refused.status, refused.faults) == (400, faults)
    assert account.ok("ListWebhooks")["total"] == 0


@pytest.mark.parametrize(("given", "faults"), FAULTS.values(), ids=FAULTS)
def test_update_webhook_refuses_what_creation_refuses(
    account: Account, given: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    made = create(account)

    refused = account.fails("ValidationError", "UpdateWebhook", id=made["id"], **given)

    assert (refused.status, refused.faults) == (400, faults)
    assert stored(account, made) == made


def test_account_has_20_webhooks_at_most(account: Account) -> None:
    made = [create(account) for _ in range(20)]

    refused = account.fails("WebhookLimitReached", "CreateWebhook", url=URL)

    assert refused.status == 409
    account.ok("DeleteWebhook", id=made[0]["id"])
    create(account)


def test_twentieth_webhook_is_there_once_however_many_ask_for_it(account: Account) -> None:
    for _ in range(19):
        create(account)

    answers = call_concurrently(*[lambda: account.call("CreateWebhook", url=URL)] * 6)

    assert statuses(answers) == [201, 409, 409, 409, 409, 409]
    assert account.ok("ListWebhooks")["total"] == 20


def test_list_webhooks_pages_oldest_first(account: Account) -> None:
    made = [create(account, description=name) for name in ("c", "a", "b")]

    first, second = account.ok("ListWebhooks", limit=2), account.ok("ListWebhooks", limit=2, page=2)

    assert first["webhooks"] + second["webhooks"] == made
    assert [(body["total"], body["page"], body["limit"]) for body in (first, second)] == [
        (3, 1, 2),
        (3, 2, 2),
    ]


def test_update_webhook_changes_only_what_is_given(account: Account) -> None:
    made = create(account, description="CRM", eventTypes=["tag.*"])

    changed = account.ok("UpdateWebhook", id=made["id"], description="")["webhook"]

    assert changed == {**made, "description": "", "updatedAt": changed["updatedAt"]}
    assert changed["updatedAt"] >= made["updatedAt"]
    every = {"url": "https://example.org/", "eventTypes": [], "enabled": False}
    changed = account.ok("UpdateWebhook", id=made["id"], **every)["webhook"]
    assert changed == {**made, **every, "description": "", "updatedAt": changed["updatedAt"]}
    assert stored(account, made) == changed


def test_update_webhook_with_nothing_new_changes_nothing(account: Account) -> None:
    made = create(account, description="CRM", eventTypes=["tag.*"])

    assert account.ok("UpdateWebhook", id=made["id"])["webhook"] == made
    same = {key: made[key] for key in ("url", "description", "eventTypes", "enabled")}
    assert account.ok("UpdateWebhook", id=made["id"], **same)["webhook"] == made


@over_http
def test_fetched_webhook_can_be_sent_back(account: Account) -> None:
    made = create(account, description="CRM", eventTypes=["tag.*"])
    shown = {**stored(account, made), "disabledReason": "GONE", "failingSince": made["createdAt"]}

    answer = send(account, "PUT", f"/api/webhooks/{made['id']}", shown)

    assert (answer.status, answer.body) == (200, {"webhook": made})


def test_deleted_webhook_is_gone(account: Account) -> None:
    made = create(account)

    answer = account.call("DeleteWebhook", id=made["id"])

    assert (answer.status, answer.body) == (204, None)
    assert account.ok("ListWebhooks")["webhooks"] == []


@pytest.mark.parametrize("unknown", [MISSING_ID, "no id"])
@pytest.mark.parametrize(
    "rpc", ["GetWebhook", "UpdateWebhook", "DeleteWebhook", "RotateWebhookSecret", "TestWebhook"]
)
def test_missing_webhook_is_not_found(account: Account, rpc: str, unknown: str) -> None:
    assert account.fails("WebhookNotFound", rpc, id=unknown).status == 404


def test_secret_is_never_shown_again(account: Account) -> None:
    made = create(account)

    changed = account.ok("UpdateWebhook", id=made["id"], description="x")
    shown = [changed, account.ok("GetWebhook", id=made["id"]), account.ok("ListWebhooks")]

    assert "whsec_" not in json.dumps(shown)


def test_read_key_sees_webhooks_and_changes_none(account: Account) -> None:
    made = create(account)
    reader = account.with_key(account.new_key("read"))

    assert reader.ok("ListWebhooks")["webhooks"] == [made]
    reader.fails("Forbidden", "CreateWebhook", url=URL)
    for rpc in ("UpdateWebhook", "DeleteWebhook", "RotateWebhookSecret", "TestWebhook"):
        reader.fails("Forbidden", rpc, id=made["id"])


def test_test_sends_a_signed_event_and_tells_what_became_of_it(
    account: Account, receiver: Receiver
) -> None:
    made = account.ok("CreateWebhook", url=receiver.url)
    webhook = made["webhook"]

    answer = account.call("TestWebhook", id=webhook["id"])

    assert answer.status == 200
    (request,) = receiver.received
    event = request.verified(made["secret"])
    assert (event["type"], event["data"]) == ("webhook.test", {"webhook": webhook})
    assert "previous" not in event
    assert request.headers["webhook-id"] == event["id"]
    assert account.ok("ListEvents")["events"] == [event]
    delivery, attempt = answer.body["delivery"], answer.body["attempt"]
    assert set(delivery) == {
        *("id", "webhookId", "eventId", "eventType", "status", "attempts", "createdAt"),
        "finishedAt",
    }
    assert (delivery["webhookId"], delivery["eventId"]) == (webhook["id"], event["id"])
    assert (delivery["eventType"], delivery["status"]) == ("webhook.test", "SUCCEEDED")
    assert delivery["attempts"] == attempt["number"] == 1
    assert (attempt["httpStatus"], attempt["responseBody"]) == (200, "ok")
    assert "error" not in attempt
    shown = account.ok("GetWebhookDelivery", id=delivery["id"])
    assert shown == {"delivery": delivery, "attempts": [attempt]}


def test_test_that_fails_is_not_tried_again_and_is_not_held_against_the_webhook(
    account: Account, receiver: Receiver
) -> None:
    made = create(account, receiver.url)
    receiver.replies = [Reply(410, b"gone \xff\x00")]

    body = account.ok("TestWebhook", id=made["id"])

    assert (body["delivery"]["status"], body["delivery"]["attempts"]) == ("FAILED", 1)
    assert "nextAttemptAt" not in body["delivery"]
    assert (body["attempt"]["httpStatus"], body["attempt"]["error"]) == (410, "answered 410")
    assert body["attempt"]["responseBody"] == "gone \\xff\\x00"
    assert stored(account, made) == made
    account.ok("CreateTag", name="vip")
    # What happens later comes later: there was no second attempt in between.
    assert [request.event["type"] for request in receiver.wait_for(2)] == [
        "webhook.test",
        "tag.created",
    ]


def test_test_delivery_reaches_a_disabled_webhook_with_other_event_types(
    account: Account, receiver: Receiver
) -> None:
    made = create(account, receiver.url, enabled=False, eventTypes=["tag.*"])

    assert account.ok("TestWebhook", id=made["id"])["delivery"]["status"] == "SUCCEEDED"
    assert len(receiver.received) == 1


def test_test_delivery_to_an_unreachable_url_reports_failure(account: Account) -> None:
    made = create(account, f"http://127.0.0.1:{free_port()}/")

    attempt = account.ok("TestWebhook", id=made["id"])["attempt"]

    assert attempt["error"] == "connection refused"
    assert attempt["responseBody"] == ""
    assert "httpStatus" not in attempt


def test_webhook_has_four_tests_on_their_way_at_most(account: Account, receiver: Receiver) -> None:
    made, free = create(account, receiver.url), threading.Event()
    receiver.replies = [Reply(before=free.wait)] * 4

    def test() -> Response:
        answer = account.call("TestWebhook", id=made["id"])
        free.set()
        return answer

    answers = call_concurrently(*[test] * 5)

    assert statuses(answers) == [200, 200, 200, 200, 429]
    assert len(receiver.received) == account.ok("ListEvents")["total"] == 4


def test_test_delivery_reaches_no_other_webhook(account: Account, receiver: Receiver) -> None:
    made, other = create(account, receiver.url), create(account, f"{receiver.url}/other")

    account.ok("TestWebhook", id=made["id"])
    account.ok("CreateTag", name="vip")

    assert sorted((r.path, r.event["type"]) for r in receiver.wait_for(3)) == [
        ("/hook", "tag.created"),
        ("/hook", "webhook.test"),
        ("/hook/other", "tag.created"),
    ]
    assert account.ok("ListWebhookDeliveries", webhookId=other["id"])["total"] == 1


def test_webhook_that_is_deleted_while_it_is_tested_is_not_found(
    account: Account, receiver: Receiver
) -> None:
    made = create(account, receiver.url)
    receiver.replies = [Reply(before=lambda: account.ok("DeleteWebhook", id=made["id"]))]

    account.fails("WebhookNotFound", "TestWebhook", id=made["id"])


def test_rotated_secret_signs_beside_the_one_before(account: Account, receiver: Receiver) -> None:
    made = account.ok("CreateWebhook", url=receiver.url)
    own_id, secrets = made["webhook"]["id"], [made["secret"]]

    for _ in range(2):
        answer = account.call("RotateWebhookSecret", id=own_id)
        assert answer.status == 200
        assert set(answer.body) == {"webhook", "secret"}
        assert SECRET.fullmatch(answer.body["secret"])
        secrets.append(answer.body["secret"])
        account.ok("TestWebhook", id=own_id)

    first, second = receiver.received
    for request, known, unknown in (
        (first, secrets[:2], secrets[2]),
        (second, secrets[1:], secrets[0]),
    ):
        assert [request.verified(secret) for secret in known] == [request.event] * 2
        with pytest.raises(WebhookVerificationError):
            request.verified(unknown)
    assert len(set(secrets)) == 3


def test_rotation_shows_as_a_change(account: Account) -> None:
    made = create(account)

    rotated = account.ok("RotateWebhookSecret", id=made["id"])["webhook"]

    assert rotated == {**made, "updatedAt": rotated["updatedAt"]}
    assert stored(account, made) == rotated


def test_new_webhook_receives_only_later_events(account: Account, receiver: Receiver) -> None:
    create(account, enabled=False)
    account.ok("CreateTag", name="before")
    create(account, receiver.url)

    account.ok("CreateTag", name="after")

    (request,) = receiver.wait_for(1)
    assert request.event["data"]["tag"]["name"] == "after"


def test_what_happens_while_a_webhook_is_disabled_does_not_reach_it(
    account: Account, receiver: Receiver
) -> None:
    made = create(account, receiver.url)
    for enabled, name in ((True, "first"), (False, "second"), (True, "third")):
        account.ok("UpdateWebhook", id=made["id"], enabled=enabled)
        account.ok("CreateTag", name=name)

    names = [request.event["data"]["tag"]["name"] for request in receiver.wait_for(2)]

    assert sorted(names) == ["first", "third"]


def test_types_hold_for_what_happens_from_then_on(account: Account, receiver: Receiver) -> None:
    made = create(account, receiver.url)
    tag = account.ok("CreateTag", name="vip")["tag"]
    account.ok("UpdateWebhook", id=made["id"], eventTypes=["tag.deleted"])

    account.ok("UpdateTag", id=tag["id"], name="gold")
    account.ok("DeleteTag", id=tag["id"])

    types = [request.event["type"] for request in receiver.wait_for(2)]
    assert sorted(types) == ["tag.created", "tag.deleted"]


@over_http
def test_repeated_creation_makes_one_webhook_with_one_secret(account: Account) -> None:
    key = {"Idempotency-Key": "a"}

    first, second = [
        send(account, "POST", "/api/webhooks", {"url": URL}, headers=key) for _ in range(2)
    ]

    assert (first.status, first.body) == (second.status, second.body)
    assert account.ok("ListWebhooks")["webhooks"] == [first.body["webhook"]]


@over_http
def test_repeated_test_pings_once(account: Account, receiver: Receiver) -> None:
    made = create(account, receiver.url)
    assert isinstance(account.front, HttpFront)

    def ping(own_id: str) -> tuple[int, dict[str, str], bytes]:
        assert isinstance(account.front, HttpFront)
        path, headers = f"/api/webhooks/{own_id}/test", {"Idempotency-Key": "a"}
        return account.front.exchange("POST", path, account.key, headers=headers)

    first, second, other = ping(made["id"]), ping(made["id"]), ping(MISSING_ID)

    assert (first[0], first[2]) == (second[0], second[2])
    assert "idempotency-replayed" not in first[1]
    assert second[1]["idempotency-replayed"] == "true"
    assert other[0] == 422
    assert len(receiver.received) == 1
    assert account.ok("ListEvents")["total"] == 1


@over_http
def test_test_that_is_still_running_is_not_begun_again(
    account: Account, receiver: Receiver
) -> None:
    made = create(account, receiver.url)
    headers, answers = {"Idempotency-Key": "a"}, []

    def again() -> None:
        path = f"/api/webhooks/{made['id']}/test"
        answers.append(send(account, "POST", path, headers=headers))

    receiver.replies = [Reply(before=again)]
    again()

    assert statuses(answers) == [200, 409]
    assert len(receiver.received) == 1


def test_fifth_running_test_of_a_webhook_is_rate_limited(
    account: Account, receiver: Receiver
) -> None:
    webhook = create(account, receiver.url)
    responses: list[Response] = []

    def run_test() -> None:
        responses.append(account.call("TestWebhook", id=webhook["id"]))

    # Each test starts the next one before it gets its response.
    receiver.replies = [Reply(before=run_test)] * 4
    run_test()

    fifth, *others = responses
    assert (fifth.status, fifth.code) == (429, "RateLimited")
    assert statuses(others) == [200] * 4
    assert len(receiver.received) == 4


def noted(account: Account, made: dict[str, Any]) -> str:
    """Waits until the one delivery to a webhook has ended, and returns its status."""

    def delivery() -> dict[str, Any]:
        found = account.ok("ListWebhookDeliveries", webhookId=made["id"])["deliveries"]
        return found[0] if found else {}

    wait_until(lambda: "finishedAt" in delivery(), "the test is not noted")
    return str(delivery()["status"])


def test_test_goes_on_when_its_deadline_passes(grpc_account: Account, receiver: Receiver) -> None:
    made, gone = create(grpc_account, receiver.url), threading.Event()
    receiver.replies = [Reply(before=gone.wait)]
    assert isinstance(grpc_account.front, GrpcFront)
    call = grpc_account.front.stub("TestWebhook")
    request = pb.TestWebhookRequest(id=made["id"])

    with pytest.raises(grpc.RpcError) as refused:
        call(request, metadata=[("authorization", f"Bearer {grpc_account.key}")], timeout=0.3)
    gone.set()

    assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert noted(grpc_account, made) == "SUCCEEDED"
    assert len(receiver.received) == 1


@over_http
def test_test_goes_on_when_its_caller_goes_away(account: Account, receiver: Receiver) -> None:
    made, gone = create(account, receiver.url), threading.Event()
    receiver.replies = [Reply(before=gone.wait)]
    assert isinstance(account.front, HttpFront)
    connection = http.client.HTTPConnection(account.front.address)
    headers = {"Authorization": f"Bearer {account.key}", "Idempotency-Key": "a"}
    path = f"/api/webhooks/{made['id']}/test"

    connection.request("POST", path, headers=headers)
    receiver.wait_for(1)
    connection.close()
    gone.set()

    assert noted(account, made) == "SUCCEEDED"
    again = send(account, "POST", path, headers={"Idempotency-Key": "a"})
    assert (again.status, again.body["delivery"]["status"]) == (200, "SUCCEEDED")
    assert len(receiver.received) == 1


def test_missing_and_foreign_webhooks_return_the_same_error(
    account: Account, other_account: Account
) -> None:
    theirs = create(other_account)

    answers = [account.call("TestWebhook", id=own_id) for own_id in (theirs["id"], MISSING_ID)]

    assert error_of(answers[0]) == error_of(answers[1])
