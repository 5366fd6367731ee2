"""Creating, updating, tagging and listing subscribers in the store."""

from __future__ import annotations

import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.subscribers import store_reading
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.rules import Failure
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.subscribers.store_paging import PagePosition
from rosterd.server.features.tags import store as tags
from rosterd.server.rpc.errors import SubscriberAlreadyExists
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import Ids, first_id_at, timestamp_of

from .helpers import OURS, SUBSCRIBERS, email, list_subscribers, new


def test_bulk_stores_new_addresses_and_returns_ids_and_errors(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new("ada"), tx)

    rows = {3: new("bob", "a"), 5: new("ADA", "b"), 8: new("eve", "A", "c")}
    result = SUBSCRIBERS.create_many(OURS, rows, tx)

    assert {i: error.failure for i, error in result.row_errors.items()} == {
        5: Failure.ALREADY_EXISTS
    }
    found = list_subscribers(OURS, tx)
    assert [(row.email, row.tags) for row in found.rows] == [
        ("ada@example.com", ()),
        ("bob@example.com", ("a",)),
        ("eve@example.com", ("a", "c")),
    ]
    assert result.ids == {3: found.rows[1].id, 8: found.rows[2].id}
    assert found.total == 3
    assert [row.name for row in tags.page(OURS, Page(1, 100), tx)[0]] == ["a", "c"]


def test_existing_address_is_rejected_and_creates_no_tag(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new("ada"), tx)

    with pytest.raises(SubscriberAlreadyExists):
        SUBSCRIBERS.create(OURS, new("Ada", "unused"), tx)
    assert tags.count(OURS, tx) == 0


def test_new_address_resets_the_status_and_another_spelling_does_not(
    tx: Transaction,
) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada"), tx)

    spelled = SUBSCRIBERS.update(OURS, row.id, Changes(email("ADA")), tx)
    moved = SUBSCRIBERS.update(OURS, row.id, Changes(email("eve")), tx)

    assert (spelled.email, spelled.status) == ("ADA@example.com", Status.CONFIRMED)
    assert (moved.email, moved.status) == ("eve@example.com", Status.UNCONFIRMED)
    assert store_reading.find(OURS, row.id, tx) == moved


def test_status_change_changes_nothing_else(tx: Transaction) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada", "vip"), tx)

    moved = change_status(OURS, row.id, Status.BOUNCED, tx, by_admin=False)

    assert moved == row._replace(
        status=Status.BOUNCED,
        revision=moved.revision,
        status_revision=moved.revision,
        status_changed_at=tx.now,
    )
    assert store_reading.find(OURS, row.id, tx) == moved


def test_pages_are_in_order_of_creation_and_end_with_an_empty_one(tx: Transaction) -> None:
    created = [SUBSCRIBERS.create(OURS, new(name, "t", "u"), tx).id for name in "cab"]

    pages = [list_subscribers(OURS, tx, position=PagePosition(2, offset)) for offset in (0, 2, 4)]

    assert [[row.id for row in found.rows] for found in pages] == [created[:2], created[2:], []]
    assert [found.total for found in pages] == [3, 3, 3]
    assert [found.more for found in pages] == [True, False, False]


def test_page_far_past_the_end_is_empty(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new(), tx)

    assert list_subscribers(OURS, tx, position=PagePosition(100, 100 * 2**31)) == ([], 1, False)


@pytest.mark.parametrize("clock", [1_000_000, 9_000_000], ids=["behind the ids", "ahead of them"])
def test_creation_time_is_the_timestamp_of_the_id(tx: Transaction, clock: int) -> None:
    ids = Ids(lambda: clock)
    ids.start_past(first_id_at(5_000_000))
    tx._ids, tx.now = ids, clock

    one = SUBSCRIBERS.create(OURS, new("one"), tx)
    SUBSCRIBERS.create_many(OURS, {0: new("two"), 1: new("three")}, tx)

    rows = list_subscribers(OURS, tx).rows
    assert [row.created_at for row in rows] == [timestamp_of(row.id) for row in rows]
    assert {row.created_at for row in rows} == {max(clock, 5_000_000)}
    assert rows[0] == one


def test_newest_id_is_the_greatest_of_all_accounts(tx: Transaction) -> None:
    assert store_reading.newest_id_of_any_account(tx) is None
    owners = [accounts.create_account(f"{n}@x.de", tx, verified=True).id for n in range(2)]

    created = [SUBSCRIBERS.create(owner, new(), tx).id for owner in (owners[1], owners[0])]

    assert store_reading.newest_id_of_any_account(tx) == created[-1]
