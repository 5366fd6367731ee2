"""What is done all the time costs the same however much an account has.

Time says little on a machine that others use too. SQLite counts the steps of its machine:
a statement that walks through an account's rows takes some for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from server.storage.databases import unit_of_work
from server.storage.transaction import Transaction
from server.tags import store as tags
from server.webhooks import store
from server.webhooks.delivery import store_replays, store_retention, store_test_deliveries
from server.webhooks.delivery.store_leases import find_leases
from server.webhooks.delivery.store_replays import ReplayFilter
from server.webhooks.delivery.store_results import FinishedAttempt, run_cycle
from server.webhooks.delivery.store_retention import PurgeLimits
from server.webhooks.rules import MAX_IN_FLIGHT_PER_ACCOUNT

from .helpers import OURS
from .watched import Watched

URL = "https://example.com/"
# How many tags, events and deliveries an account has: few, and many.
FEW, MANY = 320, 1_600


def deliver(tx: Transaction, error: str = "") -> None:
    """Delivers what is due until there is nothing left."""
    batch = run_cycle(OURS, [], MAX_IN_FLIGHT_PER_ACCOUNT, tx)[1]
    while batch.deliveries:
        finished = [
            FinishedAttempt(leased.delivery, tx.now, 5, 204, error, "", None, 0.5, URL)
            for leased in batch.deliveries
        ]
        batch = run_cycle(OURS, finished, MAX_IN_FLIGHT_PER_ACCOUNT, tx)[1]


def lived(rows: int, tx: Transaction) -> str:
    """Makes an account in which that much has happened, and returns its webhook."""
    webhook = store.create(OURS, store.NewWebhook(URL, "", (), enabled=True), str.encode, tx)
    # Half of them wait until they are tried again; without a pause, since what is due while
    # there is one is delivered after it.
    for half, error in enumerate(("", "answered 503")):
        for number in range(rows // 2):
            tags.create(OURS, f"{half}-{number}", "", tx)
            if number % 4 == 3:
                deliver(tx, error)
                store.update(OURS, webhook.id, {"enabled": False}, tx)
                store.update(OURS, webhook.id, {"enabled": True}, tx)
    return webhook.id


def event(webhook_id: str, tx: Transaction) -> None:
    tags.create(OURS, "one more", "", tx)
    (leased,) = run_cycle(OURS, [], MAX_IN_FLIGHT_PER_ACCOUNT, tx)[1].deliveries
    finished = FinishedAttempt(leased.delivery, tx.now, 5, 204, "", "", None, 0.5, URL)
    assert run_cycle(OURS, [finished], MAX_IN_FLIGHT_PER_ACCOUNT, tx)[0].accepted == 1


def names(webhook_id: str, tx: Transaction) -> None:
    tags.ensure(OURS, {"0-1": "0-1", "1-1": "1-1", "new": "new"}, tx)


def trial(webhook_id: str, tx: Transaction) -> None:
    store_test_deliveries.begin(OURS, webhook_id, tx)


def replay(webhook_id: str, tx: Transaction) -> None:
    newest = store_replays.create(
        OURS, webhook_id, ReplayFilter("9", None, [], only_failed=False), tx
    )
    assert newest.webhook_id == webhook_id
    deliver(tx)


def start(webhook_id: str, tx: Transaction) -> None:
    assert find_leases(OURS, tx) == []


def purge(webhook_id: str, tx: Transaction) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_retention, "EVENT_RETENTION", -1)
        assert store_retention.purge(OURS, tx, PurgeLimits(events=2, rows=2))


def steps(path: Path, rows: int, work: Callable[[str, Transaction], None]) -> int:
    """Returns how many steps a piece of work takes in an account that has so many rows."""
    with unit_of_work(f"sqlite:///{path}/{rows}.db") as tx:
        webhook_id = lived(rows, tx)
        watched = Watched(tx)
        work(webhook_id, watched)
        return sum(step.machine_steps for step in watched.seen)


@pytest.mark.parametrize("work", [event, names, trial, replay, start, purge])
def test_work_costs_the_same_however_much_there_is(
    tmp_path: Path, work: Callable[[str, Transaction], None]
) -> None:
    few, many = map(partial(steps, tmp_path, work=work), (FEW, MANY))

    assert many < 1.5 * few
