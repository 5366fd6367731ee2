"""Tests the dispatcher on both databases: retries, limits, pauses, disabling and leases."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from rosterd.server.features.webhooks import store
from rosterd.server.features.webhooks.delivery.store_results import disable
from rosterd.server.features.webhooks.models import Delivery, DeliveryAttempt, Webhook
from rosterd.server.features.webhooks.rules import (
    DISABLE_AFTER,
    FAILURES_BEFORE_PAUSE,
    LEASE_DURATION,
    MAX_IN_FLIGHT_PER_ACCOUNT,
    MAX_IN_FLIGHT_PER_ENDPOINT,
    MIN_PAUSE,
    RETRY_DELAYS,
    DeliveryState,
    DisabledReason,
)
from rosterd.server.rpc.errors import Unavailable
from rosterd.server.storage.database import Database, NodeResults, Result, Work

from .raw_receivers import hang, ok, responding, running_receiver
from .worker import (
    ACCOUNT_ID,
    START,
    Location,
    body_of,
    headers_of,
    running_worker,
)

PENDING, SENDING, SUCCEEDED, FAILED = DeliveryState
BROKEN = responding("HTTP/1.1 503 Broken\nContent-Length: 2\nConnection: close", b"no")


async def test_failing_delivery_follows_the_retry_schedule_and_then_fails(
    location: Location,
) -> None:
    async with running_receiver(BROKEN) as receiver, running_worker(location) as worker:
        await worker.add_webhook(receiver.url)
        await worker.create_tags("vip")
        for number, delay in enumerate(RETRY_DELAYS, 1):
            (delivery,) = await worker.wait_for_rows(
                Delivery,
                lambda found, number=number: found and found[0]["attempts"] == number,
            )
            assert delivery["status"] == PENDING
            assert delivery["due_at"] - worker.clock.now == delay * 1000
            worker.clock.now = delivery["due_at"]
            worker.dispatcher.notify([ACCOUNT_ID])
        (delivery,) = await worker.wait_for_deliveries(FAILED)

        assert delivery["attempts"] == len(RETRY_DELAYS) + 1 == len(receiver.requests)
        assert {headers_of(request)["webhook-id"] for request in receiver.requests} == {
            delivery["event_id"]
        }
        attempts = await worker.rows(DeliveryAttempt, "number")
        assert [row["http_status"] for row in attempts] == [503] * 10


async def test_endpoint_has_four_deliveries_in_flight_and_an_account_32(location: Location) -> None:
    async with running_receiver(hang) as hanging, running_worker(location) as worker:
        await worker.add_webhook(hanging.url)
        await worker.create_tags(*map(str, range(10)))
        await worker.wait_until(lambda: hanging.connections == 4)
        for _ in range(9):
            await worker.add_webhook(hanging.url)
        await worker.create_tags(*map(str, range(10, 20)))
        await worker.wait_until(lambda: hanging.connections == 32)
        await asyncio.sleep(0.1)

        assert hanging.connections == 32
        found = await worker.rows(Delivery)
        assert [row["status"] for row in found].count(SENDING) == 32


async def test_failing_endpoint_is_paused_and_then_gets_one_delivery_at_a_time(
    location: Location,
) -> None:
    async with running_receiver(BROKEN) as receiver, running_worker(location) as worker:
        webhook = await worker.add_webhook(receiver.url)
        await worker.create_tags(*map(str, range(20)))
        (row,) = await worker.wait_for_rows(Webhook, lambda found: found[0]["failures"] >= 5)
        await asyncio.sleep(0.1)
        sent = len(receiver.requests)
        assert sent <= FAILURES_BEFORE_PAUSE + MAX_IN_FLIGHT_PER_ENDPOINT
        assert row["paused_until"] >= worker.clock.now + MIN_PAUSE
        (row,) = await worker.rows(Webhook)
        worker.clock.now = row["paused_until"]
        worker.dispatcher.notify([ACCOUNT_ID])
        await worker.wait_until(lambda: len(receiver.requests) == sent + 1)
        await asyncio.sleep(0.1)

        assert len(receiver.requests) == sent + 1
        (row,) = await worker.rows(Webhook)
        assert (row["id"], row["failing_since"]) == (webhook.id, START)


@pytest.mark.parametrize(("retry_after", "seconds"), [("1", 5), ("7", 7), ("1000000000", 10)])
async def test_retry_after_is_honored_up_to_twice_the_scheduled_delay(
    location: Location, retry_after: str, seconds: int
) -> None:
    busy = responding(
        f"HTTP/1.1 429 Busy\nRetry-After: {retry_after}\nContent-Length: 0\nConnection: close"
    )

    async with running_receiver(busy) as receiver, running_worker(location) as worker:
        await worker.add_webhook(receiver.url)
        await worker.create_tags("a")
        row = await worker.wait_for_attempt()

        assert row["due_at"] == worker.clock.now + seconds * 1000


async def test_status_410_disables_the_webhook_and_notifies_the_others(location: Location) -> None:
    gone = responding("HTTP/1.1 410 Gone\nContent-Length: 0\nConnection: close")

    async with (
        running_receiver(gone) as moved,
        running_receiver(ok) as other,
        running_worker(location) as worker,
    ):
        webhook = await worker.add_webhook(moved.url)
        await worker.add_webhook(other.url, "webhook.*")
        await worker.create_tags("a", "b")
        await worker.wait_until(lambda: other.requests)
        event = json.loads(body_of(other.requests[0]))

        assert event["type"] == "webhook.disabled"
        assert event["data"]["webhook"]["id"] == webhook.id
        assert event["data"]["webhook"]["disabledReason"] == "GONE"
        assert event["previous"]["enabled"] is True
        first, _ = await worker.rows(Webhook)
        assert (first["enabled"], first["disabled_reason"]) == (False, DisabledReason.GONE)
        assert len(moved.requests) <= 2


class FailsToDisable:
    """A database that is not available when a webhook is disabled for the first time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def write(self, work: Work[Result]) -> Result:
        if getattr(work, "func", None) is disable and not self.failed:
            self.failed = True
            raise Unavailable
        return await self._database.write(work)


