"""The documented interface over HTTP: each operation with its method, path, statuses and keys.

Paths contain placeholders for the IDs of the resources of an account: {subscriber} (with the tag
vip, confirmed), {tag} and {field}.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ..behavior.helpers import STATUSES
from ..conftest import new_account
from ..fronts import HttpFront
from ..processes import Service


class Step(NamedTuple):
    """A request with a key (own, other, unverified, none or wrong), and its expected response."""

    method: str
    path: str
    status: int
    expected: Any = None
    body: Any = None
    key: str = "own"


class Subset(dict[str, Any]):
    """Expected keys of an object that may contain others."""


def string(value: Any) -> bool:
    return type(value) is str


def integer(value: Any) -> bool:
    return type(value) is int


def array(value: Any) -> bool:
    return type(value) is list


def matching(pattern: str) -> Callable[[Any], bool]:
    return lambda value: string(value) and re.fullmatch(pattern, value) is not None


def two_ascending_ids(value: Any) -> bool:
    ids = [item["id"] for item in value]
    return len(ids) == 2 and ids == sorted(set(ids))


def differences(expected: Any, actual: Any, path: str = "") -> list[str]:
    """Returns the differences between an expected and an actual body."""
    if callable(expected):
        return [] if expected(actual) else [f"{path}: unexpected {actual!r}"]
    if isinstance(expected, dict) and isinstance(actual, dict):
        if not expected.keys() <= actual.keys() or (
            type(expected) is dict and expected.keys() != actual.keys()
        ):
            return [f"{path}: has {sorted(actual)}, not {sorted(expected)}"]
        return [d for k, v in expected.items() for d in differences(v, actual[k], f"{path}.{k}")]
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [d for i, (e, a) in pairs for d in differences(e, a, f"{path}[{i}]")]
    is_equal = type(expected) is type(actual) and expected == actual
    return [] if is_equal else [f"{path}: {actual!r} is not {expected!r}"]


identifier = matching("[0-9A-HJKMNP-TV-Z]{26}")
timestamp = matching(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SUBSCRIBER_FIELDS: dict[str, Any] = {
    "id": identifier,
    "email": string,
    "firstName": string,
    "lastName": string,
    "status": STATUSES.__contains__,
    "tags": lambda value: array(value) and all(map(string, value)),
    "createdAt": timestamp,
}
TAG_FIELDS: dict[str, Any] = {
    "id": identifier,
    "name": string,
    "description": string,
    "createdAt": timestamp,
}
CUSTOM_FIELD_FIELDS: dict[str, Any] = {
    "id": identifier,
    "key": string,
    "label": string,
    "dataType": "TEXT",
    "mergeTag": matching(r"\{\{customFields\.[a-z0-9_]+\}\}"),
    "createdAt": timestamp,
    "updatedAt": timestamp,
}
FAILURE_FIELDS: dict[str, Any] = {"index": 0, "email": "ada@example.com", "reason": string}
SUBSCRIBER, TAG = {"subscriber": SUBSCRIBER_FIELDS}, {"tag": TAG_FIELDS}
CUSTOM_FIELD = {"customField": CUSTOM_FIELD_FIELDS}
PAGE = {"total": integer, "page": 1, "limit": integer}
ADA, BOB = {"email": "ada@example.com"}, {"email": "bob@example.com"}
PEOPLE, TAGS, FIELDS = "/api/subscribers", "/api/tags", "/api/custom-fields"
BULK, PERSON, LABEL, FIELD = (
    f"{PEOPLE}/bulk",
    f"{PEOPLE}/{{subscriber}}",
    f"{TAGS}/{{tag}}",
    f"{FIELDS}/{{field}}",
)
PERSON_BODY = {"firstName": "Grace", "lastName": "Hopper", "tags": ["navy"]}
TAG_BODY = {"name": "gold", "description": "pays more"}
SIZE = {"label": "Size"}


def error(code: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": string, "details": array, "requestId": string}}


def rows(count: int) -> dict[str, Any]:
    return {"subscribers": [{"email": f"{number}@example.com"} for number in range(count)]}


def bulk(*items: dict[str, Any], failed: Any = ()) -> Step:
    return Step("POST", BULK, 200, {"failed": list(failed)}, {"subscribers": list(items)})


def stored(**fields: Any) -> Step:
    """Reads the subscriber that a bulk request created."""
    return Step("GET", f"{PEOPLE}/bob%40example.com", 200, Subset(subscriber=Subset(fields)))


# All operations: method, path, body, and the status and body of the response.
OPERATIONS: dict[str, tuple[str, str, Any, int, Any]] = {
    "create a subscriber": ("POST", PEOPLE, {**BOB, **PERSON_BODY}, 201, SUBSCRIBER),
    "bulk create": ("POST", BULK, {"subscribers": [ADA]}, 200, {"failed": [FAILURE_FIELDS]}),
    "get a subscriber": ("GET", PERSON, None, 200, SUBSCRIBER),
    "list subscribers": ("GET", PEOPLE, None, 200, {**PAGE, "subscribers": [SUBSCRIBER_FIELDS]}),
    "update a subscriber": (
        "PUT",
        PERSON,
        PERSON_BODY,
        200,
        {"subscriber": {**SUBSCRIBER_FIELDS, **PERSON_BODY}},
    ),
    "delete a subscriber": ("DELETE", PERSON, None, 204, None),
    "create a tag": ("POST", TAGS, TAG_BODY, 201, {"tag": {**TAG_FIELDS, **TAG_BODY}}),
    "get a tag": ("GET", LABEL, None, 200, TAG),
    "list tags": ("GET", TAGS, None, 200, {**PAGE, "tags": [TAG_FIELDS]}),
    "update a tag": ("PUT", LABEL, TAG_BODY, 200, {"tag": {**TAG_FIELDS, **TAG_BODY}}),
    "delete a tag": ("DELETE", LABEL, None, 204, None),
    "create a custom field": ("POST", FIELDS, SIZE, 201, CUSTOM_FIELD),
    "get a custom field": ("GET", FIELD, None, 200, CUSTOM_FIELD),
    "list custom fields": (
        "GET",
        FIELDS,
        None,
        200,
        {**PAGE, "customFields": [CUSTOM_FIELD_FIELDS]},
    ),
    "update a custom field": ("PUT", FIELD, SIZE, 200, CUSTOM_FIELD),
    "delete a custom field": ("DELETE", FIELD, None, 204, None),
}

STATEMENTS: dict[str, list[Step]] = {
    **{
        f"{name}: succeeds with a key": [Step(method, path, status, expected, body)]
        for name, (method, path, body, status, expected) in OPERATIONS.items()
    },
    **{
        f"{name}: 401 without a valid key": [
            Step(method, path, 401, error("Unauthorized"), body, key=key)
            for key in ("none", "wrong")
        ]
        for name, (method, path, body, *_) in OPERATIONS.items()
    },
    **{
        f"{name}: acts for the authenticated user": [
            Step(method, path, 404, Subset(), body, key="other")
        ]
        for name, (method, path, body, *_) in OPERATIONS.items()
        if "{" in path
    },
    "identifiers are sortable": [
        Step("POST", PEOPLE, 201, SUBSCRIBER, BOB),
        Step("GET", PEOPLE, 200, Subset(subscribers=two_ascending_ids)),
    ],
    "tags are tag names on the subscriber": [
        Step("GET", PERSON, 200, Subset(subscriber=Subset(tags=["vip"], status="CONFIRMED")))
    ],
    "a bulk item sets each field": [
        bulk({**BOB, **PERSON_BODY}),
        stored(**BOB, **PERSON_BODY, status="UNCONFIRMED"),
    ],
    **{
        f"a bulk item accepts isConfirmed {flag!r}": [
            bulk({**BOB, "isConfirmed": flag}),
            stored(status="CONFIRMED" if flag in (True, "true", "1") else "UNCONFIRMED"),
        ]
        for flag in (True, "true", "1", 1, False, "false", "0", 0)
    },
    "one bad row does not fail the others": [
        bulk(
            {"email": "invalid"},
            BOB,
            BOB,
            failed=[
                {"index": 0, "email": "invalid", "reason": "INVALID_EMAIL"},
                {"index": 2, **BOB, "reason": "DUPLICATE_IN_REQUEST"},
            ],
        ),
        stored(**BOB),
    ],
    "100 subscribers per bulk request": [Step("POST", BULK, 200, {"failed": []}, rows(100))],
    "not 101 subscribers per bulk request": [
        Step("POST", BULK, 400, error("ValidationError"), rows(101)),
        Step("GET", PEOPLE, 200, Subset(total=1)),
    ],
    "bulk create: 400, invalid request": [
        Step("POST", BULK, 400, error("ValidationError"), {"subscribers": "x"})
    ],
    "the page and limit used are echoed, with the total": [
        Step("POST", PEOPLE, 201, SUBSCRIBER, BOB),
        Step(
            "GET",
            f"{PEOPLE}?limit=1&page=2",
            200,
            {"subscribers": [Subset(BOB)], "total": 2, "page": 2, "limit": 1},
        ),
        Step("GET", PEOPLE, 200, Subset(page=1, limit=20)),
        Step("GET", f"{PEOPLE}?limit=1000", 200, Subset(limit=100)),
        Step("GET", PEOPLE, 200, Subset(subscribers=[], total=0), key="other"),
    ],
    **{
        f"{name} is a nonnegative integer, not {value}": [
            Step("GET", f"{PEOPLE}?{name}={value}", 400, error("ValidationError"))
        ]
        for name, value in (("limit", "-1"), ("page", "1.5"))
    },
    **{
        f"nothing is required in the update of {path}": [Step("PUT", path, 200, Subset(), {})]
        for path in (PERSON, LABEL, FIELD)
    },
    **{
        f"{path} requires a field": [Step("POST", path, 400, error("ValidationError"), {})]
        for path in (PEOPLE, TAGS, FIELDS, BULK)
    },
    "create a custom field: 403 EmailNotVerified": [
        Step("POST", FIELDS, 403, error("EmailNotVerified"), SIZE, key="unverified")
    ],
    "create a custom field: 409, conflict": [
        Step("POST", FIELDS, 409, error("CustomFieldAlreadyExists"), {"label": "favorite-color"})
    ],
    "paths carry no version segment": [
        Step("GET", path, 404, error("RouteNotFound"))
        for path in ("/v1/api/subscribers", "/api/v1/subscribers", "/v1/subscribers")
    ],
}


@pytest.mark.parametrize("steps", STATEMENTS.values(), ids=STATEMENTS)
def test_interface(service: Service, http: HttpFront, steps: list[Step]) -> None:
    account = new_account(service, http)
    created = account.ok("CreateSubscriber", **ADA, isConfirmed=True, tags=["vip"])
    ids = {
        "subscriber": created["subscriber"]["id"],
        "tag": account.ok("ListTags")["tags"][0]["id"],
        "field": account.ok("CreateCustomField", label="Favorite Color")["customField"]["id"],
    }
    keys: dict[str, Callable[[], str | None]] = {
        "own": lambda: account.key,
        "other": lambda: new_account(service, http).key,
        "unverified": lambda: new_account(service, http, verified=False).key,
        "none": lambda: None,
        "wrong": lambda: f"{account.key[:-6]}000000",
    }
    for step in steps:
        body = None if step.body is None else json.dumps(step.body).encode()
        path = step.path.format(**ids)
        status, headers, text = http.exchange(step.method, path, keys[step.key](), body=body)

        assert status == step.status, text
        if status == 204:
            assert text == b""
            continue
        assert headers["content-type"] == "application/json"
        assert differences(step.expected, json.loads(text)) == []
