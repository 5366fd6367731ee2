"""Replays step by step, on both databases: what becomes a delivery, and how much at once."""

from __future__ import annotations

from functools import partial

import pytest

from server.errors import ReplayLimitReached, WebhookNotFound
from server.ids import first_id_at
from server.storage.transaction import Transaction
from server.webhooks import store
from server.webhooks.delivery import store_expansion, store_queue, store_replays
from server.webhooks.delivery.store_endpoints import endpoints_of
from server.webhooks.delivery.store_replays import ReplayFilter, advance, create
from server.webhooks.rules import DeliveryStatus

from .delivering import OURS, Place, Process, play

EVERYTHING = ReplayFilter(first_id_at(0), None, [], only_failed=False)
URL = "http://127.0.0.1:1/"


def step(tx: Transaction) -> bool:
    """Advances a replay, as whoever delivers does."""
    assert store_queue.lock_if_free(OURS, tx) is not None
    before = tx.statements
    more = advance(OURS, tx) is not None
    assert tx.statements - before <= 5
    return more


def expand(tx: Transaction) -> None:
    """Makes deliveries of what has happened."""
    queue = store_queue.lock_queue_only(OURS, tx)
    expanded = store_expansion.expand(OURS, queue, endpoints_of(OURS, tx), tx)
    store_queue.put(OURS, expanded.queue, tx)


async def begin(here: Process, webhook_id: str, replay_filter: ReplayFilter = EVERYTHING) -> str:
    """Begins a replay and returns its id."""
    row = await here.database.write(lambda tx: create(OURS, webhook_id, replay_filter, tx))
    return row.id


async def steps(here: Process) -> int:
    """Advances replays as far as they go, and returns how many steps it took."""
    count = 0
    while await here.database.write(step):
        count += 1
    return count


async def sequences(here: Process, replay_id: str) -> list[int]:
    """Returns the places of the events that are delivered in a replay."""
    rows = await here.rows("delivery", "sequence")
    return [row["sequence"] for row in rows if row["replay_id"] == replay_id]


async def set_status(here: Process, sequence: int, status: DeliveryStatus) -> None:
    """Makes something of the deliveries of an event, as if it had been sent."""
    finished = status not in (DeliveryStatus.PENDING, DeliveryStatus.SENDING)

    def work(tx: Transaction) -> None:
        due = "NULL" if finished else str(tx.now)
        tx._database.execute_sql(
            f"UPDATE delivery SET status = {int(status)}, due_at = {due}"
            f" WHERE sequence = {sequence}"
        )

    await here.database.write(work)


def test_replay_goes_on_where_the_step_before_ended(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_replays, "REPLAYED_AT_ONCE", 3)

    async def story(here: Process) -> None:
        webhook = await here.add(URL)
        await here.happen(*"abcdefg")
        replay_id = await begin(here, webhook.id)
        await here.happen("later")

        assert await here.database.write(step)
        assert await sequences(here, replay_id) == [1, 2, 3]
        assert await steps(here) == 2
        assert await sequences(here, replay_id) == [1, 2, 3, 4, 5, 6, 7]
        assert await here.rows("webhook_replay") == []

    play(place, story)


def test_step_that_is_done_twice_adds_nothing(place: Place) -> None:
    async def story(here: Process) -> None:
        webhook = await here.add(URL)
        await here.happen("a", "b")
        replay_id = await begin(here, webhook.id)
        (row,) = await here.rows("webhook_replay")
        await steps(here)

        def again(tx: Transaction) -> None:
            events = store_expansion.events_between(OURS, 0, row["until_sequence"], 10, tx)
            pairs = [(webhook.id, event) for event in events]
            store_expansion.add_deliveries(OURS, pairs, replay_id, tx)

        await here.database.write(again)
        assert await sequences(here, replay_id) == [1, 2]

    play(place, story)


