"""Page tokens of every list: they continue it after changes, and are rejected for another list."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from roster.v1 import http_pb2

from ..cases import each
from ..conftest import Account
from ..fronts import UNARY, Response
from .helpers import create_subscriber
from .requests import REQUESTS

Request = dict[str, Any]


class Listed(NamedTuple):
    """A list: how to add an item by number and to delete one, and the parameter of its parent."""

    add: Callable[[Account, int], Any]
    delete: Callable[[Account, str], Any] = lambda *_: None
    parent: Callable[[Account], Request] = lambda _: {}


# The character whose form in keys has the most bytes: 12 in UTF-8.
LARGEST = "\U0001d160"


def name_of(number: int) -> str:
    """Returns a long name that sorts before those of lower numbers, without regard to case."""
    word = "ÜNÏ" if number % 2 else "ünï"
    return f"{word}.{90 - number}.5".ljust(100, LARGEST)


def webhook_of(account: Account) -> Request:
    """Returns the ID of the first webhook of the account, which is created if there is none."""
    if not (webhooks := account.ok("ListWebhooks")["webhooks"]):
        webhooks = [account.ok("CreateWebhook", **REQUESTS["CreateWebhook"])["webhook"]]
    return {"id": webhooks[0]["id"]}


def subscriber_of(account: Account) -> Request:
    """Returns the ID of a subscriber, which is created if there is none."""
    found = account.ok("ListSubscribers", email="ada@example.com")["subscribers"]
    return {"id": (found or [create_subscriber(account)])[0]["id"]}


def add_events(account: Account, number: int) -> None:
    webhook_of(account)
    tag = account.ok("CreateTag", name=f"of events {number}")["tag"]
    account.ok("DeleteTag", id=tag["id"])


def addresses(number: int) -> list[str]:
    return [f"{letter}{number}@example.com" for letter in "abc"]


def delete_suppression(account: Account, email_hash: str) -> None:
    account.ok("DeleteSuppression", id=email_hash)


def creating(rpc: str, **fields: Callable[[int], Any]) -> Callable[[Account, int], Any]:
    """Returns a function that creates an item with these fields of its number."""
    return lambda account, number: account.ok(
        rpc, **{**REQUESTS[rpc], **{field: value(number) for field, value in fields.items()}}
    )


def deleting(rpc: str) -> Callable[[Account, str], Any]:
    return lambda account, item: account.ok(rpc, id=item)


LISTS: dict[str, Listed] = {
    "ListAuditEntries": Listed(creating("CreateApiKey")),
    "ListTags": Listed(creating("CreateTag", name=name_of), deleting("DeleteTag")),
    "ListSegments": Listed(creating("CreateSegment", name=name_of), deleting("DeleteSegment")),
    "ListCustomFields": Listed(
        creating("CreateCustomField", label=lambda number: f"Field {number}"),
        deleting("DeleteCustomField"),
    ),
    "ListWebhooks": Listed(creating("CreateWebhook"), deleting("DeleteWebhook")),
    "ListSessions": Listed(
        lambda account, _: account.front.call("SignIn", None, {"token": account.new_key("read")}),
        deleting("DeleteSession"),
    ),
    "ListSignInLinks": Listed(creating("CreateSignInLink"), deleting("DeleteSignInLink")),
    "ListApiKeys": Listed(creating("CreateApiKey"), deleting("RevokeApiKey")),
    "ListImports": Listed(creating("CreateImport"), deleting("DeleteImport")),
    "ListOperations": Listed(
        lambda account, _: account.ok(
            "BatchChangeSubscribers", filter="email:*", action={"delete": True}, dryRun=True
        )
    ),
    "ListExports": Listed(creating("CreateExport"), deleting("DeleteExport")),
    # The suppressions of one request have the same time.
    "ListSuppressions": Listed(creating("AddSuppressions", emails=addresses), delete_suppression),
    "ListEvents": Listed(add_events),
    "ListWebhookDeliveries": Listed(
        lambda account, _: account.ok("TestWebhook", **webhook_of(account)),
        parent=webhook_of,
    ),
    "ListAllWebhookDeliveries": Listed(
        lambda account, _: account.ok("TestWebhook", **webhook_of(account))
    ),
    "ListSubscribers": Listed(
        creating("CreateSubscriber", email=lambda number: f"{9 - number}@example.com"),
        deleting("DeleteSubscriber"),
    ),
    "ListSubscriberSegments": Listed(
        creating("CreateSegment", name=lambda number: f"of a person.{90 - number}"),
        deleting("DeleteSegment"),
        parent=subscriber_of,
    ),
    "ListSubscriberHistory": Listed(
        lambda account, number: account.ok(
            "UpdateSubscriber", firstName=f"Ada {number}", **subscriber_of(account)
        ),
        parent=subscriber_of,
    ),
}
# Parameters that select other items, or the same in another order.
FILTERS: dict[str, list[Request]] = {
    "ListAuditEntries": [{"action": "api_key.created"}, {"resourceType": "api_key"}],
    "ListEvents": [
        {"order": "desc"},
        {"eventType": "tag.created"},
        {"eventType": "tag.created", "order": "desc"},
        {"eventType": "tag.*"},
        {"eventType": "tag.*", "order": "desc"},
        {"afterSequence": 2},
        {"createdAfter": "2020-01-01T00:00:00Z"},
    ],
    "ListWebhookDeliveries": [{"eventType": "webhook.test"}, {"state": "PENDING"}],
    "ListAllWebhookDeliveries": [
        *({"eventType": "webhook.test"}, {"state": "FAILED"}, {"httpStatus": 503}),
        *({"since": "2020-01-01T00:00:00Z"}, {"subscriberId": "01M7Y2MPAQ036JVMBN3RCKGA5K"}),
    ],
    "ListSubscribers": [
        *({"order": "desc"}, {"orderBy": "email"}, {"total": "NONE"}, {"tag": "on ada"}),
        *({"q": "0"}, {"status": "CONFIRMED"}, {"email": "001@example.com"}),
        *({"createdAfter": "2020-01-01T00:00:00Z"}, {"createdBefore": "2999-01-01T00:00:00Z"}),
    ],
}
# The start of the tokens that a release issued, which must be valid in every later one.
ISSUED_DIGESTS = {
    "ListTags": "978c2f894135",
    "ListSegments": "08fddbc83d3d",
    "ListCustomFields": "d4b76932173f",
    "ListWebhooks": "a58f0473fb4c",
    "ListApiKeys": "98aae8972102",
    "ListOperations": "74de07c4e919",
    "ListSuppressions": "1cb3ae874ac1",
    "ListEvents": "d7a84c99bc68",
    "ListSubscribers": "591b4ea20687",
}


def items(response: Response) -> list[str]:
    """Returns what identifies the items of a page."""
    assert response.status == 200, response
    # Over HTTP, the token is in the Link header only.
    assert "nextPageToken" not in response.body
    (listed,) = (each for each in response.body.values() if isinstance(each, list))
    return [item.get("id") or item["emailHash"] for item in listed]


def first_page(account: Account, rpc: str) -> Response:
    """Returns the first page of two of a list with at least three items."""
    for number in range(3):
        LISTS[rpc].add(account, number)
    response = account.call(rpc, **LISTS[rpc].parent(account), limit=2)
    assert response.next, response
    return response


def test_every_list_has_page_tokens_and_a_total_that_can_be_absent() -> None:
    methods = {rpc: method for rpc, method in UNARY.items() if rpc.startswith("List")}

    assert methods.keys() == LISTS.keys()
    for rpc, method in methods.items():
        assert "page_token" in method.input_type.fields_by_name, rpc
        # Without presence, a total that is not counted would be the same as 0.
        assert method.output_type.fields_by_name["total"].has_presence, rpc
        token = method.output_type.fields_by_name["next_page_token"]
        assert token.GetOptions().Extensions[http_pb2.next_link], rpc


@each(
    ("rpc", "filters"),
    [(rpc, {}) for rpc in LISTS]
    + [("ListEvents", each) for each in FILTERS["ListEvents"]]
    + [("ListWebhookDeliveries", {"eventType": "webhook.test"})],
)
def test_pages_by_token_contain_each_item_once_in_order_despite_changes(
    account: Account, rpc: str, filters: Request
) -> None:
    listed = LISTS[rpc]
    for number in range(5):
        listed.add(account, number)
    request = {**listed.parent(account), **filters}
    expected = items(account.call(rpc, **request, limit=100))
    assert len(expected) >= 5

    seen: list[str] = []
    for number in range(1, 100):
        response = account.call(rpc, **request, limit=2)
        seen += items(response)
        assert (response.body["page"], response.body["limit"]) == (number, 2)
        if not response.next:
            break
        assert len(items(response)) == 2
        # `page` is ignored.
        request |= {"pageToken": response.next, "page": 7}
        if number == 1:
            listed.delete(account, seen[-1])
        elif number == 2:
            listed.add(account, 5)

    assert [item for item in seen if item in expected] == expected
    assert len(seen) == len(set(seen))


@pytest.mark.each_database
@each(("rpc", "update"), [("ListTags", "UpdateTag"), ("ListSegments", "UpdateSegment")])
def test_list_by_name_continues_after_its_last_item_is_renamed(
    account: Account, rpc: str, update: str
) -> None:
    first = first_page(account, rpc)
    expected = items(account.call(rpc, limit=100))
    account.ok(update, id=items(first)[-1], name="a")

    second = account.call(rpc, limit=2, pageToken=first.next)

    assert [*items(first), *items(second)] == expected


@each("rpc", list(LISTS))
def test_page_token_is_invalid_for_another_list(account: Account, rpc: str) -> None:
    token = first_page(account, rpc).next
    others = [(other, {}) for other in LISTS if other != rpc]
    others += [(rpc, filters) for filters in FILTERS.get(rpc, [])]
    for other, filters in others:
        request = {**LISTS[other].parent(account), **filters, "pageToken": token}

        error = account.fails("ValidationError", other, **request)

        assert error.status == 400
        # A long token of a list by name is too long for the other lists.
        assert [path for path, _ in error.violations] == ["pageToken"], (other, filters)


def decoded(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "==")


@pytest.mark.each_database
@each("rpc", list(LISTS))
def test_malformed_page_token_is_rejected(account: Account, rpc: str) -> None:
    token = first_page(account, rpc).next
    nul = base64.urlsafe_b64encode(decoded(token)[:13] + b"\0.2").decode().rstrip("=")
    for text in ("x", "é", token[16:], f"{token}AAAA", nul):
        request = {**LISTS[rpc].parent(account), "pageToken": text}

        error = account.fails("ValidationError", rpc, **request)

        assert error.status == 400
        assert error.violations == [("pageToken", "INVALID_VALUE")], text


@each("rpc", list(ISSUED_DIGESTS))
def test_page_token_of_an_earlier_release_is_valid(account: Account, rpc: str) -> None:
    assert decoded(first_page(account, rpc).next)[:12].decode() == ISSUED_DIGESTS[rpc]
