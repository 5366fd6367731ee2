"""The greatest stored ID. New IDs are greater than it."""

from __future__ import annotations

import pytest

from rosterd.server.app import newest_id
from rosterd.server.features.events.rules import EventType, created
from rosterd.server.features.events.store import record
from rosterd.server.features.subscribers.store_reading import newest_id_of_any_account
from rosterd.server.features.tags.store import TagRow
from rosterd.server.features.webhooks import store as webhooks
from rosterd.server.features.webhooks.delivery.store_results import run_cycle
from rosterd.server.features.webhooks.store import NewWebhook
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import Ids

from .helpers import OURS, SUBSCRIBERS, THEIRS, field, new


def bulk(account: str, first: int, count: int, tx: Transaction) -> list[str]:
    rows = {n: new(f"n{first + n}") for n in range(count)}
    return list(SUBSCRIBERS.create_many(account, rows, tx).ids.values())


def test_newest_id_covers_all_accounts(tx: Transaction) -> None:
    bulk(THEIRS, 0, 3, tx)
    *_, newest = bulk(OURS, 0, 3, tx)
    # The account with the newest ID sorts before the other.
    assert newest_id_of_any_account(tx) == newest_id(tx) == newest
    *_, newest = bulk(THEIRS, 3, 3, tx)
    assert newest_id_of_any_account(tx) == newest

    assert newest_id(tx) == newest < field(OURS, tx) == newest_id(tx)


def create_webhook_and_event(account: str, tx: Transaction) -> None:
    """Creates a webhook and an event in the account."""
    webhooks.create(account, NewWebhook("http://127.0.0.1:1/", "", (), True), lambda _: b"", tx)
    record_event(account, tx)


def record_event(account: str, tx: Transaction) -> None:
    record(account, [created(EventType.TAG_CREATED, TagRow("1", "vip", "", tx.now))], tx)


@pytest.mark.parametrize("last", [OURS, THEIRS])
def test_new_ids_follow_events_and_deliveries_of_all_accounts(tx: Transaction, last: str) -> None:
    for account in (OURS, THEIRS):
        create_webhook_and_event(account, tx)
    before = tx.new_id()
    record_event(last, tx)
    event = newest_id(tx)
    assert event is not None
    assert before < event < tx.new_id()

    run_cycle(last, [], 1, tx)

    delivery = newest_id(tx)
    assert delivery is not None
    assert event < delivery < tx.new_id()
    # New IDs are greater even if the clock was set back.
    ids = Ids(lambda: 0)
    ids.start_past(delivery)
    assert ids.next() > delivery
