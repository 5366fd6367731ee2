"""Revisions ascend with every change of the subscribers of an account, for any clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import (
    add_tags,
    change_status,
    remove_tags,
    update_profiles,
)
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, SUBSCRIBERS, email, field, new, profile, select

HOUR = 3_600_000


def revisions(tx: Transaction, account: str = OURS) -> list[int]:
    query = f"SELECT revision FROM subscriber WHERE account_id = '{account}' ORDER BY id"
    return [revision for (revision,) in select(query, tx)]


CHANGES: dict[str, Callable[[str, Transaction], Any]] = {
    "profile": lambda id_, tx: SUBSCRIBERS.update(
        OURS, id_, Changes(profile=profile("Eve", "Other")), tx
    ),
    "values": lambda id_, tx: SUBSCRIBERS.update(OURS, id_, Changes(values={"city": "Rome"}), tx),
    "tags": lambda id_, tx: SUBSCRIBERS.update(OURS, id_, Changes(tags={"new": "new"}), tx),
    "tags added": lambda id_, tx: add_tags(OURS, id_, {"new": "new"}, tx),
    "tags removed": lambda id_, tx: remove_tags(OURS, id_, {"vip"}, tx),
    "status": lambda id_, tx: change_status(OURS, id_, Status.BOUNCED, tx, by_admin=False),
    "create": lambda _, tx: SUBSCRIBERS.create(OURS, new("one"), tx),
    "bulk": lambda _, tx: SUBSCRIBERS.create_many(OURS, {0: new("one"), 1: new("two")}, tx),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_change_sets_the_greatest_revision_although_the_clock_is_behind(
    tx: Transaction, change: Callable[[str, Transaction], Any]
) -> None:
    field(OURS, tx)
    tx.now += HOUR
    row = SUBSCRIBERS.create(OURS, new("ada", "vip"), tx)
    SUBSCRIBERS.create(OURS, new("eve"), tx)
    before = revisions(tx)
    tx.now -= HOUR

    change(row.id, tx)

    after = revisions(tx)
    assert set(after) - set(before) == {max(before) + 1}


def test_revision_of_a_deleted_subscriber_is_not_used_again(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new("ada"), tx)
    tx.now += HOUR
    newest = SUBSCRIBERS.create(OURS, new("eve"), tx)
    SUBSCRIBERS.delete(OURS, newest.id, tx)
    tx.now -= HOUR

    assert SUBSCRIBERS.create(OURS, new("bob"), tx).revision == newest.revision + 1


def test_of_several_updates_of_a_subscriber_in_one_transaction_the_last_wins(
    tx: Transaction,
) -> None:
    ada, eve = (SUBSCRIBERS.create(OURS, new(name), tx) for name in ("ada", "eve"))
    updates = [
        (ada.id, {"first_name": "first", "last_name": "kept"}),
        (eve.id, {"first_name": "Eve"}),
        (email("ada"), {"first_name": "second"}),
        (ada.id, {"first_name": "third"}),
    ]

    outcomes = update_profiles(OURS, updates, tx)

    assert [row.first_name for row in outcomes] == ["first", "Eve", "second", "third"]
    stored = find(OURS, ada.id, tx)
    assert (stored.first_name, stored.last_name) == ("third", "kept")
    assert len(set(revisions(tx))) == 2
