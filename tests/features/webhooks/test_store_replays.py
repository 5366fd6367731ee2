"""Tests replays on both databases: which events are delivered, in which batches."""

from __future__ import annotations

from functools import partial

import pytest

from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations import store_steps
from rosterd.server.features.operations.rules import State
from rosterd.server.features.operations.store_steps import StepResult, Steps
from rosterd.server.features.webhooks.delivery import store_expansion, store_replays
from rosterd.server.features.webhooks.delivery.store_replays import ReplayStore, create
from rosterd.server.features.webhooks.models import Delivery
from rosterd.server.features.webhooks.rules import DeliveryState
from rosterd.server.storage.transaction import Transaction

from ...storage.helpers import SUPPRESSIONS
from .replays import everything
from .worker import ACCOUNT_ID, Location, Worker, running_worker

STEPS = Steps(SUPPRESSIONS, ReplayStore())
URL = "http://127.0.0.1:1/"


def step(tx: Transaction) -> StepResult | None:
    """Runs a step of a replay as the runner does; None if all replays wait or have ended."""
    selection = STEPS.select_next(ACCOUNT_ID, "", 1_000, tx)
    if selection is None:
        return None
    before = tx.statements
    outcome = STEPS.run(ACCOUNT_ID, selection, "", tx)
    # Ten with the event of the end and the check of failed deliveries.
    assert tx.statements - before <= 10
    return outcome.result


async def start(worker: Worker, webhook_id: str, *, only_failed: bool = False) -> str:
    """Starts a replay and returns its id."""
    replay_filter = everything(webhook_id, only_failed=only_failed)
    row = await worker.database.write(lambda tx: create(ACCOUNT_ID, replay_filter, tx))
    return row.id


async def run_all(worker: Worker) -> int:
    """Runs replays as far as possible, and returns how many steps that took."""
    count = 0
    while await worker.database.write(step):
        count += 1
    return count


async def sequences(worker: Worker, replay_id: str) -> list[int]:
    """Returns the sequences of the events that a replay has delivered."""
    rows = await worker.rows(Delivery, "sequence")
    return [row["sequence"] for row in rows if row["replay_id"] == replay_id]


async def set_state(worker: Worker, sequence: int, state: DeliveryState) -> None:
    finished = state not in (DeliveryState.PENDING, DeliveryState.SENDING)
    due_at = "NULL" if finished else str(worker.clock.now)
    await worker.execute(
        f"UPDATE delivery SET status = {int(state)}, due_at = {due_at} WHERE sequence = {sequence}"
    )


async def test_replay_continues_after_the_last_batch(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_steps, "MAX_REPLAYED_EVENTS", 3)

    async with running_worker(location, dispatches=False) as worker:
        webhook = await worker.add_webhook(URL)
        await worker.create_tags(*"abcdefg")
        replay_id = await start(worker, webhook.id)
        await worker.create_tags("later")

        assert await worker.database.write(step)
        assert await sequences(worker, replay_id) == [1, 2, 3]
        assert await run_all(worker) == 2
        assert await sequences(worker, replay_id) == [1, 2, 3, 4, 5, 6, 7]
        row = await worker.database.read(partial(operations.find, ACCOUNT_ID, replay_id))
        assert (row.state, row.total, row.processed) == (State.SUCCEEDED, 7, 7)


async def test_replay_waits_while_many_deliveries_are_due_and_does_not_delay_another(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_steps, "MAX_REPLAYED_EVENTS", 2)
    monkeypatch.setattr(store_replays, "MAX_DUE", 2)

    async with running_worker(location, dispatches=False) as worker:
        first, second = await worker.add_webhook(URL), await worker.add_webhook(URL)
        await worker.create_tags(*"abcdef")
        slow, quick = await start(worker, first.id), await start(worker, second.id)

        await run_all(worker)

        # Two due deliveries are not more than MAX_DUE, so each replay gets another batch.
        assert await sequences(worker, slow) == await sequences(worker, quick) == [1, 2, 3, 4]
        for sequence in (1, 2, 3, 4):
            await set_state(worker, sequence, DeliveryState.SUCCEEDED)
        await run_all(worker)
        assert await sequences(worker, slow) == await sequences(worker, quick) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("statuses", "replayed"),
    [
        ([DeliveryState.FAILED, DeliveryState.FAILED], True),
        ([DeliveryState.FAILED, DeliveryState.SUCCEEDED], False),
        ([DeliveryState.FAILED, DeliveryState.PENDING], False),
        ([], False),
    ],
)
async def test_replay_of_failed_events_requires_that_all_deliveries_failed(
    location: Location, statuses: list[DeliveryState], replayed: bool
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
        replay_id = await start(worker, webhook.id, only_failed=True)
        await run_all(worker)

        assert await sequences(worker, replay_id) == ([1] if replayed else [])
