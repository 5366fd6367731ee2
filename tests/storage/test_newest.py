"""The greatest id in store, from which those that a service hands out go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.app import newest_id
from server.events.rules import EventType, created
from server.events.store import record
from server.ids import Ids
from server.storage.databases import unit_of_work
from server.storage.transaction import Transaction
from server.subscribers.store_reading import newest_id_of_any_account
from server.tags.store import TagRow
from server.webhooks import store as webhooks
from server.webhooks.delivery import store_newest
from server.webhooks.delivery.store_leases import lease_due
from server.webhooks.store import NewWebhook

from .helpers import OURS, SUBSCRIBERS, THEIRS, field, new
from .test_plans import Watched, searches


def bulk(account: str, first: int, count: int, tx: Transaction) -> list[str]:
    """Stores subscribers and returns their ids."""
    rows = {n: new(f"n{first + n}") for n in range(count)}
    return list(SUBSCRIBERS.create_many(account, rows, tx).ids.values())


def test_there_is_none_in_an_empty_database(tx: Transaction) -> None:
    assert newest_id(tx) is None


def test_newest_of_all_accounts_is_found(tx: Transaction) -> None:
    bulk(THEIRS, 0, 3, tx)
    *_, newest = bulk(OURS, 0, 3, tx)
    # The other account comes after it in the order of accounts.
    assert newest_id_of_any_account(tx) == newest_id(tx) == newest
    *_, newest = bulk(THEIRS, 3, 3, tx)
    assert newest_id_of_any_account(tx) == newest

    assert newest_id(tx) == newest < field(OURS, tx) == newest_id(tx)


@pytest.mark.parametrize("gone", [1, 400, 700])
def test_newest_is_found_among_many_also_when_the_last_are_gone(tx: Transaction, gone: int) -> None:
    ids = [own_id for first in range(0, 1_200, 100) for own_id in bulk(OURS, first, 100, tx)]
    assert newest_id_of_any_account(tx) == ids[-1]

    for own_id in ids[-gone:]:
        SUBSCRIBERS.delete(OURS, own_id, tx)

    assert newest_id_of_any_account(tx) == ids[-gone - 1]


def test_there_is_none_where_all_are_gone(tx: Transaction) -> None:
    for own_id in bulk(OURS, 0, 3, tx):
        SUBSCRIBERS.delete(OURS, own_id, tx)

    assert newest_id_of_any_account(tx) is None


def hear(account: str, tx: Transaction) -> None:
    """Gives the account a webhook, and has something happen."""
    webhooks.create(account, NewWebhook("http://127.0.0.1:1/", "", (), True), lambda _: b"", tx)
    happen(account, tx)


def happen(account: str, tx: Transaction) -> None:
    """Records an event."""
    record(account, [created(EventType.TAG_CREATED, TagRow("1", "vip", "", tx.now))], tx)


@pytest.mark.parametrize("last", [OURS, THEIRS])
def test_ids_go_on_after_events_and_deliveries_of_all_accounts(tx: Transaction, last: str) -> None:
    for account in (OURS, THEIRS):
        hear(account, tx)
    before = tx.new_id()
    happen(last, tx)
    event = newest_id(tx)
    assert event is not None
    assert before < event < tx.new_id()

    lease_due(last, tx)

    delivery = newest_id(tx)
    assert delivery is not None
    assert event < delivery < tx.new_id()
    # What is made once the clock was set back comes after it all the same.
    ids = Ids(lambda: 0)
    ids.start_past(delivery)
    assert ids.next() > delivery


def test_newest_event_and_delivery_of_an_account_are_found_at_once(tmp_path: Path) -> None:
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db") as transaction:
        hear(OURS, transaction)
        watched = Watched(transaction)
        store_newest.newest_id_of_any_account(watched)

    _, *of_account = watched.seen
    assert len(of_account) == 2
    assert all(searches(step) == ["account_id=?"] for step in of_account)