def test_replay_waits_as_long_as_much_is_due_at_its_webhook_and_holds_up_no_other(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_replays, "REPLAYED_AT_ONCE", 2)
    monkeypatch.setattr(store_replays, "MAX_DUE", 2)

    async def story(here: Process) -> None:
        first, second = await here.add(URL), await here.add(URL)
        await here.happen(*"abcdef")
        slow, quick = await begin(here, first.id), await begin(here, second.id)

        await steps(here)

        # Two are not more than two, so each gets another piece.
        assert await sequences(here, slow) == await sequences(here, quick) == [1, 2, 3, 4]
        for sequence in (1, 2, 3, 4):
            await set_status(here, sequence, DeliveryStatus.SUCCEEDED)
        await steps(here)
        assert await sequences(here, slow) == await sequences(here, quick) == [1, 2, 3, 4, 5, 6]

    play(place, story)


@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        ([DeliveryStatus.FAILED], True),
        ([DeliveryStatus.FAILED, DeliveryStatus.FAILED], True),
        ([DeliveryStatus.FAILED, DeliveryStatus.SUCCEEDED], False),
        ([DeliveryStatus.FAILED, DeliveryStatus.PENDING], False),
        ([DeliveryStatus.FAILED, DeliveryStatus.SENDING], False),
        ([DeliveryStatus.SUCCEEDED], False),
        ([], False),
    ],
)
def test_replay_of_what_failed_is_of_events_whose_every_delivery_failed(
    place: Place, others: list[DeliveryStatus], wanted: bool
) -> None:
    async def story(here: Process) -> None:
        webhook, other = await here.add(URL), await here.add(URL)
        await here.happen("a", "b")

        def add(tx: Transaction) -> None:
            (event, _) = store_expansion.events_between(OURS, 0, 2, 2, tx)
            store_expansion.add_deliveries(OURS, [(other.id, event)], "", tx)
            for number, status in enumerate(others):
                store_expansion.add_deliveries(OURS, [(webhook.id, event)], str(number), tx)
                tx._database.execute_sql(
                    f"UPDATE delivery SET status = {int(status)} WHERE replay_id = '{number}'"
                )

        await here.database.write(add)
        replay_id = await begin(here, webhook.id, EVERYTHING._replace(only_failed=True))
        await steps(here)

        assert await sequences(here, replay_id) == ([1] if wanted else [])

    play(place, story)


def test_replay_ends_with_its_webhook_and_cannot_begin_after_it(place: Place) -> None:
    async def story(here: Process) -> None:
        webhook = await here.add(URL)
        await here.happen("a")
        await begin(here, webhook.id)
        await here.database.write(partial(store.delete, OURS, webhook.id))

        assert await steps(here) == 0
        assert await here.rows("delivery") == []
        with pytest.raises(WebhookNotFound):
            await begin(here, webhook.id)

    play(place, story)


def test_webhook_has_few_replays_under_way(place: Place) -> None:
    async def story(here: Process) -> None:
        webhook, other = await here.add(URL), await here.add(URL)
        await here.happen("a")
        for _ in range(store_replays.MAX_REPLAYS):
            await begin(here, webhook.id)

        with pytest.raises(ReplayLimitReached):
            await begin(here, webhook.id)

        assert len(await here.rows("webhook_replay")) == store_replays.MAX_REPLAYS == 10
        await begin(here, other.id)
        await steps(here)
        await begin(here, webhook.id)

    play(place, story)


def test_replay_wakes_whoever_delivers(place: Place) -> None:
    async def story(here: Process) -> None:
        webhook = await here.add(URL)
        await here.happen("a")
        await here.database.write(expand)
        seen: list[str] = []
        here.database.listen(seen.extend)

        await begin(here, webhook.id)
        await here.until(lambda: seen)

        assert set(seen) == {OURS}
        (queue,) = await here.rows("delivery_queue", "account_id")
        assert queue["due_at"] == here.clock.now

    play(place, story)
