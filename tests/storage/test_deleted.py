"""Tags and custom fields that many subscribers have are removed from them in short transactions."""

from __future__ import annotations

import pytest

from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.tags import store as tags
from rosterd.server.maintenance.check import check_account
from rosterd.server.maintenance.deleted import remove_deleted
from rosterd.server.rpc.errors import CustomFieldBeingDeleted
from rosterd.server.rpc.paging import Page
from rosterd.server.storage import resource
from rosterd.server.storage.database import Database
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.transaction import Transaction

from .helpers import (
    OURS,
    SUBSCRIBERS,
    email,
    field,
    list_subscribers,
    new,
    select,
    tree_of,
)
from .opened import run

AT_ONCE = 100
MANY = 2 * AT_ONCE + 20


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "REMOVED_PER_TRANSACTION", AT_ONCE)


def fill(tx: Transaction) -> tuple[str, str]:
    """Creates subscribers with a tag and a value. Returns the IDs of the tag and the field."""
    field_id = field(OURS, tx)
    rows = [new(f"s{number}", "vip", values={"city": "Bern"}) for number in range(MANY)]
    SUBSCRIBERS.create(OURS, new("other", "news"), tx)
    for row in rows:
        SUBSCRIBERS.create(OURS, row, tx)
    return tags.by_keys(OURS, {"vip": "vip"}, tx)["vip"].id, field_id


def rows(tx: Transaction) -> tuple[int, int]:
    """Returns the number of stored links and values."""
    ((links,),) = select("SELECT COUNT(*) FROM subscriber_tag", tx)
    ((values,),) = select("SELECT COUNT(*) FROM custom_value", tx)
    return links, values


def with_any_tag(tx: Transaction) -> int | None:
    filters = tree_of("tags:*")
    return list_subscribers(OURS, tx, filters).total


def test_deleted_tag_is_not_read_while_transactions_of_limited_size_remove_it(
    tx: Transaction,
) -> None:
    tag_id, _ = fill(tx)

    tags.delete(OURS, tag_id, tx)

    assert rows(tx)[0] == MANY + 1 - AT_ONCE
    assert [tag.name for tag in tags.page(OURS, Page(1, 10), tx)[0]] == ["news"]
    assert tags.count(OURS, tx) == with_any_tag(tx) == 1
    shown = list_subscribers(OURS, tx).rows
    assert {row.tags for row in shown} == {("news",), ()}
    # Neither a new tag with the name nor a change counts the links that are left.
    SUBSCRIBERS.create(OURS, new("late", "vip"), tx)
    last = f"s{MANY - 1}"
    change_status(OURS, email(last), Status.UNSUBSCRIBED, tx, by_admin=True)
    SUBSCRIBERS.delete(OURS, email(f"s{MANY - 2}"), tx)
    assert list_subscribers(OURS, tx, tree_of(tag="vip")).total == 1
    batches = []
    while removed := tags.remove_deleted(OURS, tx):
        batches.append(removed)
    assert batches == [AT_ONCE, 20]
    assert rows(tx)[0] == 2
    assert select("SELECT name FROM tag ORDER BY name", tx) == [("news",), ("vip",)]
    assert check_account(OURS, tx).findings == []


def test_deleted_field_is_not_read_and_its_key_is_refused_until_no_value_is_left(
    tx: Transaction,
) -> None:
    _, field_id = fill(tx)

    custom_fields.delete(OURS, field_id, tx)

    assert rows(tx)[1] == MANY - AT_ONCE
    assert custom_fields.types(OURS, tx) == {}
    assert custom_fields.count(OURS, tx) == 0
    assert {str(row.values) for row in list_subscribers(OURS, tx).rows} == {"{}"}
    with pytest.raises(CustomFieldBeingDeleted):
        field(OURS, tx)
    while custom_fields.remove_deleted(OURS, tx):
        pass
    assert rows(tx)[1] == 0
    field(OURS, tx)
    assert {str(row.values) for row in list_subscribers(OURS, tx).rows} == {"{}"}


def test_next_process_removes_what_an_earlier_one_left(url: str) -> None:
    with unit_of_work(url) as tx:
        tag_id, field_id = fill(tx)
        tags.delete(OURS, tag_id, tx)
        custom_fields.delete(OURS, field_id, tx)

    async def removed(database: Database) -> int:
        return await remove_deleted(database)

    assert run(url, removed) == 2 * (MANY - AT_ONCE) + 2
    with unit_of_work(url) as tx:
        assert rows(tx) == (1, 0)
        assert select("SELECT COUNT(*) FROM custom_field", tx) == [(0,)]
