"""One line a call, where it came in; with nothing of a key, a secret or a subscriber."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ..behaviour.helpers import field, subscriber, suppress
from ..conftest import Account, new_account
from ..fronts import METHODS, UNARY, GrpcFront, HttpFront
from ..parts import wait_until
from ..processes import start
from ..webhooks.receiver import listening
from .helpers import lines_of

_ADDRESS = re.compile(r"[^\s\"@]+@[^\s\"@]+")
_KEY = re.compile(r"rk_[0-9A-Za-z]{46}")


@pytest.mark.parametrize("front_and_service", ["http"], indirect=True)
def test_a_request_in_process_is_one_line_with_what_both_sides_know(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    body = b'{"name": "vip"}'
    _, headers, answer = account.front.exchange("POST", "/api/tags", account.key, body=body)

    (line,) = lines_of(account.service.log, headers["x-request-id"])

    assert line.pop("time") > "2026"
    assert line.pop("ms") > 0
    assert line == {
        "level": "info",
        "message": "call",
        "method": "POST",
        "status": 201,
        "rpc": "TagService.CreateTag",
        "code": "OK",
        "received": len(body),
        "sent": len(answer),
        "account": account.id,
        "requestId": headers["x-request-id"],
    }


@pytest.mark.parametrize("front_and_service", ["http-over-grpc"], indirect=True)
def test_a_request_over_a_socket_is_a_line_on_either_side_of_it(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    _, headers, _ = account.front.exchange("GET", "/api/tags", account.key)
    log, request_id = account.service.log, headers["x-request-id"]

    wait_until(lambda: len(lines_of(log, request_id)) == 2, "two lines")

    server, gateway = sorted(lines_of(log, request_id), key=lambda line: "status" in line)
    assert (server["rpc"], server["code"], server["account"]) == (
        "TagService.ListTags",
        "OK",
        account.id,
    )
    assert (gateway["rpc"], gateway["status"]) == ("TagService.ListTags", 200)
    assert server["sent"] > 0


@pytest.mark.parametrize("front_and_service", ["http"], indirect=True)
@pytest.mark.parametrize(
    ("method", "path", "key", "body", "expected"),
    [
        ("POST", "/api/tags", True, b"{", (400, "TagService.CreateTag", "INVALID_ARGUMENT")),
        ("GET", "/api/tags", False, None, (401, "TagService.ListTags", "UNAUTHENTICATED")),
        ("GET", "/nothing", False, None, (404, None, None)),
        ("DELETE", "/api/tags", True, None, (405, None, None)),
        ("PROPFIND", "/api/tags", True, None, (405, None, None)),
        ("GET", "/openapi.json", False, None, (200, None, None)),
    ],
)
def test_what_was_refused_has_a_line_as_well(
    account: Account,
    method: str,
    path: str,
    key: bool,
    body: bytes | None,
    expected: tuple[Any, ...],
) -> None:
    assert isinstance(account.front, HttpFront)
    sent = account.key if key else None
    _, headers, _ = account.front.exchange(method, path, sent, body=body)

    (line,) = lines_of(account.service.log, headers["x-request-id"])

    assert (line["status"], line.get("rpc"), line.get("code")) == expected
    assert line["method"] == (method if method != "PROPFIND" else "OTHER")


def test_no_line_of_a_run_of_all_operations_has_a_key_a_secret_or_an_address(
    tmp_path: Path,
) -> None:
    service = start(
        tmp_path,
        ROSTER_LOG_LEVEL="debug",
        ROSTER_WEBHOOK_ALLOW_NETS="127.0.0.0/8",
        ROSTER_WEBHOOK_ALLOW_HTTP="yes",
    )
    grpc = GrpcFront(service.grpc)
    secrets = {service.first_key}
    for front in (HttpFront("http", service.http), grpc):
        account = new_account(service, front)
        secrets |= {account.key, *everything(account)}
    grpc.channel.close()
    assert service.stop() == 0

    text = service.log.read_text()
    called = {json.loads(line).get("rpc", "").rpartition(".")[2] for line in text.splitlines()}

    assert UNARY.keys() - called == set()
    streams = {"ExportSubscribers", "ImportSubscribers", "TailWebhookDeliveries"}
    assert METHODS.keys() - UNARY.keys() <= called | streams
    assert not [secret for secret in secrets if secret in text]
    assert not _KEY.search(text)
    assert not _ADDRESS.search(text)
    assert "Lovelace" not in text


def everything(account: Account) -> set[str]:
    """Calls every unary operation of an account, well and badly, and returns what is secret."""
    made = account.ok("CreateApiKey", name="another", scope="read")
    rotated = account.ok("RotateApiKey", id=made["apiKey"]["id"])
    account.ok("ListApiKeys")
    account.ok("RevokeApiKey", id=rotated["apiKey"]["id"])
    label = field(account, "Favourite colour")
    ada = subscriber(account, "ada@example.com", lastName="Lovelace", tags=["vip"])
    account.ok("GetSubscriber", id="ada@example.com")
    account.ok("ListSubscribers", q="ada@", email="ada@example.com")
    account.ok("BulkCreateSubscribers", subscribers=[{"email": "bob@example.com"}, {"email": "x@"}])
    account.ok("UpdateSubscriber", id=ada["id"], email="ada.l@example.com")
    account.ok("AddSubscriberTags", id=ada["id"], tags=["early"])
    account.ok("RemoveSubscriberTags", id=ada["id"], tags=["early"])
    account.ok("RenderMergeTags", subject="{{email}}", body="{{lastName}}", subscriberId=ada["id"])
    suppress(account, "eve@example.com")
    account.fails("SubscriberSuppressed", "CreateSubscriber", email="eve@example.com")
    account.ok("GetSuppression", email="eve@example.com")
    account.ok("ListSuppressions")
    account.ok("DeleteSuppression", email="eve@example.com")
    account.fails("ValidationError", "CreateSubscriber", email="nobody@@example.com")
    tag = account.ok("CreateTag", name="grace@example.com")["tag"]
    account.ok("GetTag", id=tag["id"])
    account.ok("ListTags")
    account.ok("UpdateTag", id=tag["id"], name="Lovelace")
    account.ok("DeleteTag", id=tag["id"])
    account.ok("GetCustomField", id=label["id"])
    account.ok("ListCustomFields")
    account.ok("UpdateCustomField", id=label["id"], label="Colour")
    account.ok("DeleteCustomField", id=label["id"])
    account.ok("DeleteSubscriber", id=ada["id"])
    account.with_key(made["secret"]).fails("Unauthorized", "ListTags")
    if isinstance(account.front, HttpFront):
        account.front.exchange("GET", f"/nobody@example.com?key={account.key}", account.key)
        rows = b'{"email": "mary@example.com"}\n{"email": 1}\n'
        account.front.exchange("POST", "/api/subscribers/import", account.key, body=rows)
        account.front.exchange("GET", "/api/subscribers/export?q=mary@", account.key)
    return {made["secret"], rotated["secret"], *hear_of_events(account)}


def hear_of_events(account: Account) -> set[str]:
    """Calls every operation of webhooks, and returns what is secret: what a URL holds as well."""
    with listening() as receiver:
        url = f"{receiver.url}?token=of-the-receiver"
        made = account.ok("CreateWebhook", url=url, eventTypes=["subscriber.*"])
        own = made["webhook"]["id"]
        rotated = account.ok("RotateWebhookSecret", id=own)
        account.ok("GetWebhook", id=own)
        account.ok("ListWebhooks")
        account.ok("UpdateWebhook", id=own, description="of mary@example.com")
        account.ok("TestWebhook", id=own)
        subscriber(account, "mary@example.com", lastName="Lovelace")
        receiver.until(2)
        found = account.ok("ListWebhookDeliveries", webhookId=own)["deliveries"][0]
        account.ok("GetWebhookDelivery", id=found["id"])
        account.ok("RetryWebhookDelivery", id=found["id"])
        account.ok("ReplayWebhook", id=own, since="2026-01-01T00:00:00Z")
        account.ok("ListEvents")
        account.ok("DeleteWebhook", id=own)
    account.fails("ValidationError", "CreateWebhook", url="https://mary@example.com/")
    return {made["secret"], rotated["secret"], "of-the-receiver"}
