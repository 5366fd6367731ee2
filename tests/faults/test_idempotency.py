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

from ..behavior.deliveries import deliveries, running_operations
from ..behavior.helpers import MISSING_ID, call_concurrently, unsubscribe_token
from ..behavior.requests import REFERENCES, resource_type, working_request
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
EVE = {"email": "eve@example.com"}
ADA_WITHOUT_TAGS = {"email": "ada@example.com"}
COUNT = {"filter": "email:*", "action": {"delete": True}, "dryRun": True}
# The POSTs with an effect, except those without an API key.
POSTS = sorted(
    rpc
    for rpc, method in UNARY.items()
    if method.GetOptions().Extensions[annotations_pb2.http].post
    and method.GetOptions().idempotency_level == 0  # IDEMPOTENCY_UNKNOWN
    and not method.GetOptions().Extensions[http_pb2.access].public
)
over_each_post = pytest.mark.parametrize("rpc", POSTS)
# Other values of a first field to which no letter can be added.
OTHER_VALUES: dict[str, Any] = {
    "BulkCreateSubscribers": [EVE],
    "AddSuppressions": ["x@example.com"],
    "BatchChangeSubscribers": "tags:vip",
    "CreateExport": "NDJSON",
}
# An invalid request of each rpc that accepts an empty one.
INVALID = {"CreateExport": {"format": "NDJSON", "bom": True}}


def other_request(rpc: str, request: dict[str, Any]) -> dict[str, Any]:
    """Returns a request with another first value, which is the reference if there is one."""
    name, value = next(iter(request.items()))
    other = MISSING_ID if rpc in REFERENCES else OTHER_VALUES.get(rpc, f"{value}x")
    return {**request, name: other}


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
    request = working_request(account, rpc)
    other = other_request(rpc, request)
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
    "CreateSegment": lambda _: {"name": "others", "filter": 'NOT email = "ada@example.com"'},
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
    ada = account.ok("CreateSubscriber", **ADA)["subscriber"]
    request = {"token": unsubscribe_token(account, ada["id"])}
    assert call_with_key(account, "FollowLink", "key", request).error == ""
    account.ok("DeleteSubscriber", id="ada@example.com", erase=True)

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
    request = working_request(account, rpc)
    has_reference = rpc in REFERENCES
    invalid = other_request(rpc, request) if has_reference else INVALID.get(rpc, {})
    rejected = call_with_key(account, rpc, "key", invalid)
    not_found = f"{resource_type(rpc).removesuffix('Service')}NotFound"
    assert rejected.error == (not_found if has_reference else "ValidationError")

    first, again = (
        call_with_key(account, rpc, "key", request),
        call_with_key(account, rpc, "key", request),
    )

    assert (first.error, first.is_replay, again.is_replay) == ("", False, True)


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
