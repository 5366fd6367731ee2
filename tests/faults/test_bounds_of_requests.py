"""Bounds of tags, bulk rows, page numbers and IDs."""

from __future__ import annotations

from typing import Any

import pytest

from ..behavior.deliveries import create_webhook
from ..behavior.helpers import (
    MISSING_ID,
    create_subscriber,
    emails,
    failures,
    over_http,
    send,
    tag_names,
)
from ..cases import each
from ..conftest import Account
from ..fronts import UNARY, HttpFront, binding, path_variables

LISTS = sorted(rpc for rpc in UNARY if rpc.startswith("List"))
INVALID_TAGS: dict[str, tuple[list[str], tuple[str, str]]] = {
    "one over the length": (["fine", "x" * 101], ("tags[1]", "TOO_LONG")),
    "101 tags": ([f"tag {number}" for number in range(101)], ("tags", "TOO_MANY")),
    "blank": ([" \u00a0"], ("tags[0]", "REQUIRED")),
    "empty": (["fine", ""], ("tags[1]", "REQUIRED")),
}


@pytest.fixture
def there(account: Account) -> dict[str, Any]:
    """The only subscriber of the account."""
    return create_subscriber(account, "there@example.com")


@each(("tags", "fault"), INVALID_TAGS)
def test_invalid_tags_are_rejected_without_effect(
    account: Account, there: dict[str, Any], tags: list[str], fault: tuple[str, str]
) -> None:
    created = account.fails("ValidationError", "CreateSubscriber", email="a@example.com", tags=tags)
    updated = account.fails("ValidationError", "UpdateSubscriber", id=there["id"], tags=tags)
    rows = account.ok(
        "BulkCreateSubscribers", subscribers=[{"email": "a@example.com", "tags": tags}]
    )

    assert created.violations == updated.violations == [fault]
    assert failures(rows) == [(0, "INVALID_TAG")]
    assert account.ok("ListSubscribers")["subscribers"] == [there]
    assert tag_names(account) == []


@pytest.mark.parametrize(
    "tags",
    [["ViP", "vip", "VIP "], ["É", "é", "e\u0301"], ["x", "x"]],
    ids=["case", "accent", "the same"],
)
def test_tags_that_differ_only_in_case_are_merged(account: Account, tags: list[str]) -> None:
    created = account.ok("CreateSubscriber", email="a@example.com", tags=tags)["subscriber"]
    rows = [{"email": "b@example.com", "tags": tags}]
    assert account.ok("BulkCreateSubscribers", subscribers=rows) == {"failed": []}
    account.ok("UpdateSubscriber", id=created["id"], tags=list(reversed(tags)))

    listed = account.ok("ListSubscribers")["subscribers"]
    assert [subscriber["tags"] for subscriber in listed] == [tags[:1], tags[:1]]
    assert tag_names(account) == tags[:1]


def rows(count: int) -> list[dict[str, str]]:
    return [{"email": f"{number:03}@example.com"} for number in range(count)]


@pytest.mark.parametrize("count", [1, 100])
def test_bulk_accepts_1_to_100_rows(account: Account, count: int) -> None:
    assert account.ok("BulkCreateSubscribers", subscribers=rows(count)) == {"failed": []}

    assert emails(account) == [row["email"] for row in rows(count)]


@pytest.mark.parametrize(("count", "code"), [(0, "TOO_FEW"), (101, "TOO_MANY")])
def test_bulk_of_no_rows_or_of_101_is_rejected_as_a_whole(
    account: Account, count: int, code: str
) -> None:
    response = account.fails("ValidationError", "BulkCreateSubscribers", subscribers=rows(count))

    assert response.violations == [("subscribers", code)]
    assert emails(account) == []


@over_http
@each("value", ["x", 1, True, {}, {"email": "a@example.com"}])
def test_bulk_that_is_not_a_list_is_rejected_as_a_whole(account: Account, value: Any) -> None:
    response = send(account, "POST", "/api/subscribers/bulk", {"subscribers": value})

    assert (response.status, response.violations) == (400, [("subscribers", "INVALID_TYPE")])


@over_http
def test_row_that_is_not_an_object_fails_only_that_row(account: Account) -> None:
    for number, row in enumerate([None, 1, "a@example.com", True, [], [{}]]):
        sent = {"subscribers": [rows(6)[number], row]}
        response = send(account, "POST", "/api/subscribers/bulk", sent)

        assert response.status == 200, row
        assert response.body == {"failed": [{"index": 1, "email": "", "reason": "INVALID_ROW"}]}
        assert emails(account) == [row["email"] for row in rows(number + 1)]


@pytest.mark.parametrize(
    "bad", [{50}, set(range(100)) - {50}, set(range(100))], ids=["1 of 100", "99 of 100", "all"]
)
def test_valid_rows_are_stored_in_one_transaction_despite_invalid_ones(
    account: Account, bad: set[int]
) -> None:
    sent = [{"email": "none"} if index in bad else row for index, row in enumerate(rows(100))]

    response = account.call("BulkCreateSubscribers", subscribers=sent)

    assert response.status == 200
    assert failures(response.body) == [(index, "INVALID_EMAIL") for index in sorted(bad)]
    stored = account.ok("ListSubscribers", limit=100)["subscribers"]
    assert [s["email"] for s in stored] == [r["email"] for r in sent if r["email"] != "none"]
    # All rows of a transaction have its timestamp.
    assert len({subscriber["createdAt"] for subscriber in stored}) == min(len(stored), 1)


