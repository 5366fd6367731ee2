"""The cost of frequent operations is independent of the number of rows of an account.
Cost is measured in steps of SQLite's virtual machine, which do not depend on the load of the
computer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rosterd.server.features.operations.rules import ReplayRequest
from rosterd.server.features.tags import store as tags
from rosterd.server.features.webhooks import store, store_retention
from rosterd.server.features.webhooks.delivery import (
    store_replays,
    store_test_deliveries,
)
from rosterd.server.features.webhooks.delivery.store_leases import find_leases
from rosterd.server.features.webhooks.delivery.store_replays import ReplayFilter, ReplayStore
from rosterd.server.features.webhooks.delivery.store_results import FinishedAttempt, run_cycle
from rosterd.server.features.webhooks.rules import MAX_IN_FLIGHT_PER_ACCOUNT
from rosterd.server.features.webhooks.store_retention import PurgeLimits
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS
from .recording import RecordingTransaction

URL = "https://example.com/"
# The number of tags, events and deliveries of an account.
FEW, MANY = 320, 1_600


def deliver(tx: Transaction, error: str = "") -> None:
    """Delivers all due deliveries."""
    batch = run_cycle(OURS, [], MAX_IN_FLIGHT_PER_ACCOUNT, tx)[1]
    while batch.deliveries:
        finished = [
            FinishedAttempt(leased.delivery, tx.now, 5, 204, error, "", None, 0.5, URL)
            for leased in batch.deliveries
        ]
        batch = run_cycle(OURS, finished, MAX_IN_FLIGHT_PER_ACCOUNT, tx)[1]


def account_with_history(rows: int, tx: Transaction) -> str:
    """Creates an account with this number of tags, events and deliveries. Returns its webhook."""
    webhook = store.create(OURS, store.NewWebhook(URL, "", (), enabled=True), str.encode, tx)
    # Half of the deliveries wait for a retry. The endpoint is not paused, because deliveries that
    # become due during a pause are sent after it.
    for half, error in enumerate(("", "HTTP 503")):
        for number in range(rows // 2):
            tags.create(OURS, f"{half}-{number}", "", tx)
            if number % 4 == 3:
                deliver(tx, error)
                store.update(OURS, webhook.id, {"enabled": False}, tx)
                store.update(OURS, webhook.id, {"enabled": True}, tx)
    return webhook.id


def record_event(webhook_id: str, tx: Transaction) -> None:
    tags.create(OURS, "one more", "", tx)
    (leased,) = run_cycle(OURS, [], MAX_IN_FLIGHT_PER_ACCOUNT, tx)[1].deliveries
    finished = FinishedAttempt(leased.delivery, tx.now, 5, 204, "", "", None, 0.5, URL)
    assert run_cycle(OURS, [finished], MAX_IN_FLIGHT_PER_ACCOUNT, tx)[0].accepted == 1


def ensure_tags(webhook_id: str, tx: Transaction) -> None:
    tags.ensure(OURS, {"0-1": "0-1", "1-1": "1-1", "new": "new"}, tx)


def begin_test_delivery(webhook_id: str, tx: Transaction) -> None:
    store_test_deliveries.begin(OURS, webhook_id, tx)


def replay(webhook_id: str, tx: Transaction) -> None:
    stored = {"webhookId": webhook_id, "eventTypes": [], "onlyFailed": True}
    row = store_replays.create(OURS, ReplayFilter("0", None, stored), tx)
    request = row.content
    assert isinstance(request, ReplayRequest)
    ReplayStore().is_waiting(OURS, webhook_id, tx)
    ReplayStore().deliver(OURS, row.id, request, 0, 20, tx)


def find_startup_leases(webhook_id: str, tx: Transaction) -> None:
    assert find_leases(OURS, tx) == []


def purge(webhook_id: str, tx: Transaction) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # Rows have timestamps of up to seconds after the start of the transaction.
        patch.setattr(store_retention, "EVENT_RETENTION", -60_000)
        assert store_retention.purge(OURS, tx, PurgeLimits(events=2, rows=2))


WORKS = [record_event, ensure_tags, begin_test_delivery, replay, find_startup_leases, purge]


def steps(path: Path, rows: int) -> dict[str, int]:
    """Returns the steps of each operation in an account with this number of rows."""
    found = {}
    with unit_of_work(f"sqlite:///{path}/{rows}.db") as tx:
        webhook_id = account_with_history(rows, tx)
        for work in WORKS:
            recording = RecordingTransaction(tx)
            # Filling the account takes longer than all operations, so each is undone.
            with tx._database.savepoint() as savepoint:
                work(webhook_id, recording)
                savepoint.rollback()
            found[work.__name__] = sum(step.machine_steps for step in recording.recorded)
    return found


def test_cost_of_each_operation_is_independent_of_the_number_of_rows(tmp_path: Path) -> None:
    few, many = steps(tmp_path, FEW), steps(tmp_path, MANY)

    assert {name: (few[name], many[name]) for name in few if many[name] >= 1.5 * few[name]} == {}
