"""Tests operations over HTTP that the documented interface does not cover: methods, paths,
statuses, keys.

steps.py describes the steps and their placeholders. tests/behavior tests the effects in detail.
"""

from __future__ import annotations

from typing import Any

import pytest

from ..fronts import HttpFront
from ..processes import Service
from .steps import (
    ATTEMPT_FIELDS,
    CUSTOM_FIELD,
    DELIVERY_FIELDS,
    EVENT_FIELDS,
    PAGE,
    SUBSCRIBER,
    SUBSCRIBER_FIELDS,
    TAG,
    WEBHOOK_FIELDS,
    Step,
    Subset,
    check,
    error,
    identifier,
    one_of,
    secret,
    string,
    timestamp,
)

PERSON = "/api/subscribers/{subscriber}"
STATUS, ADD, REMOVE = f"{PERSON}/status", f"{PERSON}/tags", f"{PERSON}/tags/remove"
RENDER, RENDERED = "/api/merge-tags/render", {"subject": string, "body": string, "unknown": []}
ALL_SUPPRESSED, SUPPRESSED = "/api/suppressions", "/api/suppressions/{suppressed}"
KEYS, KEY = "/api/keys", "/api/keys/{key}"
ACCOUNT_FIELDS: dict[str, Any] = {
    "id": identifier,
    "email": string,
    "emailVerified": True,
    "displayName": string,
    "color": string,
    "logo": string,
    "createdAt": timestamp,
}
VALUES = {"customFields": {"favorite_color": "blue"}}

SUPPRESSION_FIELDS: dict[str, Any] = {
    "emailHash": string,
    "reason": "UNSUBSCRIBED",
    "createdAt": timestamp,
}
KEY_FIELDS: dict[str, Any] = {
    "id": identifier,
    "name": string,
    "scope": one_of("read", "write", "admin"),
    "createdAt": timestamp,
}
SECRET = {"apiKey": KEY_FIELDS, "secret": string}
HOOKS, HOOK, EVENTS = "/api/webhooks", "/api/webhooks/{webhook}", "/api/events"
DELIVERY = "/api/webhook-deliveries/{delivery}"
NEW_HOOK = {"url": "https://example.com/hook", "enabled": False}
WEBHOOK = {"webhook": WEBHOOK_FIELDS}
# The retry restarts the schedule. The delivery stays pending because its webhook is disabled.
RETRIED = {
    **{name: value for name, value in DELIVERY_FIELDS.items() if name != "finishedAt"},
    "status": "PENDING",
    "nextAttemptAt": timestamp,
}
REPLAY_FIELDS: dict[str, Any] = {
    "id": identifier,
    "webhookId": identifier,
    "createdAt": timestamp,
}
WITH_VALUES = {"subscriber": {**SUBSCRIBER_FIELDS, **VALUES}}

