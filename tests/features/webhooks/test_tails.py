"""Tests tails: the streams of attempts as they finish, in any process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rosterd.server.features.webhooks.delivery.store_deliveries import TailRecord
from rosterd.server.features.webhooks.delivery.tail import Tails
from rosterd.server.features.webhooks.models import DeliveryAttempt
from rosterd.server.rpc.caller import Caller
from rosterd.server.rpc.errors import Unauthorized, Unavailable
from rosterd.server.storage.database import Database
from rosterd.server.values.actors import Actor, ActorType

from ...citus.cluster import Cluster
from ...postgres import Postgres
from .raw_receivers import Connection, running_receiver
from .worker import (
    ACCOUNT_ID,
    START,
    Location,
    TestClock,
    Worker,
    running_worker,
)

CALLER = Caller(ACCOUNT_ID, Actor(ActorType.API_KEY, "1" * 26), "read", email_verified=True)


async def store_key(worker: Worker, expires_at: str = "NULL") -> None:
    """Stores the API key of the caller."""
    await worker.execute(
        "INSERT INTO api_key (account_id, id, name, scope, secret_hash, created_at, expires_at)"
        f" VALUES ('{ACCOUNT_ID}', '{CALLER.actor.id}', 'test', 'read', 'hash', 1, {expires_at})"
    )


def tails_of(database: Database) -> Tails:
    """Returns tails that poll often and read small batches."""
    return Tails(database, max_pause=0.05, max_batch=7)


async def slow(connection: Connection) -> None:
    """Responds to each request after a different delay."""
    while True:
        await connection.request()
        await asyncio.sleep(len(connection.receiver.requests) % 7 / 500)
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


async def follow(tails: Tails, caller: Caller) -> AsyncIterator[TailRecord]:
    """Yields the attempts of the account from now on."""
    position = await tails.start(caller, "")
    async for record in tails.follow(caller, "", position):
        yield record


async def read_tail(worker: Worker, count: int) -> list[tuple[str, int]]:
    """Returns the delivery ids and numbers of the next `count` attempts."""
    attempts = []
    async with asyncio.timeout(60):
        async for record in follow(tails_of(worker.database), CALLER):
            attempts.append((record.delivery.id, record.attempt.number))
            if len(attempts) == count:
                break
    return attempts


async def test_tail_returns_every_attempt_of_all_processes_in_order(
    new_rosters: Postgres | Cluster,
) -> None:
    location = Location(new_rosters.new_roster())
    names = [f"n{number}" for number in range(60)]

    async with (
        running_receiver(slow) as receiver,
        running_worker(location) as first,
        running_worker(location, clock=TestClock(START - 2_000)) as second,
        running_worker(location, clock=TestClock(START + 2_000), dispatches=False) as observer,
    ):
        await store_key(observer)
        webhooks = [await observer.add_webhook(receiver.url) for _ in range(3)]
        reading = asyncio.create_task(read_tail(observer, len(names) * len(webhooks)))
        await asyncio.sleep(0)
        await asyncio.gather(first.create_tags(*names[::2]), second.create_tags(*names[1::2]))
        attempts = await reading
        rows = await observer.rows(DeliveryAttempt, "position")

        assert attempts == [(row["delivery_id"], row["number"]) for row in rows[:180]]
        assert [row["position"] for row in rows] == list(range(1, len(rows) + 1))
        assert len(set(attempts)) == len(attempts) == 180


async def test_tail_continues_after_the_database_was_unavailable(tmp_path: Path) -> None:
    location = Location(tmp_path / "a.db")
    async with running_receiver(slow) as receiver, running_worker(location) as worker:
        await store_key(worker)
        await worker.add_webhook(receiver.url)
        original, failures = worker.database.read, [2]

        async def read(work):  # type: ignore[no-untyped-def]
            if failures[0] and "_next_batch" in repr(work):
                failures[0] -= 1
                raise Unavailable
            return await original(work)

        worker.database.read = read  # type: ignore[method-assign]
        reading = asyncio.create_task(read_tail(worker, 1))
        await worker.create_tags("a")

        assert len(await reading) == 1
        assert failures == [0]


async def test_tail_ends_when_its_key_expires(location: Location) -> None:
    async with running_receiver(slow) as receiver, running_worker(location) as worker:
        await store_key(worker, str(worker.clock.now + 1_000))
        await worker.add_webhook(receiver.url)
        tail = follow(tails_of(worker.database), CALLER)
        reading = asyncio.create_task(anext(tail))
        await asyncio.sleep(0.1)
        await worker.create_tags("a")
        await reading

        worker.clock.advance(1_000)

        with pytest.raises(Unauthorized):
            await asyncio.wait_for(anext(tail), 60)
