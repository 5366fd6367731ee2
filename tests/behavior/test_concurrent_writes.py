"""Calls of one account that wait for each other run together, and respond as if alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

import pytest

from ..conftest import Account
from ..fronts import Response
from .helpers import (
    call_concurrently,
    create_field,
    create_subscriber,
    emails,
    stored,
    suppress,
)

pytestmark = pytest.mark.each_database


def codes(responses: Sequence[Response]) -> Counter[str]:
    return Counter(response.code if response.status >= 400 else "" for response in responses)


def test_concurrent_creations_each_get_their_own_response(account: Account) -> None:
    create_field(account, "Plan")
    suppress(account, "gone@example.com")
    create_subscriber(account, "here@example.com")
    create = partial(account.call, "CreateSubscriber")
    calls = []
    for number in range(8):
        calls += [
            partial(create, email=f"p{number}@example.com", firstName=f"P{number}", tags=["vip"]),
            partial(create, email="twice@example.com"),
            partial(create, email="gone@example.com"),
            partial(create, email="here@example.com"),
            partial(create, email=f"x{number}@example.com", customFields={"nope": number}),
        ]

    responses = call_concurrently(*calls)

    assert codes(responses[0::5]) == {"": 8}
    assert codes(responses[1::5]) == {"": 1, "SubscriberAlreadyExists": 7}
    assert codes(responses[2::5]) == {"SubscriberSuppressed": 8}
    assert codes(responses[3::5]) == {"SubscriberAlreadyExists": 8}
    assert codes(responses[4::5]) == {"ValidationError": 8}
    for number, response in enumerate(responses[0::5]):
        subscriber = response.body["subscriber"]
        assert (subscriber["firstName"], subscriber["tags"]) == (f"P{number}", ["vip"])
        assert stored(account, subscriber) == subscriber
    violations = [response.violations for response in responses[4::5]]
    assert violations == [[("customFields.nope", "UNKNOWN_FIELD")]] * 8
    expected = {"here@example.com", "twice@example.com", *(f"p{n}@example.com" for n in range(8))}
    assert set(emails(account)) == expected
    assert account.ok("ListSubscribers")["total"] == 10


def test_concurrent_lookups_each_get_their_own_subscriber(account: Account) -> None:
    people = [create_subscriber(account, f"p{number}@example.com") for number in range(6)]
    references = [person[name] for person in people for name in ("id", "email")] * 2
    references += ["no@example.com", "01M00000000000000000000000"]

    responses = call_concurrently(
        *[partial(account.call, "GetSubscriber", id=reference) for reference in references]
    )

    assert codes(responses) == {"": 24, "SubscriberNotFound": 2}
    for reference, response in zip(references, responses[:24], strict=False):
        assert reference in response.body["subscriber"].values()