# Method, path and body of a request, and status and body of its response.
OPERATIONS: dict[str, tuple[str, str, Any, int, Any]] = {
    "change a status": ("PUT", STATUS, {"status": "BOUNCED"}, 200, SUBSCRIBER),
    "add tags": ("POST", ADD, {"tags": ["new"]}, 200, SUBSCRIBER),
    "remove tags": ("POST", REMOVE, {"tags": ["vip"]}, 200, SUBSCRIBER),
    "update a subscriber by PATCH": ("PATCH", PERSON, {"firstName": "A."}, 200, SUBSCRIBER),
    "update values": ("PUT", PERSON, VALUES, 200, WITH_VALUES),
    "create with values": (
        "POST",
        "/api/subscribers",
        {"email": "bob@example.com", **VALUES},
        201,
        WITH_VALUES,
    ),
    "update a tag by PATCH": ("PATCH", "/api/tags/{tag}", {"name": "gold"}, 200, TAG),
    "update a custom field by PATCH": (
        "PATCH",
        "/api/custom-fields/{field}",
        {"label": "Size"},
        200,
        CUSTOM_FIELD,
    ),
    "list suppressions": (
        "GET",
        ALL_SUPPRESSED,
        None,
        200,
        {"suppressions": [SUPPRESSION_FIELDS], **PAGE},
    ),
    "get a suppression": ("GET", SUPPRESSED, None, 200, {"suppression": SUPPRESSION_FIELDS}),
    "delete a suppression": ("DELETE", SUPPRESSED, None, 204, None),
    "render": (
        "POST",
        RENDER,
        {"subject": "Dear {{firstName}}", "body": "{{email}}", "subscriberId": "{subscriber}"},
        200,
        RENDERED,
    ),
    "get the account": ("GET", "/api/account", None, 200, {"account": ACCOUNT_FIELDS}),
    "update the account": (
        "PATCH",
        "/api/account",
        {"displayName": "Letters"},
        200,
        {"account": {**ACCOUNT_FIELDS, "displayName": "Letters"}},
    ),
    "create a key": ("POST", KEYS, {"name": "ci", "scope": "write"}, 201, SECRET),
    "list keys": ("GET", KEYS, None, 200, {"apiKeys": [KEY_FIELDS] * 2, **PAGE}),
    "rotate a key": ("POST", f"{KEY}/rotate", {}, 200, SECRET),
    "revoke a key": ("DELETE", KEY, None, 204, None),
    "create a webhook": ("POST", HOOKS, NEW_HOOK, 201, {**WEBHOOK, "secret": secret}),
    "list webhooks": ("GET", HOOKS, None, 200, {"webhooks": [WEBHOOK_FIELDS], **PAGE}),
    "get a webhook": ("GET", HOOK, None, 200, WEBHOOK),
    "update a webhook": ("PUT", HOOK, {"eventTypes": ["tag.*"]}, 200, WEBHOOK),
    "update a webhook by PATCH": ("PATCH", HOOK, {"description": "x"}, 200, WEBHOOK),
    "delete a webhook": ("DELETE", HOOK, None, 204, None),
    "rotate a secret": (
        "POST",
        f"{HOOK}/rotate-secret",
        None,
        200,
        {**WEBHOOK, "secret": secret},
    ),
    "test a webhook": (
        "POST",
        f"{HOOK}/test",
        None,
        200,
        {"delivery": DELIVERY_FIELDS, "attempt": ATTEMPT_FIELDS},
    ),
    "replay to a webhook": (
        "POST",
        f"{HOOK}/replay",
        {"since": "2020-01-01T00:00:00Z"},
        202,
        {"replay": REPLAY_FIELDS},
    ),
    "list deliveries": (
        "GET",
        f"{HOOK}/deliveries",
        None,
        200,
        {"deliveries": [DELIVERY_FIELDS], **PAGE},
    ),
    "get a delivery": (
        "GET",
        DELIVERY,
        None,
        200,
        {"delivery": DELIVERY_FIELDS, "attempts": [ATTEMPT_FIELDS]},
    ),
    "retry a delivery": ("POST", f"{DELIVERY}/retry", None, 202, {"delivery": RETRIED}),
    "list events": ("GET", EVENTS, None, 200, {"events": [EVENT_FIELDS], **PAGE}),
}

# Bulk rows that fail: the reason, the email, and the other fields of the row.
FAILING_ROWS: list[tuple[str, str, dict[str, Any]]] = [
    ("SUPPRESSED", "gone@example.com", {}),
    ("UNKNOWN_CUSTOM_FIELD", "bob@example.com", {"customFields": {"size": "x"}}),
    ("INVALID_CUSTOM_FIELD", "bob@example.com", {"customFields": {"favorite_color": 1}}),
    ("INVALID_FIELD", "bob@example.com", {"customFields": []}),
]


def rejected(method: str, path: str, status: int, code: str, body: Any = None, **rest: str) -> Step:
    return Step(method, path, status, error(code), body, **rest)


def change_status(*statuses: str) -> list[Step]:
    return [
        Step("PUT", STATUS, 200, Subset(subscriber=Subset(status=status)), {"status": status})
        for status in statuses
    ]


