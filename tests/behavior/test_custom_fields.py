"""Custom fields over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import over_http, send


def create(account: Account, label: str, **body: Any) -> dict[str, Any]:
    created: dict[str, Any] = account.ok("CreateCustomField", label=label, **body)["customField"]
    return created


def labels(account: Account) -> list[str]:
    """Returns the labels of the account's first 100 custom fields, oldest first."""
    listed = account.ok("ListCustomFields", limit=100)["customFields"]
    return [field["label"] for field in listed]


@pytest.mark.each_database
@pytest.mark.parametrize(
    "label",
    ["Town", "TOWN", " town ", "Town!", "Tówn"],
)
def test_create_custom_field_rejects_a_label_or_key_in_use(account: Account, label: str) -> None:
    create(account, "Town")

    error = account.fails("CustomFieldAlreadyExists", "CreateCustomField", label=label)

    assert (error.status, error.violations) == (409, [("label", "TAKEN")])
    assert labels(account) == ["Town"]


def test_key_stays_in_use_after_its_label_changes(account: Account) -> None:
    field = create(account, "Town")
    account.ok("UpdateCustomField", id=field["id"], label="City")

    account.fails("CustomFieldAlreadyExists", "CreateCustomField", label="Town")
    account.fails("CustomFieldAlreadyExists", "CreateCustomField", label="city")


def test_account_has_at_most_100_custom_fields(account: Account) -> None:
    fields = [create(account, f"Field {number}") for number in range(100)]

    assert account.fails("CustomFieldLimitReached", "CreateCustomField", label="More").status == 409
    assert account.ok("ListCustomFields")["total"] == 100
    account.ok("DeleteCustomField", id=fields[0]["id"])
    create(account, "More")


@pytest.mark.parametrize("existing", ["Age", "AGE"])
def test_update_custom_field_rejects_the_label_of_another(account: Account, existing: str) -> None:
    create(account, "Age")
    field = create(account, "Town")

    error = account.fails(
        "CustomFieldAlreadyExists", "UpdateCustomField", id=field["id"], label=existing
    )

    assert error.status == 409
    assert account.ok("GetCustomField", id=field["id"])["customField"] == field


@over_http
@pytest.mark.parametrize(
    "body",
    [{"key": "city"}, {"mergeTag": "{{customFields.city}}"}],
)
def test_key_and_merge_tag_never_change(account: Account, body: dict[str, Any]) -> None:
    field = create(account, "Town")

    send(account, "PUT", f"/api/custom-fields/{field['id']}", body)

    assert account.ok("GetCustomField", id=field["id"])["customField"] == field


@over_http
def test_fetched_custom_field_can_be_sent_back(account: Account) -> None:
    field = create(account, "Age", dataType="NUMBER")
    account.ok("CreateSegment", name="adults", filter="customFields.age >= 18")
    fetched = account.ok("GetCustomField", id=field["id"], include=["USED_BY"])["customField"]
    assert fetched["usedBy"]

    updated = send(account, "PUT", f"/api/custom-fields/{field['id']}", fetched)

    assert (updated.status, updated.body) == (200, {"customField": field})


def values(account: Account, field: dict[str, Any], **request: Any) -> list[tuple[Any, int]]:
    body = account.ok("SuggestCustomFieldValues", id=field["id"], **request)
    assert body["isExact"]
    return [(each["value"], each["total"]) for each in body["values"]]


@pytest.mark.each_database
def test_the_most_frequent_values_with_a_prefix_are_suggested(account: Account) -> None:
    field, other = create(account, "Town"), create(account, "Other")
    towns = ["Berlin"] * 3 + ["bern"] * 3 + ["Basel", "b%", "Äpfel", "x" * 63, "x" * 64]
    rows = [
        {"email": f"p{n}@example.com", "customFields": {"town": town, "other": "Bex"}}
        for n, town in enumerate(towns)
    ]
    account.ok("BulkCreateSubscribers", subscribers=rows)

    assert values(account, field, prefix="BE") == [("Berlin", 3), ("bern", 3)]
    assert values(account, field, prefix="b%") == [("b%", 1)]
    assert values(account, field, prefix="Ä") == [("Äpfel", 1)]
    assert values(account, field)[2:] == [("Basel", 1), ("b%", 1), ("x" * 63, 1), ("Äpfel", 1)]
    assert values(account, other) == [("Bex", len(towns))]
    account.ok("DeleteSubscriber", id="p0@example.com")
    assert values(account, field, prefix="ber") == [("bern", 3), ("Berlin", 2)]


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("data_type", "stored", "expected"),
    [
        ("NUMBER", [5, 2.5, 5, 1e300], [(5, 2), (2.5, 1), (1e300, 1)]),
        ("BOOLEAN", [True, False, True], [(True, 2), (False, 1)]),
        ("DATE", ["2026-01-31", "2025-01-31"], [("2025-01-31", 1), ("2026-01-31", 1)]),
    ],
)
def test_suggested_values_have_the_type_of_the_field(
    account: Account, data_type: str, stored: list[Any], expected: list[tuple[Any, int]]
) -> None:
    field = create(account, "Field", dataType=data_type)
    assert values(account, field) == []
    rows = [
        {"email": f"p{n}@example.com", "customFields": {"field": value}}
        for n, value in enumerate(stored)
    ]
    account.ok("BulkCreateSubscribers", subscribers=rows)

    assert values(account, field) == expected
    if data_type == "DATE":
        assert values(account, field, prefix="2026") == [("2026-01-31", 1)]
        return
    error = account.fails("ValidationError", "SuggestCustomFieldValues", id=field["id"], prefix="1")
    assert error.violations == [("prefix", "INVALID_VALUE")]


def test_delete_custom_field_returns_no_content_and_frees_its_label(account: Account) -> None:
    field = create(account, "Town")

    response = account.call("DeleteCustomField", id=field["id"])

    assert (response.status, response.body) == (204, None)
    account.fails("CustomFieldNotFound", "GetCustomField", id=field["id"])
    account.fails("CustomFieldNotFound", "DeleteCustomField", id=field["id"])
    assert create(account, "Town")["id"] != field["id"]
