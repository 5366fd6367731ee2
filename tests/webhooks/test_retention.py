"""What is taken away once it is old, step by step, on both databases; the rest stays."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from server.maintenance.retention import purge_events
from server.storage.transaction import Transaction
from server.webhooks import store
from server.webhooks.delivery import store_replays, store_retention
from server.webhooks.delivery.store_retention import ATTEMPTS_KEPT, EVENTS_KEPT

from .delivering import OURS, Place, Process, process
from .receivers import Receiver, answering, ok, receiving

TABLES = {"event": "sequence", "delivery": "sequence", "delivery_attempt": "place"}
NOTHING: dict[str, list[int]] = {table: [] for table in TABLES}
BROKEN = answering("HTTP/1.1 503 Broken\nContent-Length: 2\nConnection: close", b"no")
Story = Callable[[Process, Receiver], Awaitable[None]]


def play(place: Place, story: Story, *, behaviour: Any = ok) -> None:
    """Runs a story in a process that delivers, to a receiver that behaves so."""

    async def whole() -> None:
        async with receiving(behaviour) as receiver, process(place) as here:
            await known(here)
            await story(here, receiver)

    asyncio.run(whole())


async def known(here: Process) -> None:
    """Makes the account known, which the upkeep goes by."""

    def work(tx: Transaction) -> None:
        tx._database.execute_sql(
            "INSERT INTO account (id, email, email_verified, created_at)"
            f" VALUES ('{OURS}', 'a@example.com', TRUE, 1)"
        )

    await here.database.write(work)


async def left(here: Process) -> dict[str, list[int]]:
    """Returns what there is of events, deliveries and attempts, by their numbers."""
    return {
        table: [row[order] for row in await here.rows(table, order)]
        for table, order in TABLES.items()
    }


async def delivered(here: Process, *names: str) -> None:
    """Has events happen, and waits until all there are have been delivered."""
    before = len({row["sequence"] for row in await here.rows("delivery")})
    await here.happen(*names)
    await here.until_rows(
        "delivery",
        lambda found: (
            len({row["sequence"] for row in found}) == before + len(names)
            and {row["status"] for row in found} == {3}
        ),
    )


def test_attempts_go_after_14_days_and_events_with_their_deliveries_after_30(place: Place) -> None:
    async def story(here: Process, receiver: Receiver) -> None:
        await here.add(receiver.url)
        await delivered(here, "a", "b")
        here.clock.advance(ATTEMPTS_KEPT - 1)
        assert await purge_events(here.database) == 0
        here.clock.advance(1)
        assert await purge_events(here.database) == 2
        assert await left(here) == {"event": [1, 2], "delivery": [1, 2], "delivery_attempt": []}
        here.clock.advance(EVENTS_KEPT - ATTEMPTS_KEPT - 1)
        await delivered(here, "c")
        assert await purge_events(here.database) == 0
        here.clock.advance(1)

        assert await purge_events(here.database) == 4
        assert await left(here) == {"event": [3], "delivery": [3], "delivery_attempt": [3]}

    play(place, story)


def test_much_goes_in_small_steps_and_all_of_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_retention, "EVENTS_AT_ONCE", 2)
    monkeypatch.setattr(store_retention, "ROWS_AT_ONCE", 3)
    seen: list[int] = []
    real = store_retention.purge

    def noted(account_id: str, tx: Transaction) -> int:
        seen.append(real(account_id, tx))
        return seen[-1]

    async def story(here: Process, receiver: Receiver) -> None:
        await here.add(receiver.url)
        await here.add(receiver.url)
        await delivered(here, *"abcde")
        await here.deliveries(*[3] * 10)
        here.clock.advance(EVENTS_KEPT + 1)
        monkeypatch.setattr(store_retention, "purge", noted)

        assert await purge_events(here.database) == 5 + 10 + 10

        assert await left(here) == NOTHING
        # Two events with four deliveries, and three attempts and old deliveries each.
        assert max(seen) <= 2 + 4 + 3 + 3
        assert seen[-1] == 0

    play(place, story)


def test_delivery_that_is_pending_goes_with_its_event(place: Place) -> None:
    async def story(here: Process, receiver: Receiver) -> None:
        webhook = await here.add(receiver.url)
        await here.happen("a")
        await here.until_rows("delivery", lambda found: found and found[0]["attempts"] == 1)
        await here.database.write(partial(store.update, OURS, webhook.id, {"enabled": False}))
        here.clock.advance(EVENTS_KEPT + 1)

        await purge_events(here.database)

        assert await left(here) == NOTHING

    play(place, story, behaviour=BROKEN)


def test_delivery_in_a_late_replay_goes_with_its_event_too(place: Place) -> None:
    async def story(here: Process, receiver: Receiver) -> None:
        webhook = await here.add(receiver.url)
        await delivered(here, "a")
        here.clock.advance(EVENTS_KEPT - 1)
        everything = store_replays.ReplayFilter("0" * 26, None, [], only_failed=False)
        await here.database.write(partial(store_replays.create, OURS, webhook.id, everything))
        await here.deliveries(3, 3)
        here.clock.advance(2)

        await purge_events(here.database)

        assert (await left(here))["delivery"] == []

    play(place, story)


def test_what_a_deleted_webhook_leaves_behind_goes_as_well(place: Place) -> None:
    async def story(here: Process, receiver: Receiver) -> None:
        webhook = await here.add(receiver.url)
        await delivered(here, "a", "b")
        await here.database.write(partial(store.update, OURS, webhook.id, {"enabled": False}))
        everything = store_replays.ReplayFilter("0" * 26, None, [], only_failed=False)
        for _ in range(2):
            await here.database.write(partial(store_replays.create, OURS, webhook.id, everything))
        await here.database.write(partial(store.delete, OURS, webhook.id))
        here.clock.advance(EVENTS_KEPT + 1)

        await purge_events(here.database)

        assert await left(here) == NOTHING
        assert await here.rows("webhook_replay") == []

    play(place, story)


def test_two_at_once_take_everything_away_once_beside_writers(place: Place) -> None:
    async def story(here: Process, receiver: Receiver) -> None:
        await here.add(receiver.url)
        await delivered(here, *"abcdefgh")
        here.clock.advance(EVENTS_KEPT + 1)

        writing = asyncio.create_task(here.happen(*"vwxyz"))
        both = await asyncio.gather(purge_events(here.database), purge_events(here.database))
        await writing

        assert sum(both) == 8 * 3
        await here.deliveries(*[3] * 5)
        assert (await left(here))["event"] == [9, 10, 11, 12, 13]

    play(place, story)


def test_purge_that_is_cancelled_ends_with_the_step_it_is_at(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_retention, "EVENTS_AT_ONCE", 1)
    begun, cancelled = threading.Event(), threading.Event()
    real = store_retention.purge

    def slow(account_id: str, tx: Transaction) -> int:
        begun.set()
        assert cancelled.wait(10)
        return real(account_id, tx)

    async def story(here: Process, receiver: Receiver) -> None:
        await here.add(receiver.url)
        await delivered(here, *"abc")
        here.clock.advance(EVENTS_KEPT + 1)
        monkeypatch.setattr(store_retention, "purge", slow)

        purge = asyncio.create_task(purge_events(here.database))
        await asyncio.to_thread(begun.wait, 10)
        purge.cancel()
        await asyncio.sleep(0)
        cancelled.set()

        with pytest.raises(asyncio.CancelledError):
            await purge
        assert (await left(here))["event"] == [2, 3]

    play(place, story)
