"""Tests each statement of the documented interface over HTTP.

steps.py describes the steps and their placeholders.
"""

from __future__ import annotations

from typing import Any

import pytest

from ..behavior.helpers import STATUSES
from ..fronts import HttpFront
from ..processes import Service
from .steps import (
    CUSTOM_FIELD,
    CUSTOM_FIELD_FIELDS,
    FAILURE_FIELDS,
    PAGE,
    SUBSCRIBER,
    SUBSCRIBER_FIELDS,
    TAG,
    TAG_FIELDS,
    Step,
    Subset,
    check,
    error,
    merge_tag,
    one_of,
    two_ascending_ids,
)

UNAUTHORIZED = error("Unauthorized")
ADA, BOB = {"email": "ada@example.com"}, {"email": "bob@example.com"}
BULK, PERSON, LABEL = "/api/subscribers/bulk", "/api/subscribers/{subscriber}", "/api/tags/{tag}"
FIELDS, FIELD = "/api/custom-fields", "/api/custom-fields/{field}"
PERSON_BODY = {"firstName": "Grace", "lastName": "Hopper", "tags": ["navy"]}
TAG_BODY = {"name": "gold", "description": "pays more"}


def rows(count: int) -> dict[str, Any]:
    return {"subscribers": [{"email": f"{number}@example.com"} for number in range(count)]}


def bulk(*items: dict[str, Any], failed: Any = ()) -> Step:
    return Step("POST", BULK, 200, {"failed": list(failed)}, {"subscribers": list(items)})


def stored(**fields: Any) -> Step:
    """Reads the subscriber that a bulk request created."""
    return Step("GET", "/api/subscribers/bob%40example.com", 200, Subset(subscriber=Subset(fields)))


# All operations in part 4, including those without specified details: method, path, body.
OPERATIONS: dict[str, tuple[str, str, Any]] = {
    "update a subscriber": ("PUT", PERSON, PERSON_BODY),
    "get all subscribers": ("GET", "/api/subscribers", None),
    "bulk create subscribers": ("POST", BULK, rows(1)),
    "create a tag": ("POST", "/api/tags", TAG_BODY),
    "update a tag": ("PUT", LABEL, TAG_BODY),
    "create a custom field": ("POST", FIELDS, {"label": "Size"}),
    "get a subscriber": ("GET", PERSON, None),
    "delete a subscriber": ("DELETE", PERSON, None),
    "create a subscriber": ("POST", "/api/subscribers", BOB),
    "get all tags": ("GET", "/api/tags", None),
    "get a tag": ("GET", LABEL, None),
    "delete a tag": ("DELETE", LABEL, None),
    "get all custom fields": ("GET", FIELDS, None),
    "get a custom field": ("GET", FIELD, None),
    "update a custom field": ("PUT", FIELD, {"label": "Size"}),
    "delete a custom field": ("DELETE", FIELD, None),
}

