"""Tails: what is told to those who follow attempts, whoever makes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.caller import Caller
from server.errors import Unauthorized, Unavailable
from server.storage.transaction import Transaction
from server.webhooks.delivery import store_tail, tail
from server.webhooks.delivery.store_tail import TailRecord
from server.webhooks.delivery.tail import Tails

from ..postgres import Postgres
from .delivering import OURS, PATIENCE, START, Place, Process, TestClock, process
from .receivers import Visit, receiving

CALLER = Caller(OURS, "1" * 26, "read", email_verified=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for long."""
    monkeypatch.setattr(tail, "MAX_PAUSE", 0.05)


async def with_key(here: Process) -> None:
    """Stores the key of the caller."""

    def work(tx: Transaction) -> None:
        tx._database.execute_sql(
            "INSERT INTO api_key (account_id, id, name, scope, secret_hash, created_at)"
            f" VALUES ('{OURS}', '{CALLER.key_id}', 'test', 'read', 'hash', 1)"
        )

    await here.database.write(work)


async def takes_its_time(visit: Visit) -> None:
    """Takes every request, each after a while of its own."""
    while True:
        await visit.request()
        await asyncio.sleep(len(visit.receiver.requests) % 7 / 500)
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def test_tail_misses_nothing_of_what_several_processes_do(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_tail, "MAX_BATCH", 7)
    place, names = Place(postgres.new_roster()), [f"n{number}" for number in range(60)]

    async def story() -> list[tuple[str, int]]:
        async with (
            receiving(takes_its_time) as receiver,
            process(place) as first,
            process(place, clock=TestClock(START - 2_000)) as second,
            process(place, clock=TestClock(START + 2_000), delivers=False) as here,
        ):
            await with_key(here)
            webhooks = [await here.add(receiver.url) for _ in range(3)]
            following = asyncio.create_task(take(here, len(names) * len(webhooks)))
            await asyncio.sleep(0)
            await asyncio.gather(first.happen(*names[::2]), second.happen(*names[1::2]))
            told = await following
            rows = await here.rows("delivery_attempt", "place")
            assert told == [(row["delivery_id"], row["number"]) for row in rows[: len(told)]]
            assert [row["place"] for row in rows] == list(range(1, len(rows) + 1))
            return told

    told = asyncio.run(story())
    assert len(set(told)) == len(told) == 180


async def followed(tails: Tails, caller: Caller) -> AsyncIterator[TailRecord]:
    """Follows the attempts of an account from now on."""
    place = await tails.begin(caller, "")
    async for record in tails.follow(caller, "", place):
        yield record


async def take(here: Process, count: int) -> list[tuple[str, int]]:
    """Follows until so many attempts were told of."""
    told = []
    async with asyncio.timeout(20):
        async for record in followed(Tails(here.database), CALLER):
            told.append((record.delivery.id, record.attempt.number))
            if len(told) == count:
                break
    return told


def test_tail_goes_on_after_a_while_without_the_database(tmp_path: Path) -> None:
    async def story() -> None:
        async with receiving(takes_its_time) as receiver, process(Place(tmp_path / "a.db")) as here:
            await with_key(here)
            await here.add(receiver.url)
            real, failures = here.database.read, [2]

            async def read(work):  # type: ignore[no-untyped-def]
                if failures[0] and "_next_batch" in repr(work):
                    failures[0] -= 1
                    raise Unavailable
                return await real(work)

            here.database.read = read  # type: ignore[method-assign]
            following = asyncio.create_task(take(here, 1))
            await here.happen("a")

            assert len(await following) == 1
            assert failures == [0]

    asyncio.run(story())


def test_tail_ends_when_the_service_does_or_the_key(tmp_path: Path) -> None:
    async def story() -> None:
        async with process(Place(tmp_path / "a.db"), delivers=False) as here:
            await with_key(here)
            following = Tails(here.database)
            waiting = asyncio.ensure_future(anext(followed(following, CALLER)))
            await asyncio.sleep(0)
            following.serve(serving=False)
            with pytest.raises(Unavailable):
                await waiting
            following.serve(serving=True)
            stranger = Caller(OURS, "2" * 26, "read", email_verified=True)
            with pytest.raises(Unauthorized):
                await anext(followed(following, stranger))

    asyncio.run(asyncio.wait_for(story(), PATIENCE))
