"""Concurrent calls, each from its own thread."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ..behavior.helpers import call_concurrently, emails, failures, statuses
from ..conftest import Account

pytestmark = pytest.mark.each_database


def test_one_of_50_concurrent_creates_of_a_field_key_succeeds(account: Account) -> None:
    labels = [f"My{'-' * number}field" for number in range(1, 51)]

    answers = call_concurrently(
        *[partial(account.call, "CreateCustomField", label=x) for x in labels]
    )

    assert statuses(answers) == [201] + [409] * 49
    assert {a.code for a in answers if a.status == 409} == {"CustomFieldAlreadyExists"}
    assert [f["key"] for f in account.ok("ListCustomFields")["customFields"]] == ["my_field"]


def test_overlapping_bulks_in_opposite_orders_create_each_email_once(account: Account) -> None:
    rows = [
        {"email": f"{number:03}@example.com", "tags": [f"tag {number % 7}"]}
        for number in range(100)
    ]
    orders = [rows, rows[::-1]] * 4

    answers = call_concurrently(
        *[partial(account.call, "BulkCreateSubscribers", subscribers=order) for order in orders]
    )

    assert statuses(answers) == [200] * 8
    reasons = [reason for answer in answers for _, reason in failures(answer.body)]
    assert reasons == ["ALREADY_EXISTS"] * 700
    assert sorted(emails(account)) == [row["email"] for row in rows]
    assert account.ok("ListTags")["total"] == 7


def test_concurrent_updates_are_atomic_for_readers(account: Account) -> None:
    made = account.ok("CreateSubscriber", email="ada@example.com")["subscriber"]
    wanted: list[dict[str, Any]] = [
        {"firstName": word, "lastName": word, "tags": [word]}
        for word in [f"word {number}" for number in range(20)]
    ]
    updates = [partial(account.call, "UpdateSubscriber", id=made["id"], **w) for w in wanted]
    reads = [partial(account.call, "GetSubscriber", id=made["id"])] * 20

    answers = call_concurrently(*updates, *reads)

    assert statuses(answers) == [200] * 40
    seen = [answer.body["subscriber"] for answer in answers]
    whole = [{**made, **item} for item in wanted]
    assert [subscriber for subscriber in seen if subscriber not in [made, *whole]] == []
    assert account.ok("GetSubscriber", id=made["id"])["subscriber"] in whole


def test_concurrent_updates_of_different_fields_are_all_stored(account: Account) -> None:
    made = account.ok("CreateSubscriber", email="ada@example.com")["subscriber"]
    changes: list[dict[str, Any]] = [
        {"firstName": "Ada"},
        {"lastName": "Lovelace"},
        {"tags": ["vip"]},
        {"email": "ada@example.org"},
    ]

    answers = call_concurrently(
        *[partial(account.call, "UpdateSubscriber", id=made["id"], **given) for given in changes]
    )

    assert statuses(answers) == [200] * 4
    for given in changes:
        made.update(given)
    assert account.ok("GetSubscriber", id=made["id"])["subscriber"] == made


def test_update_against_delete_never_brings_a_subscriber_back(account: Account) -> None:
    made = account.ok("CreateSubscriber", email="ada@example.com")["subscriber"]
    update = partial(account.call, "UpdateSubscriber", id=made["id"], firstName="Ada", tags=["vip"])

    answers = call_concurrently(
        *[update] * 10, partial(account.call, "DeleteSubscriber", id=made["id"])
    )

    assert answers[-1].status == 204
    assert {answer.status for answer in answers[:-1]} <= {200, 404}
    account.fails("SubscriberNotFound", "GetSubscriber", id=made["id"])
    account.fails("SubscriberNotFound", "UpdateSubscriber", id=made["id"], firstName="Ada")
    assert emails(account) == []


def test_concurrent_changes_of_a_subscribers_tags_are_all_stored(account: Account) -> None:
    old, new = [[f"{word} {number:02}" for number in range(25)] for word in ("old", "new")]
    ada = account.ok("CreateSubscriber", email="ada@example.com", tags=[*old, "kept"])["subscriber"]
    edits = [
        partial(account.call, rpc, id=ada["id"], tags=[tag])
        for tags in zip(old, new, strict=True)
        for rpc, tag in zip(("RemoveSubscriberTags", "AddSubscriberTags"), tags, strict=True)
    ]

    answers = call_concurrently(*edits)

    assert statuses(answers) == [200] * 50
    after = account.ok("GetSubscriber", id=ada["id"])["subscriber"]
    assert after == {**ada, "tags": ["kept", *new]}
    assert account.ok("ListTags")["total"] == 51


def test_concurrent_additions_never_pass_the_limit_of_tags(account: Account) -> None:
    names = [f"tag {number:03}" for number in range(115)]
    made = account.ok("CreateSubscriber", email="ada@example.com", tags=names[:95])["subscriber"]

    answers = call_concurrently(
        *[
            partial(account.call, "AddSubscriberTags", id=made["id"], tags=[name])
            for name in names[95:]
        ]
    )

    assert statuses(answers) == [200] * 5 + [400] * 15
    assert len(account.ok("GetSubscriber", id=made["id"])["subscriber"]["tags"]) == 100
    assert account.ok("ListTags")["total"] == 100


def test_strictest_of_concurrent_status_changes_holds(account: Account) -> None:
    made = account.ok("CreateSubscriber", email="ada@example.com")["subscriber"]
    writer = account.with_key(account.new_key("write"))
    ends = ["UNSUBSCRIBED", "BOUNCED", "COMPLAINED"] * 5

    answers = call_concurrently(
        *[
            partial(writer.call, "ChangeSubscriberStatus", id=made["id"], status=status)
            for status in ends
        ]
    )

    # A change to a less strict status fails after a change to a stricter one.
    assert set(statuses(answers)) <= {200, 409}
    after = account.ok("GetSubscriber", id=made["id"])["subscriber"]
    assert after["status"] == "COMPLAINED"
    for status, answer in zip(ends, answers, strict=True):
        assert answer.status == 409 or answer.body["subscriber"]["status"] == status


def test_delete_against_a_new_subscriber_never_lets_an_opt_out_be_forgotten(
    account: Account,
) -> None:
    ada = account.ok("CreateSubscriber", email="ada@example.com")["subscriber"]
    account.ok("ChangeSubscriberStatus", id=ada["id"], status="UNSUBSCRIBED")
    create = partial(account.call, "CreateSubscriber", email="ada@example.com", isConfirmed=True)

    answers = call_concurrently(
        *[create] * 10, partial(account.call, "DeleteSubscriber", id=ada["id"])
    )

    assert answers[-1].status == 204
    codes = {answer.code for answer in answers[:-1]}
    assert codes <= {"SubscriberAlreadyExists", "SubscriberSuppressed"}
    assert emails(account) == []
    account.ok("GetSuppression", id="ada@example.com")
