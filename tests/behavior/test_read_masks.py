"""Read masks of subscribers over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from ..fronts import GrpcFront
from .helpers import create_subscriber

READS = {
    "GetSubscriber": {"id": "ada@example.com"},
    "ListSubscribers": {},
}
# What protobuf returns for a field that was cleared.
EMPTY = ("", [], "STATUS_UNSPECIFIED")
each_read = pytest.mark.parametrize("rpc", READS)


def read(account: Account, rpc: str, **request: Any) -> dict[str, Any]:
    """Creates a subscriber and returns the fields that were read."""
    create_subscriber(account, "ada@example.com", firstName="Ada", tags=["vip"])
    body = account.ok(rpc, **READS[rpc], **request)
    subscriber: dict[str, Any]
    subscriber = body["subscriber"] if "subscriber" in body else body["subscribers"][0]
    if isinstance(account.front, GrpcFront):
        return {key: value for key, value in subscriber.items() if value not in EMPTY}
    return subscriber


@each_read
def test_only_the_fields_of_the_mask_are_returned(account: Account, rpc: str) -> None:
    assert read(account, rpc, readMask="email,firstName,tags") == {
        "email": "ada@example.com",
        "firstName": "Ada",
        "tags": ["vip"],
    }


@each_read
def test_a_mask_can_contain_fields_of_the_full_view(account: Account, rpc: str) -> None:
    assert read(account, rpc, readMask="updatedAt").keys() == {"updatedAt"}


@each_read
@pytest.mark.parametrize("mask", ["", "*"])
def test_a_mask_without_names_returns_all_fields(account: Account, rpc: str, mask: str) -> None:
    expected = {"id", "email", "firstName", "status", "tags", "createdAt"}

    assert expected <= read(account, rpc, readMask=mask).keys()


@each_read
@pytest.mark.parametrize(
    ("mask", "unknown"),
    [
        ("name", "name"),
        ("email,consent.ip", "consent.ip"),
        ("unsubscribeUrl,email", "unsubscribeUrl"),
    ],
)
def test_an_unknown_field_in_a_mask_is_rejected(
    account: Account, rpc: str, mask: str, unknown: str
) -> None:
    error = account.fails("ValidationError", rpc, **READS[rpc], readMask=mask)

    assert error.violations == [("readMask", "INVALID_VALUE")]
    message = error.body["error"]["details"][0]["message"]
    assert message == f"{unknown} is not a field of a subscriber"
