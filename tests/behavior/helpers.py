"""What the behaviour tests share beyond the fixtures."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ..conftest import Account
from ..fronts import HttpFront, Response

# A well-formed id that nothing has.
MISSING_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

STATUSES = ("UNCONFIRMED", "CONFIRMED", "UNSUBSCRIBED", "BOUNCED", "COMPLAINED")

# For what only HTTP can say: the test runs over both HTTP fronts, not over gRPC.
over_http = pytest.mark.parametrize("front_and_service", ["http", "http-over-grpc"], indirect=True)


def send(
    account: Account,
    method: str,
    path: str,
    body: Any = None,
    *,
    headers: dict[str, str] | None = None,
) -> Response:
    """Sends a request over an HTTP front; a body of bytes goes as it is, another one as JSON."""
    assert isinstance(account.front, HttpFront)
    raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    return account.front.send(method, path, account.key, body=raw, headers=headers)


def at_once(*calls: Callable[[], Response]) -> list[Response]:
    """Makes the calls at the same moment, each in a thread, and returns their answers in order."""
    gate = threading.Barrier(len(calls))

    def call(each: Callable[[], Response]) -> Response:
        gate.wait(timeout=20)
        return each()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


def statuses(answers: Sequence[Response]) -> list[int]:
    """Returns the statuses of answers, in rising order."""
    return sorted(answer.status for answer in answers)


def told(answer: Response) -> tuple[int, dict[str, Any]]:
    """Returns what an error tells apart from the request id, which differs on every call."""
    error = {key: value for key, value in answer.body["error"].items() if key != "requestId"}
    return answer.status, error


def failures(body: Any) -> list[tuple[int, str]]:
    """Returns index and reason of each failed row of a bulk creation."""
    return [(row["index"], row["reason"]) for row in body["failed"]]


def emails(account: Account) -> list[str]:
    """Returns the addresses of the account's first 100 subscribers, oldest first."""
    listed = account.ok("ListSubscribers", limit=100)["subscribers"]
    return [subscriber["email"] for subscriber in listed]


def tag_names(account: Account) -> list[str]:
    """Returns the names of the account's first 100 tags."""
    return [tag["name"] for tag in account.ok("ListTags", limit=100)["tags"]]


def subscriber(account: Account, email: str = "ada@example.com", **given: Any) -> dict[str, Any]:
    """Creates a subscriber and returns it."""
    made: dict[str, Any] = account.ok("CreateSubscriber", email=email, **given)["subscriber"]
    return made


def subscriber_in(
    account: Account, status: str, email: str = "ada@example.com", **given: Any
) -> dict[str, Any]:
    """Creates a subscriber, moves it to a status and returns it."""
    made = subscriber(account, email, isConfirmed=status == "CONFIRMED", **given)
    if made["status"] != status:
        moved = account.ok("ChangeSubscriberStatus", id=made["id"], status=status)
        made = moved["subscriber"]
    return made


def stored(account: Account, made: dict[str, Any]) -> dict[str, Any]:
    """Returns a subscriber as it is now."""
    found: dict[str, Any] = account.ok("GetSubscriber", id=made["id"])["subscriber"]
    return found


def field(account: Account, label: str, data_type: str = "TEXT", **given: Any) -> dict[str, Any]:
    """Creates a custom field and returns it."""
    made = account.ok("CreateCustomField", label=label, dataType=data_type, **given)
    custom_field: dict[str, Any] = made["customField"]
    return custom_field


def suppress(account: Account, email: str = "ada@example.com", reason: str = "UNSUBSCRIBED") -> str:
    """Has a subscriber opt out and deletes it, and returns the address."""
    account.ok("DeleteSubscriber", id=subscriber_in(account, reason, email)["id"])
    return email