def test_webhook_is_disabled_when_the_database_is_available_again(location: Location) -> None:
    gone = responding("HTTP/1.1 410 Gone\nContent-Length: 0\nConnection: close")

    async def run() -> None:
        async with (
            running_receiver(gone) as receiver,
            running_worker(location, poll_seconds=0.1, wraps=FailsToDisable) as worker,
        ):
            await worker.add_webhook(receiver.url)
            await worker.create_tags("a")
            await worker.wait_until(lambda: receiver.requests)
            while (await worker.rows(Webhook))[0]["enabled"]:  # noqa: ASYNC110 - polls a table
                await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(run(), 60))


async def test_endpoint_that_fails_for_five_days_is_disabled(location: Location) -> None:
    async with running_receiver(BROKEN) as receiver, running_worker(location) as worker:
        await worker.add_webhook(receiver.url)
        await worker.create_tags("a")
        await worker.wait_for_attempt()
        worker.clock.advance(DISABLE_AFTER - 1)
        await worker.create_tags("b")
        await worker.wait_for_rows(Webhook, lambda found: found[0]["failures"] >= 2)
        assert (await worker.rows(Webhook))[0]["enabled"]
        worker.clock.advance(1)
        await worker.create_tags("c")
        (row,) = await worker.wait_for_rows(Webhook, lambda found: not found[0]["enabled"])

        assert row["disabled_reason"] == DisabledReason.FAILING


async def test_deleted_endpoint_receives_no_retries(location: Location) -> None:
    async with (
        running_receiver(BROKEN) as receiver,
        running_receiver(ok) as other,
        running_worker(location) as worker,
    ):
        webhook = await worker.add_webhook(receiver.url)
        await worker.add_webhook(other.url)
        await worker.create_tags("a")
        await worker.wait_for_attempt()
        await worker.database.write(lambda tx: store.delete(ACCOUNT_ID, webhook.id, tx))
        worker.clock.advance(RETRY_DELAYS[0] * 1000)
        await worker.create_tags("b")
        await worker.wait_until(lambda: len(other.requests) == 2)

        assert len(receiver.requests) == 1


async def test_worker_that_stops_releases_its_leases(location: Location) -> None:
    async with running_receiver(hang) as hanging:
        async with running_worker(location) as worker:
            await worker.add_webhook(hanging.url)
            await worker.create_tags("a")
            await worker.wait_until(lambda: hanging.connections)
        async with running_worker(location, dispatches=False) as later:
            (row,) = await later.wait_for_deliveries(PENDING)

            assert (row["due_at"], row["attempts"]) == (later.clock.now, 0)


