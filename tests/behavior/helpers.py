"""Helpers of the behavior tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rosterd.server.features.operations import store
from rosterd.server.features.operations.rules import BatchRequest
from rosterd.server.features.operations.store_steps import LEASE_MILLISECONDS

from ..conftest import Account
from ..fronts import HttpFront, Response
from ..signed_links import signed_token

# A well-formed ID of no resource.
MISSING_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

STATUSES = ("UNCONFIRMED", "CONFIRMED", "UNSUBSCRIBED", "BOUNCED", "COMPLAINED")

# Runs a test over both HTTP fronts, for behavior that gRPC does not have.
over_http = pytest.mark.parametrize("front_and_service", ["http", "http-over-grpc"], indirect=True)


def send(
    account: Account,
    method: str,
    path: str,
    body: Any = None,
    *,
    headers: dict[str, str] | None = None,
) -> Response:
    """Sends a request over an HTTP front. Bytes are sent unchanged; other bodies as JSON."""
    assert isinstance(account.front, HttpFront)
    raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    return account.front.send(method, path, account.key, body=raw, headers=headers)


def keep_operations_waiting(account: Account) -> None:
    """Starts an operation that another process runs for some seconds. Later ones wait for it."""
    message = {"filter": "email:*", "action": {"addTags": ["other"]}}
    batch = BatchRequest(message, ["email:*"], by_admin=False)
    with account.service.unit_of_work() as tx:
        row = store.create(account.id, batch, None, 1, tx)
        until = row.updated_at + LEASE_MILLISECONDS - 1
        store.put(account.id, row._replace(runner="other", updated_at=until), tx)


def call_concurrently(*calls: Callable[[], Response]) -> list[Response]:
    """Makes the calls at the same time and returns their responses in order."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Response]) -> Response:
        barrier.wait(timeout=60)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def statuses(responses: Sequence[Response]) -> list[int]:
    """Returns the sorted statuses of responses."""
    return sorted(response.status for response in responses)


def error_of(response: Response) -> tuple[int, dict[str, Any]]:
    """Returns the status and error of a response without its unique request id."""
    error = {key: value for key, value in response.body["error"].items() if key != "requestId"}
    return response.status, error


def failures(body: Any) -> list[tuple[int, str]]:
    """Returns the index and reason of each failed row of a bulk creation."""
    return [(row["index"], row["reason"]) for row in body["failed"]]


def emails(account: Account) -> list[str]:
    """Returns the addresses of the account's first 100 subscribers, oldest first."""
    listed = account.ok("ListSubscribers", limit=100)["subscribers"]
    return [subscriber["email"] for subscriber in listed]


def tag_names(account: Account) -> list[str]:
    """Returns the names of the account's first 100 tags."""
    return [tag["name"] for tag in account.ok("ListTags", limit=100)["tags"]]


def link_urls(account: Account, subscriber: str) -> tuple[str, str]:
    """Returns the URLs with which a subscriber, given by ID or address, confirms, unsubscribes."""
    confirm, unsubscribe = account.ok("CreateSubscriberLinks", id=subscriber)["links"]
    return confirm["url"], unsubscribe["url"]


def confirm_token(account: Account, subscriber: str) -> str:
    """Returns the token of a link that confirms a subscriber, given by ID or address."""
    return link_urls(account, subscriber)[0].rpartition("/")[2]


def unsubscribe_token(account: Account, subscriber: str) -> str:
    """Returns the token of a link that unsubscribes a subscriber, given by ID or address."""
    return link_urls(account, subscriber)[1].rpartition("/")[2]


def signed_unsubscribe_token(account: Account, subscriber: dict[str, Any]) -> str:
    """Returns the token of a link that an earlier version created."""
    key = account.service.data_key()
    return signed_token(key, account.id, subscriber["id"], subscriber["email"])


def create_subscriber(
    account: Account, email: str = "ada@example.com", **fields: Any
) -> dict[str, Any]:
    created: dict[str, Any] = account.ok("CreateSubscriber", email=email, **fields)["subscriber"]
    return created


def create_subscriber_in(
    account: Account, status: str, email: str = "ada@example.com", **fields: Any
) -> dict[str, Any]:
    """Creates a subscriber with a status."""
    created = create_subscriber(account, email, isConfirmed=status == "CONFIRMED", **fields)
    if created["status"] != status:
        response = account.ok("ChangeSubscriberStatus", id=created["id"], status=status)
        created = response["subscriber"]
    return created


def stored(account: Account, subscriber: dict[str, Any]) -> dict[str, Any]:
    """Returns the stored state of a subscriber."""
    state: dict[str, Any] = account.ok("GetSubscriber", id=subscriber["id"])["subscriber"]
    return state


def create_field(
    account: Account, label: str, data_type: str = "TEXT", **fields: Any
) -> dict[str, Any]:
    """Creates a custom field."""
    response = account.ok("CreateCustomField", label=label, dataType=data_type, **fields)
    custom_field: dict[str, Any] = response["customField"]
    return custom_field


def record_events(account: Account) -> str:
    """Creates a disabled webhook, so that events are recorded, and returns its id."""
    response = account.ok("CreateWebhook", url="https://example.com/hooks", enabled=False)
    return str(response["webhook"]["id"])


def suppress(account: Account, email: str = "ada@example.com", reason: str = "UNSUBSCRIBED") -> str:
    """Suppresses an address by deleting a subscriber that opted out; returns the address."""
    account.ok("DeleteSubscriber", id=create_subscriber_in(account, reason, email)["id"])
    return email