BEHAVIORS: dict[str, list[Step]] = {
    **{
        operation: [Step(method, path, status, expected, body)]
        for operation, (method, path, body, status, expected) in OPERATIONS.items()
    },
    **{
        f"{operation}: 401 without a key": [
            rejected(method, path, 401, "Unauthorized", body, key="none")
        ]
        for operation, (method, path, body, _, _) in OPERATIONS.items()
    },
    **{
        f"{operation}: 404 with the key of another account": [
            Step(method, path, 404, Subset(), body, key="other")
        ]
        for operation, (method, path, body, _, _) in OPERATIONS.items()
        if "{" in path or "subscriberId" in (body or {})
    },
    "a subscriber is read by its URL-encoded email": [
        Step("GET", "/api/subscribers/ada%40example.com", 200, SUBSCRIBER)
    ],
    "a changed status is stored": [
        *change_status("UNSUBSCRIBED"),
        Step("GET", PERSON, 200, Subset(subscriber=Subset(status="UNSUBSCRIBED"))),
    ],
    "a transition that is not allowed is 409 InvalidStatusTransition": [
        *change_status("UNSUBSCRIBED"),
        rejected("PUT", STATUS, 409, "InvalidStatusTransition", {"status": "BOUNCED"}),
    ],
    "an admin key can undo a complaint": change_status("COMPLAINED", "CONFIRMED"),
    "a status is required": [rejected("PUT", STATUS, 400, "ValidationError", {})],
    "a status is changed by PUT only": [
        rejected("PATCH", STATUS, 405, "MethodNotAllowed", {"status": "BOUNCED"}),
        rejected("POST", STATUS, 405, "MethodNotAllowed", {"status": "BOUNCED"}),
    ],
    "added tags are stored": [
        Step("POST", ADD, 200, Subset(subscriber=Subset(tags=["new", "vip"])), {"tags": ["new"]}),
        Step("GET", PERSON, 200, Subset(subscriber=Subset(tags=["new", "vip"]))),
    ],
    "removed tags are not stored": [
        Step("POST", REMOVE, 200, Subset(subscriber=Subset(tags=[])), {"tags": ["VIP"]}),
        Step("GET", PERSON, 200, Subset(subscriber=Subset(tags=[]))),
    ],
    "tags are required": [
        rejected("POST", ADD, 400, "ValidationError", {"tags": []}),
        rejected("POST", REMOVE, 400, "ValidationError", {}),
    ],
    "a custom field value is stored and removed": [
        Step("PUT", PERSON, 200, WITH_VALUES, VALUES),
        Step("GET", PERSON, 200, WITH_VALUES),
        Step("PUT", PERSON, 200, SUBSCRIBER, {"customFields": {"favorite_color": None}}),
        Step("GET", PERSON, 200, SUBSCRIBER),
    ],
    "a value of an unknown field is 400": [
        rejected("PUT", PERSON, 400, "ValidationError", {"customFields": {"size": 1}})
    ],
    **{
        f"a bulk row fails for {reason}": [
            Step(
                "POST",
                "/api/subscribers/bulk",
                200,
                {"failed": [{"index": 0, "email": email, "reason": reason}]},
                {"subscribers": [{"email": email, **rest}]},
            )
        ]
        for reason, email, rest in FAILING_ROWS
    },
    "a suppressed email is 409 SubscriberSuppressed until the suppression is deleted": [
        rejected(
            "POST", "/api/subscribers", 409, "SubscriberSuppressed", {"email": "gone@example.com"}
        ),
        Step("DELETE", SUPPRESSED, 204),
        rejected("GET", SUPPRESSED, 404, "SuppressionNotFound"),
        rejected("DELETE", SUPPRESSED, 404, "SuppressionNotFound"),
        Step("POST", "/api/subscribers", 201, SUBSCRIBER, {"email": "gone@example.com"}),
    ],
    "deleting a subscriber who opted out suppresses the email": [
        *change_status("COMPLAINED"),
        Step("DELETE", PERSON, 204),
        Step("GET", "/api/suppressions/ada%40example.com", 200, Subset()),
        Step("GET", ALL_SUPPRESSED, 200, Subset(total=2)),
    ],
    "a url that is not public is 400": [
        rejected("POST", HOOKS, 400, "ValidationError", {"url": "https://10.0.0.1/"}),
        rejected("PUT", HOOK, 400, "ValidationError", {"url": "https://[fe80::1]/"}),
    ],
    "a webhook request is validated": [
        rejected("POST", HOOKS, 400, "ValidationError", {}),
        rejected("POST", HOOKS, 400, "ValidationError", {**NEW_HOOK, "secret": "whsec_x"}),
        rejected("POST", HOOKS, 400, "ValidationError", {**NEW_HOOK, "eventTypes": ["tags"]}),
    ],
    "deliveries are deleted with their webhook": [
        Step("DELETE", HOOK, 204),
        rejected("GET", HOOK, 404, "WebhookNotFound"),
        rejected("GET", f"{HOOK}/deliveries", 404, "WebhookNotFound"),
        rejected("GET", DELIVERY, 404, "WebhookDeliveryNotFound"),
        rejected("POST", f"{DELIVERY}/retry", 404, "WebhookDeliveryNotFound"),
        Step("GET", EVENTS, 200, {"events": [EVENT_FIELDS], **PAGE}),
    ],
    **{
        f"events are listed by {query}": [
            Step("GET", f"{EVENTS}?{query}", 200, {"events": [Subset()] * count, **PAGE})
        ]
        for query, count in {
            "type=webhook.*": 1,
            "type=webhook.test&order=desc": 1,
            "type=tag.*": 0,
            "afterSequence=1": 0,
            "createdAfter=2020-01-01T00:00:00Z": 1,
            "createdBefore=2020-01-01T00:00:00Z": 0,
        }.items()
    },
    **{
        f"invalid filter of events: {query}": [
            rejected("GET", f"{EVENTS}?{query}", 400, "ValidationError")
        ]
        for query in ("type=x", "order=up", "afterSequence=-1", "afterSequence=x", "q=x")
    },
    "history of a subscriber": [
        Step(
            "GET",
            f"{PERSON}/history?limit=1",
            200,
            {"history": [Subset(id=identifier, createdAt=timestamp, source="API")], **PAGE},
        ),
        rejected("GET", "/api/subscribers/x/history", 404, "SubscriberNotFound"),
        rejected("GET", f"{PERSON}/history?pageToken=x", 400, "ValidationError"),
    ],
    "unknown keys of a template are listed": [
        Step(
            "POST",
            RENDER,
            200,
            {"subject": "", "body": "<p></p>", "unknown": ["size"]},
            {"body": "<p>{{customFields.size}}</p>", "subscriberId": "{subscriber}"},
        )
    ],
    "rendering requires a subscriber": [
        rejected("POST", RENDER, 400, "ValidationError", {"body": "x"}),
        rejected("POST", RENDER, 404, "SubscriberNotFound", {"subscriberId": "x"}),
    ],
    **{
        f"subscribers are listed by {query}": [
            Step(
                "GET",
                f"/api/subscribers?{query}",
                200,
                {"subscribers": [Subset()] * count, **PAGE},
            )
        ]
        for query, count in {
            "status=CONFIRMED": 1,
            "status=BOUNCED": 0,
            "tag=VIP": 1,
            "tag=gold": 0,
            "email=ADA@example.com": 1,
            "email=bob@example.com": 0,
            "q=ad": 1,
            "q=da": 0,
            "createdAfter=2020-01-01T00:00:00Z": 1,
            "createdBefore=2020-01-01T00:00:00Z": 0,
            "updatedAfter=2020-01-01T00:00:00Z": 1,
            "updatedBefore=2020-01-01T00:00:00Z": 0,
            "orderBy=updatedAt&view=FULL": 1,
            "order=desc&status=CONFIRMED&tag=vip&q=ada": 1,
        }.items()
    },
    **{
        f"invalid filter of subscribers: {query}": [
            rejected("GET", f"/api/subscribers?{query}", 400, "ValidationError")
        ]
        for query in (
            "status=x",
            "email=ada",
            "order=up",
            "orderBy=email",
            "createdAfter=x",
            "createdBefore=x",
            "updatedAfter=x",
            "updatedBefore=x",
            "pageToken=x",
            "view=x",
        )
    },
}


@pytest.mark.parametrize("steps", BEHAVIORS.values(), ids=BEHAVIORS)
def test_operation(service: Service, http: HttpFront, steps: list[Step]) -> None:
    check(service, http, steps)
