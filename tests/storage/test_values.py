"""Custom field values: merging, removal by null, and deletion with their field or subscriber."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.subscribers.fields import SubscriberRow
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, SUBSCRIBERS, email, field, list_subscribers, new, select

STORED = {"city": "Paris", "size": 42.5, "vip": False}


@pytest.fixture(autouse=True)
def fields(tx: Transaction) -> dict[str, str]:
    """The IDs of a field of each type, by key."""
    types = {
        "city": DataType.TEXT,
        "size": DataType.NUMBER,
        "vip": DataType.BOOLEAN,
        "born": DataType.DATE,
    }
    return {key: field(OURS, tx, key, data_type=data_type) for key, data_type in types.items()}


@pytest.fixture
def create_ada(tx: Transaction) -> SubscriberRow:
    """Creates a subscriber with values for all fields except one."""
    return SUBSCRIBERS.create(OURS, new("ada", values=STORED), tx)


def stored_keys(tx: Transaction) -> list[tuple[Any, ...]]:
    """Returns the keys of all stored values."""
    return select("SELECT key FROM custom_value ORDER BY 1", tx)


def values_by_every_read(name: str, tx: Transaction) -> list[Mapping[str, Any]]:
    """Returns the values of a subscriber from every function that reads them."""
    one = find(OURS, email(name), tx)
    (on_page,) = [row for row in list_subscribers(OURS, tx).rows if row.id == one.id]
    return [one.values, find(OURS, one.id, tx).values, on_page.values]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="none"),
        pytest.param({"city": ""}, id="empty text"),
        pytest.param({"city": 'a "b" \\ \n\t{}[],:null 😀\u2028'}, id="special characters"),
        pytest.param({"city": "null"}, id="text that is JSON"),
        pytest.param({"city": "é" * 1000}, id="1,000 characters"),
        pytest.param({"size": 0.0}, id="zero"),
        pytest.param({"size": -0.1}, id="fraction"),
        pytest.param({"size": 1e22}, id="past 64 bits"),
        pytest.param({"size": 5e-324}, id="the least number"),
        pytest.param({"size": 1.7976931348623157e308}, id="the greatest number"),
        pytest.param({"size": 9007199254740993.0}, id="past 53 bits"),
        pytest.param({"vip": True}, id="true"),
        pytest.param({"vip": False}, id="false"),
        pytest.param({"born": "2026-01-31T10:20:30.5+02:00"}, id="timestamp verbatim"),
        pytest.param({**STORED, "born": "2026-01-31"}, id="all"),
    ],
)
def test_values_are_read_as_stored(tx: Transaction, values: dict[str, Any]) -> None:
    created = SUBSCRIBERS.create(OURS, new("one", values=values), tx)
    SUBSCRIBERS.create_many(OURS, {0: new("many", values=values)}, tx)

    results = [created.values, *values_by_every_read("one", tx), *values_by_every_read("many", tx)]
    assert results == [values] * 7
    types = {key: type(value) for key, value in values.items()}
    assert [{key: type(v) for key, v in read.items()} for read in results] == [types] * 7


def test_none_stores_no_value(tx: Transaction) -> None:
    created = SUBSCRIBERS.create(OURS, new("one", values={"city": None, "size": 1.0}), tx)
    SUBSCRIBERS.create_many(OURS, {0: new("many", values={"city": None})}, tx)

    assert created.values == {"size": 1.0}
    assert values_by_every_read("many", tx) == [{}] * 3
    assert stored_keys(tx) == [("size",)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(None, STORED, id="nothing"),
        pytest.param({}, STORED, id="empty"),
        pytest.param({"city": "Rome"}, {**STORED, "city": "Rome"}, id="other value"),
        pytest.param({"city": "Paris"}, STORED, id="same value"),
        pytest.param({"born": "2026-01-31"}, {**STORED, "born": "2026-01-31"}, id="one more"),
        pytest.param({"city": None}, {"size": 42.5, "vip": False}, id="null removes"),
        pytest.param({"born": None}, STORED, id="null where there is none"),
        pytest.param(
            {"city": None, "size": 1.0, "born": "2026-01-31"},
            {"size": 1.0, "vip": False, "born": "2026-01-31"},
            id="all at once",
        ),
        pytest.param(dict.fromkeys(STORED), {}, id="null removes all"),
    ],
)
def test_update_merges_values(
    tx: Transaction,
    create_ada: SubscriberRow,
    values: dict[str, Any] | None,
    expected: dict[str, Any],
) -> None:
    changed = SUBSCRIBERS.update(OURS, create_ada.id, Changes(values=values), tx)

    assert changed == create_ada._replace(values=expected, revision=changed.revision)
    assert values_by_every_read("ada", tx) == [expected] * 3
    assert stored_keys(tx) == [(key,) for key in sorted(expected)]


def test_values_for_an_existing_address_are_not_stored(
    tx: Transaction, create_ada: SubscriberRow
) -> None:
    rows = {0: new("ADA", values={"city": "Rome", "born": "2026-01-31"})}

    SUBSCRIBERS.create_many(OURS, rows, tx)

    assert list_subscribers(OURS, tx).rows == [create_ada]
    assert stored_keys(tx) == [(key,) for key in sorted(STORED)]


@pytest.mark.usefixtures("create_ada")
def test_values_are_deleted_with_their_field_and_not_restored_with_it(
    tx: Transaction, fields: dict[str, str]
) -> None:
    custom_fields.delete(OURS, fields["city"], tx)
    assert stored_keys(tx) == [("size",), ("vip",)]

    field(OURS, tx, "city")

    assert values_by_every_read("ada", tx) == [{"size": 42.5, "vip": False}] * 3


def test_values_are_deleted_with_their_subscriber(
    tx: Transaction, create_ada: SubscriberRow
) -> None:
    SUBSCRIBERS.create(OURS, new("eve", values={"city": "Rome"}), tx)

    SUBSCRIBERS.delete(OURS, create_ada.id, tx)

    assert stored_keys(tx) == [("city",)]
    assert values_by_every_read("eve", tx) == [{"city": "Rome"}] * 3


def test_page_has_the_values_and_tags_of_each_subscriber(tx: Transaction) -> None:
    rows = {
        number: new(f"{number}", *[f"t{n}" for n in range(number % 4)], values={"size": number / 2})
        for number in range(1, 60)
    }
    SUBSCRIBERS.create_many(OURS, rows, tx)

    assert [(row.email_key, row.tags, row.values) for row in list_subscribers(OURS, tx).rows] == [
        (f"{number}@example.com", tuple(f"t{n}" for n in range(number % 4)), {"size": number / 2})
        for number in rows
    ]
