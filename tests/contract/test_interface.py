"""The documented interface over HTTP: each operation with its method, path, status and keys.

Paths contain placeholders for the IDs of the resources of an account: {subscriber}, {tag} and
{field}. The methods and paths of the other tests are those of the protos.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..conftest import new_account
from ..fronts import HttpFront
from ..processes import Service

PERSON = {"id", "email", "firstName", "lastName", "status", "tags", "createdAt"}
TAG = {"id", "name", "description", "createdAt"}
FIELD = {"id", "key", "label", "dataType", "mergeTag", "createdAt", "updatedAt"}
FAILURE = {"index", "email", "reason"}
PAGE = {"total": int, "page": int, "limit": int}
PEOPLE, TAGS, FIELDS = "/api/subscribers", "/api/tags", "/api/custom-fields"
BOB = {"email": "bob@example.com", "firstName": "Bob", "tags": ["navy"]}
BULK = {"subscribers": [{"email": "ada@example.com"}]}
# All operations: the request, and the status and content of the response. A set is the keys of an
# object, and a list has one of them.
OPERATIONS: dict[str, tuple[Any, int, Any]] = {
    f"POST {PEOPLE}": (BOB, 201, {"subscriber": PERSON}),
    f"POST {PEOPLE}/bulk": (BULK, 200, {"failed": [FAILURE]}),
    f"GET {PEOPLE}/{{subscriber}}": (None, 200, {"subscriber": PERSON}),
    f"GET {PEOPLE}": (None, 200, {**PAGE, "subscribers": [PERSON]}),
    f"PUT {PEOPLE}/{{subscriber}}": ({"lastName": "King"}, 200, {"subscriber": PERSON}),
    f"DELETE {PEOPLE}/{{subscriber}}": (None, 204, None),
    f"POST {TAGS}": ({"name": "gold", "description": "pays"}, 201, {"tag": TAG}),
    f"GET {TAGS}/{{tag}}": (None, 200, {"tag": TAG}),
    f"GET {TAGS}": (None, 200, {**PAGE, "tags": [TAG]}),
    f"PUT {TAGS}/{{tag}}": ({"name": "gold"}, 200, {"tag": TAG}),
    f"DELETE {TAGS}/{{tag}}": (None, 204, None),
    f"POST {FIELDS}": ({"label": "Size"}, 201, {"customField": FIELD}),
    f"GET {FIELDS}/{{field}}": (None, 200, {"customField": FIELD}),
    f"GET {FIELDS}": (None, 200, {**PAGE, "customFields": [FIELD]}),
    f"PUT {FIELDS}/{{field}}": ({"label": "Size"}, 200, {"customField": FIELD}),
    f"DELETE {FIELDS}/{{field}}": (None, 204, None),
}
ERROR = {"error": {"code", "message", "details", "requestId"}}


def form(value: Any) -> Any:
    """Returns the keys and types of a response in the form of the table."""
    if isinstance(value, dict):
        return {
            key: set(each) if isinstance(each, dict) else form(each) for key, each in value.items()
        }
    return [set(each) for each in value] if isinstance(value, list) else type(value)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation_has_its_method_path_status_and_keys(
    service: Service, http: HttpFront, operation: str
) -> None:
    account = new_account(service, http)
    created = account.ok("CreateSubscriber", email="ada@example.com", tags=["vip"])
    ids = {
        "subscriber": created["subscriber"]["id"],
        "tag": account.ok("ListTags")["tags"][0]["id"],
        "field": account.ok("CreateCustomField", label="Favorite Color")["customField"]["id"],
    }
    body, status, expected = OPERATIONS[operation]
    method, path = operation.format(**ids).split()
    sent = None if body is None else json.dumps(body).encode()

    refused = http.exchange(method, path, None, body=sent)
    response, headers, text = http.exchange(method, path, account.key, body=sent)

    assert (refused[0], form(json.loads(refused[2]))) == (401, ERROR)
    assert response == status, text
    if status == 204:
        assert text == b""
    else:
        assert headers["content-type"] == "application/json"
        assert form(json.loads(text)) == expected


@pytest.mark.parametrize("path", ["/v1/api/subscribers", "/api/v1/subscribers", "/v1/subscribers"])
def test_paths_have_no_version(service: Service, http: HttpFront, path: str) -> None:
    response = http.send("GET", path, new_account(service, http).key)

    assert (response.status, response.code) == (404, "RouteNotFound")