STATEMENTS: dict[str, list[Step]] = {
    # 1. What the service does
    "1: subscribers are created one at a time": [
        Step("POST", "/api/subscribers", 201, SUBSCRIBER, BOB)
    ],
    "1: subscribers are created up to 100 per request": [
        Step("POST", BULK, 200, {"failed": []}, rows(100))
    ],
    "1: subscribers are read singly": [Step("GET", PERSON, 200, SUBSCRIBER)],
    "1: subscribers are read as a page": [
        Step(
            "GET",
            "/api/subscribers?page=1&limit=1",
            200,
            {**PAGE, "subscribers": [SUBSCRIBER_FIELDS]},
        )
    ],
    "1: subscribers are updated": [Step("PUT", PERSON, 200, SUBSCRIBER, PERSON_BODY)],
    "1: subscribers are deleted": [
        Step("DELETE", PERSON, 204),
        Step("GET", PERSON, 404, Subset()),
    ],
    "1: tags are created": [Step("POST", "/api/tags", 201, TAG, TAG_BODY)],
    "1: tags are listed": [Step("GET", "/api/tags", 200, {**PAGE, "tags": [TAG_FIELDS]})],
    "1: tags are read": [Step("GET", LABEL, 200, TAG)],
    "1: tags are updated": [Step("PUT", LABEL, 200, TAG, TAG_BODY)],
    "1: tags are deleted": [Step("DELETE", LABEL, 204), Step("GET", LABEL, 404, Subset())],
    "1: a custom field is defined by a label and has a merge tag": [
        Step("POST", FIELDS, 201, Subset(customField=Subset(mergeTag=merge_tag)), {"label": "Size"})
    ],
    "1: requests act for the authenticated user": [
        Step("GET", PERSON, 404, Subset(), key="other"),
        Step("GET", "/api/subscribers", 200, Subset(subscribers=[]), key="other"),
    ],
    # 2. Resources and their fields
    "2: identifiers are sortable": [
        Step("POST", "/api/subscribers", 201, SUBSCRIBER, BOB),
        Step("GET", "/api/subscribers", 200, Subset(subscribers=two_ascending_ids)),
    ],
    **{
        f"2: Subscriber.{name}": [Step("GET", PERSON, 200, Subset(subscriber=Subset({name: kind})))]
        for name, kind in SUBSCRIBER_FIELDS.items()
    },
    "2: a subscriber is wrapped and has no other key": [Step("GET", PERSON, 200, SUBSCRIBER)],
    "2: tags are tag names on the subscriber": [
        Step("GET", PERSON, 200, Subset(subscriber=Subset(tags=["vip"])))
    ],
    **{
        f"2: update sets {name}": [
            Step("PUT", PERSON, 200, Subset(subscriber=Subset({name: value})), {name: value}),
            Step("GET", PERSON, 200, Subset(subscriber=Subset({name: value}))),
        ]
        for name, value in PERSON_BODY.items()
    },
    "2: a bulk item sets email": [bulk(BOB), stored(email="bob@example.com")],
    **{
        f"2: a bulk item sets {name}": [bulk({**BOB, name: value}), stored(**{name: value})]
        for name, value in PERSON_BODY.items()
    },
    **{
        f"2: a bulk item accepts isConfirmed {flag!r}": [
            bulk({**BOB, "isConfirmed": flag}),
            stored(status=status),
        ]
        for status, flags in {
            "CONFIRMED": [True, "true", "1", 1],
            "UNCONFIRMED": [False, "false", "0", 0],
        }.items()
        for flag in flags
    },
    **{
        f"2: Tag.{name}": [Step("GET", LABEL, 200, Subset(tag=Subset({name: kind})))]
        for name, kind in TAG_FIELDS.items()
    },
    "2: a tag is wrapped and has no other key": [Step("GET", LABEL, 200, TAG)],
    **{
        f"2: {verb} of a tag sets {name}": [
            Step(method, path, status, Subset(tag=Subset({name: value})), TAG_BODY)
        ]
        for verb, method, path, status in [
            ("create", "POST", "/api/tags", 201),
            ("update", "PUT", LABEL, 200),
        ]
        for name, value in TAG_BODY.items()
    },
    **{
        f"2: CustomField.{name}": [
            Step("GET", FIELD, 200, Subset(customField=Subset({name: kind})))
        ]
        for name, kind in CUSTOM_FIELD_FIELDS.items()
    },
    "2: a custom field is wrapped and has no other key": [
        Step("GET", FIELD, 200, {"customField": CUSTOM_FIELD_FIELDS})
    ],
    **{
        f"2: bulk failure {name}": [bulk(ADA, failed=[Subset({name: kind})])]
        for name, kind in FAILURE_FIELDS.items()
    },
    "2: a bulk failure has no other key": [bulk(ADA, failed=[FAILURE_FIELDS])],
    # 3. States and transitions
    "3: status is enumerated": [
        Step("GET", PERSON, 200, Subset(subscriber=Subset(status=one_of(*STATUSES))))
    ],
    "3: CONFIRMED is present": [
        Step("GET", PERSON, 200, Subset(subscriber=Subset(status="CONFIRMED")))
    ],
    # 4. Endpoints
    "4: update a subscriber": [Step("PUT", PERSON, 200, SUBSCRIBER, PERSON_BODY)],
    "4: get all subscribers": [
        Step("GET", "/api/subscribers", 200, {**PAGE, "subscribers": [SUBSCRIBER_FIELDS]})
    ],
    "4: bulk create subscribers": [
        Step("POST", BULK, 200, {"failed": [FAILURE_FIELDS]}, {"subscribers": [ADA, BOB]})
    ],
    "4: create a tag": [Step("POST", "/api/tags", 201, TAG, TAG_BODY)],
    "4: update a tag": [Step("PUT", LABEL, 200, TAG, TAG_BODY)],
    "4: create a custom field": [Step("POST", FIELDS, 201, CUSTOM_FIELD, {"label": "Size"})],
    "4 rule 1: one bad row does not fail the others": [
        bulk(
            {"email": "invalid"},
            BOB,
            failed=[{"index": 0, "email": "invalid", "reason": "INVALID_EMAIL"}],
        ),
        stored(email="bob@example.com"),
    ],
    "4 rule 1: failed is empty when all rows succeed": [bulk(BOB)],
    "4 rule 2: the page and limit used are echoed, with the total": [
        Step("POST", "/api/subscribers", 201, SUBSCRIBER, BOB),
        Step(
            "GET",
            "/api/subscribers?limit=1&page=2",
            200,
            {"subscribers": [Subset(BOB)], "total": 2, "page": 2, "limit": 1},
        ),
    ],
    "4 rule 2: only the user's subscribers are returned": [
        Step("GET", "/api/subscribers", 200, Subset(subscribers=[], total=0), key="other")
    ],
    "4 rule 3: create a custom field returns a mergeTag": [
        Step(
            "POST",
            FIELDS,
            201,
            Subset(customField=Subset(mergeTag="{{customFields.size}}")),
            {"label": "Size"},
        )
    ],
    "4 open 1: get a subscriber by ID": [Step("GET", PERSON, 200, SUBSCRIBER)],
    "4 open 2: delete a subscriber": [Step("DELETE", PERSON, 204)],
    "4 open 3: create one subscriber": [
        Step("POST", "/api/subscribers", 201, SUBSCRIBER, {**BOB, **PERSON_BODY})
    ],
    "4 open 4: get all tags": [
        Step("GET", "/api/tags?limit=5&page=1", 200, {"tags": [TAG_FIELDS], **PAGE})
    ],
    "4 open 5: get a tag by ID": [Step("GET", LABEL, 200, TAG)],
    "4 open 6: delete a tag": [Step("DELETE", LABEL, 204)],
    "4 open 7: list custom fields": [
        Step("GET", FIELDS, 200, {"customFields": [CUSTOM_FIELD_FIELDS], **PAGE})
    ],
    "4 open 7: get a custom field": [Step("GET", FIELD, 200, CUSTOM_FIELD)],
    "4 open 7: update a custom field": [
        Step("PUT", FIELD, 200, Subset(customField=Subset(label="Size")), {"label": "Size"})
    ],
    "4 open 7: delete a custom field": [
        Step("DELETE", FIELD, 204),
        Step("GET", FIELD, 404, Subset()),
    ],
    "4 open 8: limit and page have defaults": [
        Step("GET", "/api/subscribers", 200, Subset(page=1, limit=20))
    ],
    "4 open 8: limit is at most 100": [
        Step("GET", "/api/subscribers?limit=1000", 200, Subset(limit=100))
    ],
    **{
        f"4 open 8: {name} is a nonnegative integer, not {value}": [
            Step("GET", f"/api/subscribers?{name}={value}", 400, error("ValidationError"))
        ]
        for name in ("limit", "page")
        for value in ("-1", "abc", "1.5")
    },
    **{
        f"4 open 9: nothing is required in the update of {path}": [
            Step("PUT", path, 200, Subset(), {})
        ]
        for path in (PERSON, LABEL, FIELD)
    },
    **{
        f"4 open 9: {name} is required in the create of {path}": [
            Step("POST", path, 400, error("ValidationError"), {})
        ]
        for path, name in {
            "/api/subscribers": "email",
            "/api/tags": "name",
            FIELDS: "label",
            BULK: "subscribers",
        }.items()
    },
    # 5. Authentication
    **{
        f"5: {operation} lists 401": [Step(method, path, 401, UNAUTHORIZED, body, key="none")]
        for operation, (method, path, body) in OPERATIONS.items()
    },
    **{
        f"5: {operation} succeeds with a key": [Step(method, path, status, body=body, key="own")]
        for operation, (method, path, body) in OPERATIONS.items()
        for status in [
            {"DELETE": 204, "POST": 200 if path == BULK else 201}.get(method, 200),
        ]
    },
    # 7. Errors
    **{
        f"7: {operation} 401 Unauthorized": [
            Step(
                *OPERATIONS[operation][:2], 401, UNAUTHORIZED, OPERATIONS[operation][2], key="wrong"
            )
        ]
        for operation in list(OPERATIONS)[:6]
    },
    "7: bulk create 400, invalid request": [
        Step("POST", BULK, 400, error("ValidationError"), {"subscribers": "x"})
    ],
    "7: create a custom field 400 ValidationError": [
        Step("POST", FIELDS, 400, error("ValidationError"), {"label": ""})
    ],
    "7: create a custom field 403 EmailNotVerified": [
        Step("POST", FIELDS, 403, error("EmailNotVerified"), {"label": "Size"}, key="unverified")
    ],
    "7: create a custom field 409, conflict": [
        Step("POST", FIELDS, 409, error("CustomFieldAlreadyExists"), {"label": "favorite-color"})
    ],
    "7: reason DUPLICATE_IN_REQUEST": [
        bulk(BOB, BOB, failed=[{"index": 1, **BOB, "reason": "DUPLICATE_IN_REQUEST"}])
    ],
    # 8. Limits
    "8: 100 subscribers per bulk request": [Step("POST", BULK, 200, {"failed": []}, rows(100))],
    "8: not 101 subscribers per bulk request": [
        Step("POST", BULK, 400, error("ValidationError"), rows(101)),
        Step("GET", "/api/subscribers", 200, Subset(total=1)),
    ],
    # 9. Versioning
    **{
        f"9: paths carry no version segment, not {path}": [
            Step("GET", path, 404, error("RouteNotFound"))
        ]
        for path in ("/v1/api/subscribers", "/api/v1/subscribers", "/v1/subscribers")
    },
}


@pytest.mark.parametrize("steps", STATEMENTS.values(), ids=STATEMENTS)
def test_interface(service: Service, http: HttpFront, steps: list[Step]) -> None:
    check(service, http, steps)
