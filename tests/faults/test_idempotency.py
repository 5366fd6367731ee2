"""Retries with an idempotency key: one effect and one response."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import grpc
import pytest
from google.api import annotations_pb2
from google.protobuf import json_format

from roster.v1 import http_pb2

from ..behavior.deliveries import create_webhook, deliveries, running_operations
from ..behavior.helpers import MISSING_ID, call_concurrently, unsubscribe_token
from ..behavior.import_jobs import run_file, upload
from ..components import wait_until
from ..conftest import Account
from ..fronts import (
    METHODS,
    UNARY,
    GrpcFront,
    HttpFront,
    Response,
    binding,
    error_response,
    to_message,
)

RawResponse = tuple[int, dict[str, str], bytes]


def post(account: Account, path: str, key: str, body: Any, method: str = "POST") -> RawResponse:
    """Posts with an idempotency key and returns status, headers and the bytes of the response."""
    assert isinstance(account.front, HttpFront)
    return account.front.exchange(
        method,
        path,
        account.key,
        body=json.dumps(body).encode(),
        headers={"Idempotency-Key": key},
    )


def code_of(response: RawResponse) -> tuple[int, str]:
    """Returns status and code of a failed request."""
    return response[0], json.loads(response[2])["error"]["code"]


ADA = {"email": "ada@example.com", "tags": ["vip"], "customFields": {}}
# No receiver listens at this URL. Only test deliveries are sent to it.
DISABLED_WEBHOOK = {"url": "http://127.0.0.1:9/", "enabled": False}
SINCE = {"since": "2020-01-01T00:00:00Z"}


def new_subscriber_id(account: Account) -> str:
    response = account.ok("CreateSubscriber", email="first@example.com", tags=["old", "new"])
    return str(response["subscriber"]["id"])


def new_key_id(account: Account) -> str:
    return str(account.ok("CreateApiKey", name="first", scope="read")["apiKey"]["id"])


def new_operation_id(account: Account) -> str:
    return str(account.ok("BatchChangeSubscribers", **COUNT)["operation"]["id"])


def ended_operation_id(account: Account) -> str:
    account.ok("CreateSubscriber", **ADA)
    tag = {"filter": "email:*", "action": {"addTags": ["by operation"]}}
    operation = account.ok("BatchChangeSubscribers", **tag)["operation"]
    wait_until(lambda: not running_operations(account), "an operation does not end")
    return str(operation["id"])


def new_export_id(account: Account) -> str:
    return str(account.ok("CreateExport")["export"]["id"])


def new_import_id(account: Account) -> str:
    return str(upload(account, b"email\nada@example.com\n")["id"])


def ended_import_id(account: Account) -> str:
    return str(run_file(account, "email\nada@example.com\n")["id"])


def new_webhook_id(account: Account) -> str:
    """Creates a webhook and an event for it, and returns the id of the webhook."""
    made = create_webhook(account, **DISABLED_WEBHOOK)
    account.ok("CreateTag", name="event")
    return str(made["id"])


def new_delivery_id(account: Account) -> str:
    response = account.ok("TestWebhook", id=new_webhook_id(account))
    return str(response["delivery"]["id"])


# Two different requests of an operation.
Pair = tuple[dict[str, Any], dict[str, Any]]


def requests_with(id: str, **given: Any) -> Pair:
    """Returns a request with an id, and one with an id that does not exist."""
    return {"id": id, **given}, {"id": MISSING_ID, **given}


EVE = {"email": "eve@example.com"}
ADA_WITHOUT_TAGS = {"email": "ada@example.com"}
BULK = {"subscribers": [ADA, {"email": "no"}, ADA]}
COUNT = {"filter": "email:*", "action": {"delete": True}, "dryRun": True}
FILE = {"name": "people.csv", "size": 10}
SEGMENT = {"name": "all", "filter": "email:*"}
KEY = {"name": "second", "scope": "read"}


def links(account: Account) -> Pair:
    """Returns a request that follows a link, and one with another signature."""
    token = unsubscribe_token(account, new_subscriber_id(account))
    return {"token": token}, {"token": token[:-32] + 32 * "0"}


POSTS: dict[str, Callable[[Account], Pair]] = {
    "CreateSubscriber": lambda _: (ADA, EVE),
    "BulkCreateSubscribers": lambda _: (BULK, {"subscribers": [EVE]}),
    "AddSuppressions": lambda _: ({"emails": ["x@example.com"]}, {"emails": ["y@example.com"]}),
    "BatchChangeSubscribers": lambda _: (COUNT, {**COUNT, "filter": "tags:vip"}),
    "CancelOperation": lambda account: requests_with(new_operation_id(account)),
    "UndoOperation": lambda account: requests_with(ended_operation_id(account)),
    "CreateExport": lambda _: ({"format": "CSV"}, {"format": "NDJSON"}),
    "CancelExport": lambda account: requests_with(new_export_id(account)),
    "CreateImport": lambda _: (FILE, {**FILE, "name": "other"}),
    "StartImport": lambda account: requests_with(new_import_id(account)),
    "CancelImport": lambda account: requests_with(new_import_id(account)),
    "UndoImport": lambda account: requests_with(ended_import_id(account)),
    "FollowLink": links,
    "SignUp": lambda _: (ADA_WITHOUT_TAGS, EVE),
    "CreateSegment": lambda _: (SEGMENT, {**SEGMENT, "name": "other"}),
    "CreateSignInLink": lambda _: (KEY, {**KEY, "scope": "write"}),
    "CreateTag": lambda _: ({"name": "vip"}, {"name": "other"}),
    "CreateCustomField": lambda _: ({"label": "City"}, {"label": "Town"}),
    "CreateApiKey": lambda _: (KEY, {**KEY, "scope": "write"}),
    "RotateApiKey": lambda account: requests_with(new_key_id(account)),
    "AddSubscriberTags": lambda account: requests_with(new_subscriber_id(account), tags=["x"]),
    "RemoveSubscriberTags": lambda account: requests_with(new_subscriber_id(account), tags=["old"]),
    "CreateWebhook": lambda _: (DISABLED_WEBHOOK, {**DISABLED_WEBHOOK, "description": "other"}),
    "RotateWebhookSecret": lambda account: requests_with(new_webhook_id(account)),
    "TestWebhook": lambda account: requests_with(new_webhook_id(account)),
    "ReplayWebhook": lambda account: requests_with(new_webhook_id(account), **SINCE),
    "RetryWebhookDelivery": lambda account: requests_with(new_delivery_id(account)),
}
# Error codes of requests with an id that does not exist. Other rpcs reject an empty request.
NOT_FOUND = {
    "FollowLink": "LinkNotFound",
    "CancelOperation": "OperationNotFound",
    "UndoOperation": "OperationNotFound",
    "CancelExport": "ExportNotFound",
    "StartImport": "ImportNotFound",
    "CancelImport": "ImportNotFound",
    "UndoImport": "ImportNotFound",
    "RotateApiKey": "ApiKeyNotFound",
    "AddSubscriberTags": "SubscriberNotFound",
    "RemoveSubscriberTags": "SubscriberNotFound",
    "RotateWebhookSecret": "WebhookNotFound",
    "TestWebhook": "WebhookNotFound",
    "ReplayWebhook": "WebhookNotFound",
    "RetryWebhookDelivery": "WebhookDeliveryNotFound",
}
# An invalid request of each rpc that accepts an empty one.
INVALID = {"CreateExport": {"format": "NDJSON", "bom": True}}
over_each_post = pytest.mark.parametrize("rpc", POSTS)


class IdempotentResponse(NamedTuple):
    """The response to a request with an idempotency key.

    `error` is empty after a success; `content` is the body or the message in bytes.
    """

    error: str
    is_replay: bool
    content: bytes


def call_with_key(
    account: Account, rpc: str, key: str, request: dict[str, Any]
) -> IdempotentResponse:
    """Calls with an idempotency key over any front."""
    if isinstance(account.front, GrpcFront):
        metadata = (("authorization", f"Bearer {account.key}"), ("idempotency-key", key))
        message = to_message(METHODS[rpc], request)
        try:
            reply, call = account.front.stub(rpc).with_call(message, metadata=metadata, timeout=60)
        except grpc.RpcError as error:
            return IdempotentResponse(error_response(error).code, is_replay=False, content=b"")
        is_replay = dict(call.trailing_metadata()).get("idempotency-replayed") == "true"
        return IdempotentResponse("", is_replay, reply.SerializeToString(deterministic=True))
    method, path, _ = binding(rpc)
    body = dict(request)
    for name in ("id", "token"):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", body.pop(name))
    status, headers, content = post(account, path, key, body, method)
    error = json.loads(content)["error"]["code"] if status >= 400 else ""
    return IdempotentResponse(error, headers.get("idempotency-replayed") == "true", content)


def contents(account: Account) -> list[Any]:
    """Returns the resources of the account once its operations have ended."""
    wait_until(lambda: not running_operations(account), "an operation does not end")
    lists = (
        *("ListSubscribers", "ListTags", "ListCustomFields", "ListApiKeys", "ListSuppressions"),
        *("ListWebhooks", "ListEvents"),
    )
    webhooks = account.ok("ListWebhooks")["webhooks"]
    return [
        *(account.ok(rpc) for rpc in lists),
        *(deliveries(account, made) for made in webhooks),
    ]


@over_each_post
def test_same_key_returns_the_first_response_byte_for_byte_and_rejects_other_requests(
    account: Account, rpc: str
) -> None:
    request, other = POSTS[rpc](account)
    # These two have messages of the same bytes.
    elsewhere = "RemoveSubscriberTags" if rpc == "AddSubscriberTags" else "AddSubscriberTags"
    has_same = rpc in ("AddSubscriberTags", "RemoveSubscriberTags")
    given = request if has_same else {"id": MISSING_ID, "tags": ["x"]}
    first = call_with_key(account, rpc, "key", request)
    before = contents(account)

    again = call_with_key(account, rpc, "key", request)
    rejected = [
        call_with_key(account, rpc, "key", other),
        call_with_key(account, elsewhere, "key", given),
    ]

    assert (first.error, first.is_replay) == ("", False)
    assert again == first._replace(is_replay=True)
    assert {response.error for response in rejected} == {"IdempotencyKeyReused"}
    assert contents(account) == before


OF_PERSON: dict[str, Callable[[str], dict[str, Any]]] = {
    "CreateSubscriber": lambda _: ADA,
    "BulkCreateSubscribers": lambda _: {"subscribers": [EVE, ADA]},
    "UpdateSubscriber": lambda id_: {"id": id_, "firstName": "Ada"},
    "AddSubscriberTags": lambda id_: {"id": id_, "tags": ["x"]},
    "RemoveSubscriberTags": lambda id_: {"id": id_, "tags": ["x"]},
    "SignUp": lambda _: ADA_WITHOUT_TAGS,
    "AddSuppressions": lambda _: {"emails": ["x@example.com", "Ada@Example.com"]},
    "BatchChangeSubscribers": lambda _: {**COUNT, "filter": "email=ADA@example.com OR tags:x"},
    "CreateSegment": lambda _: {**SEGMENT, "filter": 'NOT email = "ada@example.com"'},
}
CREATES_PERSON = {"CreateSubscriber", "BulkCreateSubscribers"}


@pytest.mark.parametrize("rpc", OF_PERSON)
def test_response_that_names_an_erased_person_is_not_returned_and_has_no_effect(
    account: Account, rpc: str
) -> None:
    id_ = ""
    if rpc not in CREATES_PERSON:
        id_ = account.ok("CreateSubscriber", **ADA)["subscriber"]["id"]
    request = OF_PERSON[rpc](id_)
    assert call_with_key(account, rpc, "key", request).error == ""
    other = call_with_key(account, "CreateSubscriber", "other", {"email": "bob@example.com"})
    account.ok("DeleteSubscriber", id="ada@example.com", erase=True)
    left = contents(account)

    again = call_with_key(account, rpc, "key", request)
    another = call_with_key(account, "CreateTag", "key", {"name": "another"})

    assert [again.error, another.error] == ["IdempotentResponseErased"] * 2
    assert contents(account) == left
    replayed = call_with_key(account, "CreateSubscriber", "other", {"email": "bob@example.com"})
    assert replayed == other._replace(is_replay=True)


def test_followed_link_of_an_erased_person_is_not_returned(account: Account) -> None:
    request, _ = links(account)
    assert call_with_key(account, "FollowLink", "key", request).error == ""
    account.ok("DeleteSubscriber", id="first@example.com", erase=True)

    again = call_with_key(account, "FollowLink", "key", request)

    assert again.error == "IdempotentResponseErased"


def test_response_with_an_earlier_address_of_an_erased_person_is_not_returned(
    account: Account,
) -> None:
    request = {"subscribers": [ADA, EVE]}
    first = call_with_key(account, "BulkCreateSubscribers", "key", request)
    account.ok("UpdateSubscriber", id="ada@example.com", email="ada@lovelace.example")
    assert call_with_key(account, "BulkCreateSubscribers", "key", request).content == first.content
    account.ok("DeleteSubscriber", id="ada@lovelace.example", erase=True)

    again = call_with_key(account, "BulkCreateSubscribers", "key", request)

    assert again.error == "IdempotentResponseErased"


def test_web_page_does_not_find_out_who_was_erased(account: Account) -> None:
    page = account.with_key(account.new_key("signup"))
    first = call_with_key(page, "SignUp", "key", ADA_WITHOUT_TAGS)
    account.ok("DeleteSubscriber", id="ada@example.com", erase=True)

    again = call_with_key(page, "SignUp", "key", ADA_WITHOUT_TAGS)

    assert again == first._replace(is_replay=True)
    assert account.ok("ListSubscribers")["total"] == 0


@over_each_post
def test_rejected_request_does_not_use_up_the_key(account: Account, rpc: str) -> None:
    request, other = POSTS[rpc](account)
    invalid = other if rpc in NOT_FOUND else INVALID.get(rpc, {})
    rejected = call_with_key(account, rpc, "key", invalid)
    assert rejected.error == NOT_FOUND.get(rpc, "ValidationError")

    first, again = (
        call_with_key(account, rpc, "key", request),
        call_with_key(account, rpc, "key", request),
    )

    assert (first.error, first.is_replay, again.is_replay) == ("", False, True)


def test_every_post_with_an_effect_is_tested() -> None:
    posts = {
        rpc
        for rpc, method in UNARY.items()
        if _post_path(method) is not None
        and method.GetOptions().idempotency_level == 0  # IDEMPOTENCY_UNKNOWN
        and not method.GetOptions().Extensions[http_pb2.access].public
    }

    assert POSTS.keys() == posts


def _post_path(method: Any) -> str | None:
    return method.GetOptions().Extensions[annotations_pb2.http].post or None


@pytest.mark.parametrize("key", ["", "   ", "x" * 256, "schlüssel", "a\tb"])
def test_key_that_is_empty_too_long_or_not_ascii_is_rejected(
    http_account: Account, key: str
) -> None:
    response = post(http_account, "/api/subscribers", key.encode().decode("latin-1"), ADA)

    assert code_of(response) == (400, "ValidationError")
    assert json.loads(response[2])["error"]["details"][0]["field"] == "Idempotency-Key"
    assert http_account.ok("ListSubscribers")["total"] == 0


def test_20_concurrent_requests_have_one_effect(account: Account) -> None:
    def send() -> Response:
        if isinstance(account.front, HttpFront):
            status, _, text = post(account, "/api/keys", "key", {"name": "once", "scope": "read"})
            return Response(status, json.loads(text))
        return call_over_grpc(account, "CreateApiKey", "key", name="once", scope="read")[0]

    responses = call_concurrently(*[send] * 20)

    made = [response.body for response in responses if response.status == 201]
    assert made
    assert all(body == made[0] for body in made)
    others = [response for response in responses if response.status != 201]
    assert {(response.status, response.code) for response in others} <= {
        (409, "IdempotencyKeyInUse")
    }
    assert [key["name"] for key in account.ok("ListApiKeys")["apiKeys"]].count("once") == 1


def call_over_grpc(
    account: Account, rpc: str, key: str, **request: Any
) -> tuple[Response, dict[str, str | bytes]]:
    """Calls with an idempotency key; returns the response and the trailing metadata."""
    assert isinstance(account.front, GrpcFront)
    metadata = (("authorization", f"Bearer {account.key}"), ("idempotency-key", key))
    message = to_message(METHODS[rpc], request)
    try:
        reply, call = account.front.stub(rpc).with_call(message, metadata=metadata, timeout=20)
    except grpc.RpcError as error:
        return error_response(error), {}
    return Response(201, json_format.MessageToDict(reply)), dict(call.trailing_metadata())
