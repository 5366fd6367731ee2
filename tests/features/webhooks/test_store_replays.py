"""Tests replays on both databases: which events are delivered, in which batches."""

from __future__ import annotations

from functools import partial

import pytest

from rosterd.server.features.webhooks import store
from rosterd.server.features.webhooks.delivery import store_expansion, store_queue, store_replays
from rosterd.server.features.webhooks.delivery.store_replays import ReplayFilter, advance, create
from rosterd.server.features.webhooks.models import Delivery, Replay
from rosterd.server.features.webhooks.rules import DeliveryStatus
from rosterd.server.rpc.errors import WebhookNotFound
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import first_id_at

from .worker import ACCOUNT_ID, Location, Worker, running_worker

EVERYTHING = ReplayFilter(first_id_at(0), None, [], only_failed=False)
URL = "http://127.0.0.1:1/"


def advance_once(tx: Transaction) -> bool:
    """Advances a replay as the dispatcher does. Returns False if there is none to advance."""
    assert store_queue.lock_if_free(ACCOUNT_ID, tx) is not None
    before = tx.statements
    more = advance(ACCOUNT_ID, tx) is not None
    assert tx.statements - before <= 5
    return more


async def start(worker: Worker, webhook_id: str, replay_filter: ReplayFilter = EVERYTHING) -> str:
    """Starts a replay and returns its id."""
    row = await worker.database.write(lambda tx: create(ACCOUNT_ID, webhook_id, replay_filter, tx))
    return row.id


async def advance_all(worker: Worker) -> int:
    """Advances replays as far as possible, and returns how many steps that took."""
    count = 0
    while await worker.database.write(advance_once):
        count += 1
    return count


async def sequences(worker: Worker, replay_id: str) -> list[int]:
    """Returns the sequences of the events that a replay has expanded."""
    rows = await worker.rows(Delivery, "sequence")
    return [row["sequence"] for row in rows if row["replay_id"] == replay_id]


async def set_status(worker: Worker, sequence: int, status: DeliveryStatus) -> None:
    finished = status not in (DeliveryStatus.PENDING, DeliveryStatus.SENDING)
    due_at = "NULL" if finished else str(worker.clock.now)
    await worker.execute(
        f"UPDATE delivery SET status = {int(status)}, due_at = {due_at} WHERE sequence = {sequence}"
    )


async def test_replay_continues_after_the_last_batch(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_replays, "MAX_REPLAYED_EVENTS", 3)

    async with running_worker(location, dispatches=False) as worker:
        webhook = await worker.add_webhook(URL)
        await worker.create_tags(*"abcdefg")
        replay_id = await start(worker, webhook.id)
        await worker.create_tags("later")

        assert await worker.database.write(advance_once)
        assert await sequences(worker, replay_id) == [1, 2, 3]
        assert await advance_all(worker) == 2
        assert await sequences(worker, replay_id) == [1, 2, 3, 4, 5, 6, 7]
        assert await worker.rows(Replay) == []


async def test_replay_waits_while_many_deliveries_are_due_and_does_not_delay_another(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_replays, "MAX_REPLAYED_EVENTS", 2)
    monkeypatch.setattr(store_replays, "MAX_DUE", 2)

    async with running_worker(location, dispatches=False) as worker:
        first, second = await worker.add_webhook(URL), await worker.add_webhook(URL)
        await worker.create_tags(*"abcdef")
        slow, quick = await start(worker, first.id), await start(worker, second.id)

        await advance_all(worker)

        # Two due deliveries are not more than MAX_DUE, so each replay gets another batch.
        assert await sequences(worker, slow) == await sequences(worker, quick) == [1, 2, 3, 4]
        for sequence in (1, 2, 3, 4):
            await set_status(worker, sequence, DeliveryStatus.SUCCEEDED)
        await advance_all(worker)
        assert await sequences(worker, slow) == await sequences(worker, quick) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("statuses", "replayed"),
    [
        ([DeliveryStatus.FAILED, DeliveryStatus.FAILED], True),
        ([DeliveryStatus.FAILED, DeliveryStatus.SUCCEEDED], False),
        ([DeliveryStatus.FAILED, DeliveryStatus.PENDING], False),
        ([], False),
    ],
)
async def test_replay_of_failed_events_requires_that_all_deliveries_failed(
    location: Location, statuses: list[DeliveryStatus], replayed: bool
) -> None:
    async with running_worker(location, dispatches=False) as worker:
        webhook, other = await worker.add_webhook(URL), await worker.add_webhook(URL)
        await worker.create_tags("a", "b")

        def add(tx: Transaction) -> None:
            (event, _) = store_expansion.events_between(ACCOUNT_ID, 0, 2, 2, tx)
            store_expansion.add_deliveries(ACCOUNT_ID, [(other.id, event)], tx)
            for number in range(len(statuses)):
                store_expansion.add_deliveries(ACCOUNT_ID, [(webhook.id, event)], tx, str(number))

        await worker.database.write(add)
        for number, status in enumerate(statuses):
            await worker.execute(
                f"UPDATE delivery SET status = {int(status)} WHERE replay_id = '{number}'"
            )
        replay_id = await start(worker, webhook.id, EVERYTHING._replace(only_failed=True))
        await advance_all(worker)

        assert await sequences(worker, replay_id) == ([1] if replayed else [])


async def test_deleted_webhook_has_no_replays(location: Location) -> None:
    async with running_worker(location, dispatches=False) as worker:
        webhook = await worker.add_webhook(URL)
        await worker.create_tags("a")
        await start(worker, webhook.id)
        await worker.database.write(partial(store.delete, ACCOUNT_ID, webhook.id))

        assert await advance_all(worker) == 0
        assert await worker.rows(Delivery) == []
        with pytest.raises(WebhookNotFound):
            await start(worker, webhook.id)