async def test_delivery_of_a_killed_worker_is_sent_by_the_next_one(location: Location) -> None:
    async with (
        running_receiver(ok) as receiver,
        running_worker(location, dispatches=False) as worker,
    ):
        await worker.add_webhook(receiver.url)
        await worker.create_tags("a")
        await worker.lease()
        await worker.wait_for_deliveries(SENDING)
        await worker.database.close()
        if not worker.database.alone:
            worker.clock.advance(LEASE_DURATION)
        async with running_worker(location) as later:
            await later.wait_for_deliveries(SUCCEEDED)

        assert len(receiver.requests) == 1


async def test_result_of_an_expired_lease_is_rejected(location: Location) -> None:
    async with (
        running_receiver(ok) as receiver,
        running_worker(location, dispatches=False) as worker,
    ):
        await worker.add_webhook(receiver.url)
        await worker.create_tags("a")
        (expired,) = await worker.lease()
        worker.clock.advance(90_000)
        (current,) = await worker.lease()
        assert (await worker.record(expired.delivery, 500)).accepted == 0
        (row,) = await worker.wait_for_deliveries(SENDING)
        assert (row["attempts"], row["fence"]) == (0, current.delivery.fence)
        assert await worker.rows(DeliveryAttempt, "number") == []
        await worker.record(current.delivery)

        await worker.wait_for_deliveries(SUCCEEDED)


async def test_repeated_expansion_of_events_adds_no_deliveries(location: Location) -> None:
    async with running_worker(location, dispatches=False) as worker:
        await worker.add_webhook("http://127.0.0.1:9/")
        await worker.create_tags("a")
        await worker.lease()
        await worker.execute("UPDATE delivery_queue SET expanded_sequence = 0")
        await worker.lease()

        assert len(await worker.rows(Delivery)) == 1


async def test_endpoint_without_deliveries_in_flight_is_leased_first(location: Location) -> None:
    async with (
        running_receiver(hang) as slow,
        running_worker(location, dispatches=False) as worker,
    ):
        for _ in range(8):
            await worker.add_webhook(slow.url)
        await worker.create_tags(*map(str, range(10)))
        first, *others = await worker.lease()
        assert len(others) == MAX_IN_FLIGHT_PER_ACCOUNT - 1
        worker.clock.advance(1)
        late = await worker.add_webhook("http://127.0.0.1:9/")
        await worker.create_tags("later")
        await worker.record(first.delivery, url=slow.url)
        second = await worker.lease()

        assert [leased.webhook.id for leased in second] == [late.id]


async def test_deliveries_to_deleted_webhooks_count_toward_the_account_limit(
    location: Location,
) -> None:
    async with running_worker(location, dispatches=False) as worker:
        added = [await worker.add_webhook("http://127.0.0.1:9/") for _ in range(8)]
        await worker.create_tags(*map(str, range(4)))
        first, *others = await worker.lease()
        assert len(others) == MAX_IN_FLIGHT_PER_ACCOUNT - 1
        for webhook in added:
            await worker.database.write(partial(store.delete, ACCOUNT_ID, webhook.id))
        await worker.add_webhook("http://127.0.0.1:9/")
        await worker.create_tags("later")
        assert await worker.lease() == []
        await worker.record(first.delivery)

        assert len(await worker.lease()) == 1


async def test_search_for_work_continues_after_an_unexpected_error(location: Location) -> None:
    failures = [ZeroDivisionError()]

    async with (
        running_receiver(BROKEN) as receiver,
        running_worker(location, dispatches=False, poll_seconds=0.02) as worker,
    ):
        read_nodes = worker.database.read_nodes

        async def failing_read(work: Work[Result]) -> NodeResults[Result]:
            if failures:
                raise failures.pop()
            return await read_nodes(work)

        worker.database.read_nodes = failing_read  # type: ignore[method-assign]
        await worker.add_webhook(receiver.url)
        async with worker.dispatcher.running():
            await worker.create_tags("a")
            row = await worker.wait_for_attempt()
            worker.clock.now = row["due_at"]
            await worker.wait_until(lambda: len(receiver.requests) == 2)
        assert failures == []
