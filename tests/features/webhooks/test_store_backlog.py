"""Tests the backlog: the number of due deliveries to enabled webhooks, on both databases."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rosterd.server.features.webhooks import store
from rosterd.server.features.webhooks.delivery.store_queue import (
    Backlog,
    backlog_of_any_account,
)
from rosterd.server.features.webhooks.models import Delivery
from rosterd.server.features.webhooks.rules import LEASE_DURATION
from rosterd.server.storage.databases import unit_of_work

from ...storage.test_plans import RecordingTransaction
from .worker import ACCOUNT_ID, Location, Worker, lease_due, running_worker

THEIRS = "1" * 26
HOUR = 3_600_000


async def add_backlog(worker: Worker, account_id: str, *names: str) -> str:
    """Adds a webhook with deliveries whose leases ended an hour ago, and returns its id."""
    webhook = await worker.add_webhook("http://127.0.0.1:1/", account_id=account_id)
    await worker.create_tags(*names, account_id=account_id)
    await worker.database.write(partial(lease_due, account_id))
    worker.clock.advance(HOUR + LEASE_DURATION)
    return webhook.id


async def test_backlog_counts_due_deliveries_of_all_accounts_and_the_age_of_the_oldest(
    location: Location,
) -> None:
    async with running_worker(location, dispatches=False) as worker:
        assert await worker.database.read(backlog_of_any_account) == Backlog()
        await add_backlog(worker, ACCOUNT_ID, "a", "b")
        await add_backlog(worker, THEIRS, "a")

        assert await worker.database.read(backlog_of_any_account) == Backlog(
            3, 2 * HOUR + LEASE_DURATION
        )


async def test_backlog_excludes_disabled_and_deleted_webhooks(location: Location) -> None:
    async with running_worker(location, dispatches=False) as worker:
        disabled = await add_backlog(worker, ACCOUNT_ID, "a", "b")
        deleted = await add_backlog(worker, THEIRS, "a")
        await worker.database.write(partial(store.update, ACCOUNT_ID, disabled, {"enabled": False}))
        await worker.database.write(partial(store.delete, THEIRS, deleted))
        assert len([row for row in await worker.rows(Delivery) if row["due_at"]]) == 3

        assert await worker.database.read(backlog_of_any_account) == Backlog()

        await add_backlog(worker, THEIRS, "b")
        assert await worker.database.read(backlog_of_any_account) == Backlog(1, HOUR)


async def test_backlog_has_the_age_of_an_event_that_has_no_deliveries_yet(
    location: Location,
) -> None:
    async with running_worker(location, dispatches=False) as worker:
        webhook = await add_backlog(worker, ACCOUNT_ID, "a")
        worker.clock.advance(HOUR)
        await worker.add_webhook("http://127.0.0.1:1/", account_id=THEIRS)
        await worker.create_tags("a", account_id=THEIRS)
        worker.clock.advance(3 * HOUR)
        await worker.create_tags("b", account_id=THEIRS)

        assert await worker.database.read(backlog_of_any_account) == Backlog(1, 5 * HOUR)
        await worker.database.write(partial(store.delete, ACCOUNT_ID, webhook))
        assert await worker.database.read(backlog_of_any_account) == Backlog(0, 3 * HOUR)


def test_backlog_is_read_by_the_index_of_due_deliveries(tmp_path: Path) -> None:
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db") as tx:
        recording = RecordingTransaction(tx)
        backlog_of_any_account(recording)

    deliveries, events = recording.recorded
    assert any("delivery_by_due (account_id=? AND webhook_id=?" in line for line in deliveries.plan)
    assert any("USING PRIMARY KEY (account_id=? AND sequence=?" in line for line in events.plan)
