"""Text with special characters of SQL, HTML or CSV is stored verbatim and not interpreted."""

from __future__ import annotations

from typing import Any

import pytest

from ..behavior.helpers import MISSING_ID, emails, over_http, send
from ..conftest import Account

TEXTS = {
    "SQL": "Robert'); DROP TABLE subscriber;--",
    "double quote": 'a" OR "1"="1',
    "percent": "100%",
    "underscore": "a_b",
    "backslash": "a\\b\\'c\\",
    "placeholder": "? :id $1 %s {0}",
    "formula": "=cmd|' /C calc'!A0",
    "plus formula": "+1-1@SUM(A1)",
    "script": "<script>alert(1)</script>",
    "merge tag": "{{customFields.x}} {{email}}",
    "bidi": "a\u202eb",
    "emoji": "👩\u200d👩\u200d👧",
    "NFD": "e\u0301",
}


def test_every_text_field_is_stored_verbatim(account: Account) -> None:
    account.ok("CreateCustomField", label="Note")
    for number, text in enumerate(TEXTS.values()):
        email = f"{number}@example.com"
        texts: dict[str, Any] = {"firstName": text, "lastName": text, "tags": [text]}
        texts["customFields"] = {"note": text}
        created = account.ok("CreateSubscriber", email=email, **texts)["subscriber"]
        rows = [{"email": f"b{email}", **texts}]
        assert account.ok("BulkCreateSubscribers", subscribers=rows) == {"failed": []}
        account.ok("UpdateSubscriber", id=created["id"], firstName=text)
        tag = account.ok("CreateTag", name=f"t{text}", description=text)["tag"]
        label = f"f{number} {text}"
        field = account.ok("CreateCustomField", label=label, fallback=text)["customField"]

        for stored in account.ok("ListSubscribers", limit=100)["subscribers"][-2:]:
            assert {name: stored[name] for name in texts} == texts
        stored = account.ok("GetTag", id=tag["id"])["tag"]
        assert (stored["name"], stored["description"]) == (f"t{text}", text)
        stored = account.ok("GetCustomField", id=field["id"])["customField"]
        assert (stored["label"], stored["fallback"]) == (label, text)


READ_ONLY_FIELDS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "subscribers",
        {"email": "ada@example.com"},
        {"id": MISSING_ID, "status": "COMPLAINED", "createdAt": "2001-01-01T00:00:00.000Z"},
    ),
    ("tags", {"name": "vip"}, {"id": MISSING_ID, "createdAt": "2001-01-01T00:00:00.000Z"}),
    (
        "custom-fields",
        {"label": "Town"},
        {
            "id": MISSING_ID,
            "key": "own",
            "mergeTag": "{{own}}",
            "createdAt": "2001-01-01T00:00:00.000Z",
            "updatedAt": "2001-01-01T00:00:00.000Z",
        },
    ),
]


@over_http
@pytest.mark.parametrize(
    ("path", "fields", "read_only"), READ_ONLY_FIELDS, ids=[row[0] for row in READ_ONLY_FIELDS]
)
def test_fields_that_the_server_owns_are_never_applied(
    account: Account, path: str, fields: dict[str, Any], read_only: dict[str, Any]
) -> None:
    created = send(account, "POST", f"/api/{path}", {**fields, **read_only})
    assert created.status == 201
    resource = next(iter(created.body.values()))
    assert {key for key, value in read_only.items() if resource[key] == value} == set()

    for method in ("PUT", "PATCH"):
        updated = send(account, method, f"/api/{path}/{resource['id']}", read_only)
        assert (updated.status, updated.body) == (200, created.body)

    stored = send(account, "GET", f"/api/{path}").body
    assert (stored["total"], next(iter(stored.values()))) == (1, [resource])


@over_http
def test_fields_that_the_server_owns_are_never_applied_to_a_row(account: Account) -> None:
    row = {"email": "ada@example.com", **READ_ONLY_FIELDS[0][2]}

    body = account.ok("BulkCreateSubscribers", subscribers=[row])

    assert body == {"failed": []}
    stored = account.ok("ListSubscribers")["subscribers"][0]
    assert {key for key, value in READ_ONLY_FIELDS[0][2].items() if stored[key] == value} == set()
    assert emails(account) == ["ada@example.com"]
