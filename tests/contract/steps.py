"""Runs requests against an account with one resource of each kind, and compares their responses.

Paths and bodies contain placeholders for the IDs of these resources: {subscriber} (with the tag
vip, confirmed), {tag}, {field} and {key}. {suppressed} is an email address. If a path is about
webhooks or events, the account also has {webhook}, which is disabled, and {delivery}, which failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..behavior.helpers import STATUSES, suppress
from ..components import free_port
from ..conftest import Account, new_account
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


def boolean(value: Any) -> bool:
    return type(value) is bool


def identifier(value: Any) -> bool:
    return string(value) and re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", value) is not None


def timestamp(value: Any) -> bool:
    shape = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    return string(value) and re.fullmatch(shape, value) is not None


def event_identifier(value: Any) -> bool:
    return string(value) and value.startswith("evt_") and identifier(value[4:])


def secret(value: Any) -> bool:
    return string(value) and re.fullmatch("whsec_[0-9A-Za-z+/]{43}=", value) is not None


def merge_tag(value: Any) -> bool:
    return string(value) and re.fullmatch(r"\{\{customFields\.[a-z0-9_]+\}\}", value) is not None


def array(value: Any) -> bool:
    return type(value) is list


def strings(value: Any) -> bool:
    return array(value) and all(map(string, value))


def two_ascending_ids(value: Any) -> bool:
    ids = [item["id"] for item in value]
    return len(ids) == 2 and ids == sorted(set(ids))


def one_of(*words: str) -> Callable[[Any], bool]:
    return words.__contains__


def differences(expected: Any, actual: Any, path: str = "") -> list[str]:
    """Returns the differences between an expected and an actual body."""
    if callable(expected):
        return [] if expected(actual) else [f"{path}: {actual!r} is not {expected.__name__}"]
    if isinstance(expected, dict):
        if type(actual) is not dict:
            return [f"{path}: {actual!r} is not an object"]
        keys = expected.keys()
        if not keys <= actual.keys() or (type(expected) is dict and keys != actual.keys()):
            return [f"{path}: has {sorted(actual)}, not {sorted(keys)}"]
        return [d for k, v in expected.items() for d in differences(v, actual[k], f"{path}.{k}")]
    if isinstance(expected, list):
        if type(actual) is not list or len(actual) != len(expected):
            return [f"{path}: {actual!r} is not {len(expected)} items"]
        pairs = enumerate(zip(expected, actual, strict=True))
        return [d for i, (e, a) in pairs for d in differences(e, a, f"{path}[{i}]")]
    is_equal = type(expected) is type(actual) and expected == actual
    return [] if is_equal else [f"{path}: {actual!r} is not {expected!r}"]


SUBSCRIBER_FIELDS: dict[str, Any] = {
    "id": identifier,
    "email": string,
    "firstName": string,
    "lastName": string,
    "status": one_of(*STATUSES),
    "tags": strings,
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
    "key": "favorite_color",
    "label": "Favorite Color",
    "dataType": "TEXT",
    "mergeTag": "{{customFields.favorite_color}}",
    "createdAt": timestamp,
    "updatedAt": timestamp,
}
WEBHOOK_FIELDS: dict[str, Any] = {
    "id": identifier,
    "url": string,
    "description": string,
    "eventTypes": strings,
    "enabled": boolean,
    "createdAt": timestamp,
    "updatedAt": timestamp,
}
DELIVERY_FIELDS: dict[str, Any] = {
    "id": identifier,
    "webhookId": identifier,
    "eventId": event_identifier,
    "eventType": "webhook.test",
    "status": "FAILED",
    "attempts": 1,
    "createdAt": timestamp,
    "finishedAt": timestamp,
}
ATTEMPT_FIELDS: dict[str, Any] = {
    "number": 1,
    "startedAt": timestamp,
    "durationMs": integer,
    "error": "connection refused",
    "responseBody": "",
}
EVENT_FIELDS: dict[str, Any] = {
    "id": event_identifier,
    "type": "webhook.test",
    "timestamp": timestamp,
    "sequence": integer,
    "data": {"webhook": WEBHOOK_FIELDS},
}
FAILURE_FIELDS: dict[str, Any] = {"index": 0, "email": "ada@example.com", "reason": string}
SUBSCRIBER, TAG = {"subscriber": SUBSCRIBER_FIELDS}, {"tag": TAG_FIELDS}
CUSTOM_FIELD = {
    "customField": {
        **CUSTOM_FIELD_FIELDS,
        "key": string,
        "label": string,
        "mergeTag": merge_tag,
    }
}
PAGE = {"total": integer, "page": 1, "limit": integer}
ERROR = {"code": string, "message": string, "details": array, "requestId": string}


def error(code: str) -> dict[str, Any]:
    return {"error": {**ERROR, "code": code}}


class Resources:
    """An account with one resource of each kind, and keys of other accounts."""

    def __init__(self, service: Service, http: HttpFront, *, with_webhook: bool) -> None:
        self.http = http
        account = new_account(service, http)
        self.keys: dict[str, str | None] = {
            "own": account.key,
            "other": new_account(service, http).key,
            "unverified": new_account(service, http, verified=False).key,
            "none": None,
            "wrong": f"{account.key[:-6]}000000",
        }
        self.ids = _create(account) | (_create_webhook(account) if with_webhook else {})

    def send(self, step: Step) -> tuple[int, str | None, Any]:
        """Sends the request of a step, and returns status, content type and body."""
        body = None
        if step.body is not None:
            text = json.dumps(step.body).replace("{subscriber}", self.ids["subscriber"])
            body = text.encode()
        path = step.path.format(**self.ids)
        status, headers, response = self.http.exchange(
            step.method, path, self.keys[step.key], body=body
        )
        return status, headers.get("content-type"), json.loads(response) if response else None


def _create(account: Account) -> dict[str, str]:
    created = account.ok(
        "CreateSubscriber", email="ada@example.com", isConfirmed=True, tags=["vip"]
    )
    field = account.ok("CreateCustomField", label="Favorite Color")
    return {
        "subscriber": created["subscriber"]["id"],
        "tag": account.ok("ListTags")["tags"][0]["id"],
        "field": field["customField"]["id"],
        "key": account.ok("CreateApiKey", name="ci", scope="read")["apiKey"]["id"],
        "suppressed": suppress(account, "gone@example.com"),
    }


def _create_webhook(account: Account) -> dict[str, str]:
    url = f"http://127.0.0.1:{free_port()}/"
    webhook = account.ok("CreateWebhook", url=url, enabled=False)["webhook"]
    delivery = account.ok("TestWebhook", id=webhook["id"])["delivery"]
    return {"webhook": webhook["id"], "delivery": delivery["id"]}


def check(service: Service, http: HttpFront, steps: list[Step]) -> None:
    """Runs steps in order, in a new account."""
    with_webhook = any(name in step.path for step in steps for name in ("webhook", "events"))
    resources = Resources(service, http, with_webhook=with_webhook)

    for step in steps:
        status, content_type, body = resources.send(step)

        assert status == step.status, (status, body)
        assert content_type == (None if status == 204 else "application/json"), content_type
        if step.expected is not None:
            assert differences(step.expected, body) == []
