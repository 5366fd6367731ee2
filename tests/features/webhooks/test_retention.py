"""Tests the deletion of old events, deliveries and attempts on both databases."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest

from rosterd.server.features.events.models import Event
from rosterd.server.features.operations.rules import ReplayRequest
from rosterd.server.features.webhooks import store, store_retention
from rosterd.server.features.webhooks.delivery import store_replays
from rosterd.server.features.webhooks.models import Delivery, DeliveryAttempt
from rosterd.server.features.webhooks.store_retention import (
    ATTEMPT_RETENTION,
    EVENT_RETENTION,
    PurgeLimits,
)
from rosterd.server.maintenance import purge as maintenance
from rosterd.server.storage.database import Database
from rosterd.server.storage.transaction import Transaction

from .raw_receivers import Handler, Receiver, ok, running_receiver
from .replays import everything
from .worker import ACCOUNT_ID, Location, Worker, running_worker


@asynccontextmanager
async def delivering(
    location: Location, handler: Handler = ok
) -> AsyncIterator[tuple[Worker, Receiver]]:
    """Runs a worker that dispatches, and a receiver."""
    async with running_receiver(handler) as receiver, running_worker(location) as worker:
        # Maintenance goes through the rows of accounts.
        await worker.execute(
            "INSERT INTO account (id, email, email_verified, created_at)"
            f" VALUES ('{ACCOUNT_ID}', 'a@example.com', TRUE, 1)"
        )
        yield worker, receiver


async def purge_old_rows(
    database: Database, purge: Callable[[str, Transaction], int] = store_retention.purge
) -> int:
    """Deletes the old rows of webhooks and events, as the maintenance does."""
    return await maintenance.purge_old_rows(database, store_retention.has_old, purge)


async def remaining(worker: Worker) -> tuple[list[int], list[int], list[int]]:
    """Returns the sequences of events and of deliveries, and the positions of attempts."""
    return (
        [row["sequence"] for row in await worker.rows(Event, "sequence")],
        [row["sequence"] for row in await worker.rows(Delivery, "sequence")],
        [row["position"] for row in await worker.rows(DeliveryAttempt, "position")],
    )


async def deliver_tags(worker: Worker, *names: str) -> None:
    """Creates tags and waits until all their events are delivered."""
    before = len({row["sequence"] for row in await worker.rows(Delivery)})
    await worker.create_tags(*names)
    await worker.wait_for_rows(
        Delivery,
        lambda rows: (
            len({row["sequence"] for row in rows}) == before + len(names)
            and {row["status"] for row in rows} == {3}
        ),
    )


async def test_attempts_are_deleted_after_14_days_and_events_with_deliveries_after_30(
    location: Location,
) -> None:
    async with delivering(location) as (worker, receiver):
        await worker.add_webhook(receiver.url)
        await deliver_tags(worker, "a", "b")
        worker.clock.advance(ATTEMPT_RETENTION - 1)
        assert await purge_old_rows(worker.database) == 0
        worker.clock.advance(1)
        assert await purge_old_rows(worker.database) == 2
        assert await remaining(worker) == ([1, 2], [1, 2], [])
        worker.clock.advance(EVENT_RETENTION - ATTEMPT_RETENTION - 1)
        await deliver_tags(worker, "c")
        assert await purge_old_rows(worker.database) == 0
        worker.clock.advance(1)

        assert await purge_old_rows(worker.database) == 4
        assert await remaining(worker) == ([3], [3], [3])


async def test_many_rows_are_deleted_in_small_batches(location: Location) -> None:
    batches: list[int] = []

    def purge(account_id: str, tx: Transaction) -> int:
        batches.append(store_retention.purge(account_id, tx, PurgeLimits(events=2, rows=3)))
        return batches[-1]

    async with delivering(location) as (worker, receiver):
        await worker.add_webhook(receiver.url)
        await worker.add_webhook(receiver.url)
        await deliver_tags(worker, *"abcde")
        await worker.wait_for_deliveries(*[3] * 10)
        worker.clock.advance(EVENT_RETENTION + 1)

        assert await purge_old_rows(worker.database, purge) == 5 + 10 + 10

        assert await remaining(worker) == ([], [], [])
        # Two events with four deliveries, three attempts, and three other deliveries.
        assert max(batches) <= 2 + 4 + 3 + 3
        assert batches[-1] == 0


def replayed(webhook_id: str, tx: Transaction) -> None:
    """Creates the delivery of a replay of the first event."""
    replay = store_replays.create(ACCOUNT_ID, everything(webhook_id), tx)
    request = replay.content
    assert isinstance(request, ReplayRequest)
    store_replays.ReplayStore().deliver(ACCOUNT_ID, replay.id, request, 0, 1, tx)


async def test_delivery_of_a_late_replay_is_deleted_with_its_event(location: Location) -> None:
    async with delivering(location) as (worker, receiver):
        webhook = await worker.add_webhook(receiver.url)
        await deliver_tags(worker, "a")
        worker.clock.advance(EVENT_RETENTION - 1)
        await worker.database.write(partial(replayed, webhook.id))
        await worker.wait_for_deliveries(3, 3)
        worker.clock.advance(2)

        await purge_old_rows(worker.database)

        assert await worker.rows(Delivery) == []


async def test_rows_of_a_deleted_webhook_are_deleted(location: Location) -> None:
    async with delivering(location) as (worker, receiver):
        webhook = await worker.add_webhook(receiver.url)
        await deliver_tags(worker, "a", "b")
        await worker.update(webhook.id, enabled=False)
        for _ in range(2):
            await worker.database.write(partial(replayed, webhook.id))
        await worker.database.write(partial(store.delete, ACCOUNT_ID, webhook.id))
        worker.clock.advance(EVENT_RETENTION + 1)

        await purge_old_rows(worker.database)

        assert await remaining(worker) == ([], [], [])


async def test_concurrent_purges_delete_each_row_once_while_others_write(
    location: Location,
) -> None:
    async with delivering(location) as (worker, receiver):
        await worker.add_webhook(receiver.url)
        await deliver_tags(worker, *"abcdefgh")
        worker.clock.advance(EVENT_RETENTION + 1)

        writing = asyncio.create_task(worker.create_tags(*"vwxyz"))
        purged = await asyncio.gather(
            purge_old_rows(worker.database), purge_old_rows(worker.database)
        )
        await writing

        assert sum(purged) == 8 * 3
        await worker.wait_for_deliveries(*[3] * 5)
        events, _, _ = await remaining(worker)
        assert events == [9, 10, 11, 12, 13]


async def test_canceled_purge_ends_after_the_current_batch(location: Location) -> None:
    started, canceled = threading.Event(), threading.Event()

    def purge(account_id: str, tx: Transaction) -> int:
        started.set()
        assert canceled.wait(60)
        return store_retention.purge(account_id, tx, PurgeLimits(events=1))

    async with delivering(location) as (worker, receiver):
        await worker.add_webhook(receiver.url)
        await deliver_tags(worker, *"abc")
        worker.clock.advance(EVENT_RETENTION + 1)

        purging = asyncio.create_task(purge_old_rows(worker.database, purge))
        await asyncio.to_thread(started.wait, 10)
        purging.cancel()
        await asyncio.sleep(0)
        canceled.set()

        with pytest.raises(asyncio.CancelledError):
            await purging
        events, _, _ = await remaining(worker)
        assert events == [2, 3]