INVALID_NUMBERS = {
    "negative": "-1",
    "word": "abc",
    "fraction": "1.5",
    "exponent": "1e1",
    "full-width digits": "%EF%BC%91%EF%BC%90",
    "empty": "",
    "blank": "%20",
    "blank around": "%201",
    "underscore": "1_0",
    "plus": "%2B1",
    "hexadecimal": "0x10",
    "NUL": "1%00",
    "bad UTF-8": "%ff",
    "2^31": str(2**31),
    "-2^31": str(-(2**31)),
    "2^63": str(2**63),
    "2^64": str(2**64),
    "10^400": "1" + "0" * 400,
}


@pytest.fixture
def parents(account: Account, there: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The path variables of each list in an account with a subscriber, a webhook and a tag."""
    webhook = create_webhook(account, url="http://127.0.0.1:9/", enabled=False)
    account.ok("CreateTag", name="vip")
    of_subscribers = {"ListSubscriberHistory": there["id"]}
    return {
        rpc: dict.fromkeys(path_variables(rpc), of_subscribers.get(rpc, webhook["id"]))
        for rpc in LISTS
    }


@over_http
@each("name", ["limit", "page"])
@each("rpc", LISTS)
def test_limit_and_page_accept_only_integers_from_0(
    account: Account, parents: dict[str, dict[str, str]], rpc: str, name: str
) -> None:
    path = binding(rpc)[1].format(**parents[rpc])
    for case, text in INVALID_NUMBERS.items():
        response = send(account, "GET", f"{path}?{name}={text}")

        assert (response.status, response.code) == (400, "ValidationError"), case
        # A query that is not UTF-8 is rejected as a whole.
        field = "" if case == "bad UTF-8" else name
        assert [path for path, _ in response.violations] == [field], case


@over_http
@each("rpc", LISTS)
@each("name", ["limit", "page"])
def test_repeated_limit_or_page_is_rejected(
    account: Account, parents: dict[str, dict[str, str]], rpc: str, name: str
) -> None:
    path = binding(rpc)[1].format(**parents[rpc])

    response = send(account, "GET", f"{path}?{name}=1&{name}=1")

    assert (response.status, response.violations) == (400, [(name, "DUPLICATE_FIELD")])


@each("rpc", LISTS)
def test_negative_limit_or_page_is_rejected(
    account: Account, parents: dict[str, dict[str, str]], rpc: str
) -> None:
    of = parents[rpc]
    for name in ("limit", "page"):
        for number in (-1, -(2**31)):
            response = account.fails("ValidationError", rpc, **{name: number}, **of)
            assert response.violations == [(name, "OUT_OF_RANGE")]


@each("rpc", LISTS)
def test_limit_and_page_of_0_are_the_default(
    account: Account, parents: dict[str, dict[str, str]], rpc: str
) -> None:
    of = parents[rpc]

    body = account.ok(rpc, limit=0, page=0, **of)

    assert body == account.ok(rpc, **of)
    assert (body["limit"], body["page"]) == (20, 1)


@each("rpc", LISTS)
def test_maximum_page_and_limit_do_not_overflow(
    account: Account, parents: dict[str, dict[str, str]], rpc: str
) -> None:
    body = account.ok(rpc, limit=2**31 - 1, page=2**31 - 1, **parents[rpc])

    items = next(value for value in body.values() if isinstance(value, list))
    assert (items, body["limit"], body["page"]) == ([], 100, 2**31 - 1)


INVALID_IDS = {
    "empty": "",
    "25 characters": MISSING_ID[:-1],
    "27 characters": f"{MISSING_ID}0",
    "lower case": MISSING_ID.lower(),
    "dots": "../",
    "many dots": "../../etc/passwd",
    "NUL": f"{MISSING_ID[:-1]}\0",
    "NUL at the end": f"{MISSING_ID}\0",
    "past the range": f"8{'Z' * 25}",
    "letters that ULIDs lack": f"{MISSING_ID[:-1]}I",
    "blank around": f" {MISSING_ID}",
    "line break": f"{MISSING_ID}\n",
    "full-width": "０１" + MISSING_ID[2:],
    "wildcard": "%",
    "SQL": "' OR 1=1 --",
}
# Resources whose name differs from that of their service.
OTHER_RESOURCES = {
    "CreateSubscriberLinks": "Subscriber",
    "GetWebhookDelivery": "WebhookDelivery",
    "RetryWebhookDelivery": "WebhookDelivery",
}
BY_ID = {
    rpc: OTHER_RESOURCES.get(rpc, method.containing_service.name.removesuffix("Service"))
    for rpc, method in UNARY.items()
    if "id" in method.input_type.fields_by_name
}
# Required fields that are checked before the id.
OTHER_FIELDS: dict[str, dict[str, Any]] = {
    "ChangeSubscriberStatus": {"status": "CONFIRMED"},
    "AddSubscriberTags": {"tags": ["vip"]},
    "RemoveSubscriberTags": {"tags": ["vip"]},
    "ReplayWebhook": {"since": "2020-01-01T00:00:00Z"},
}


@each("rpc", sorted(BY_ID))
def test_malformed_id_is_not_found(account: Account, rpc: str) -> None:
    for case, text in INVALID_IDS.items():
        response = account.call(rpc, id=text, **OTHER_FIELDS.get(rpc, {}))

        # Over HTTP there is no path with an empty segment.
        no_route = not text and isinstance(account.front, HttpFront)
        code = "RouteNotFound" if no_route else f"{BY_ID[rpc]}NotFound"
        assert (response.status, response.code) == (404, code), case
