"""The dispatcher: what is delivered, how often, when, and to whom; on both databases."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from functools import partial

import pytest
from peewee import SQL
from standardwebhooks import Webhook

from server.storage.statements import Statement
from server.storage.transaction import Transaction
from server.tags import store as tags
from server.webhooks import store
from server.webhooks.delivery import dispatcher
from server.webhooks.delivery.store_expansion import MIN_EVENTS_PER_EXPANSION
from server.webhooks.delivery.store_leases import Lease, lease_due, release
from server.webhooks.delivery.store_queue import ids_of_any_account_with_work
from server.webhooks.delivery.store_results import FinishedAttempt, record_attempts
from server.webhooks.endpoints.signing import make_secret
from server.webhooks.rules import (
    FAILURES_BEFORE_PAUSE,
    LEASE,
    MAX_IN_FLIGHT_PER_ACCOUNT,
    MAX_IN_FLIGHT_PER_ENDPOINT,
    MIN_PAUSE,
    OLD_SECRET_VALIDITY,
    PATIENCE,
    SCHEDULE,
    DeliveryStatus,
    DisabledReason,
)

from .delivering import OURS, SECRETS, START, Place, body_of, headers_of, process
from .receivers import Visit, answering, ok, receiving, silent

PENDING, SENDING, SUCCEEDED, FAILED = DeliveryStatus
BROKEN = answering("HTTP/1.1 503 Broken\nContent-Length: 2\nConnection: close", b"no")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a process that ends not wait long for receivers that hang."""
    monkeypatch.setattr(dispatcher, "GRACE_SECONDS", 0.05)


def test_event_is_delivered_as_it_was_recorded_and_signed_as_the_published_library_signs(
    place: Place,
) -> None:
    async def run() -> None:
        async with receiving(ok) as receiver, process(place) as here:
            await here.add(receiver.url)
            await here.happen("vip")
            (delivery,) = await here.deliveries(SUCCEEDED)
            (event,) = await here.rows("event", "sequence")
            (request,) = receiver.requests
            headers = headers_of(request)

            assert body_of(request) == event["envelope"].encode()
            assert headers["webhook-id"] == event["id"] == json.loads(body_of(request))["id"]
            assert (delivery["attempts"], delivery["finished_at"]) == (1, here.clock.now)
            signed = Webhook(here.secret).sign(
                event["id"], moment(headers["webhook-timestamp"]), event["envelope"]
            )
            assert headers["webhook-signature"] == signed

    asyncio.run(run())


def test_failing_delivery_follows_the_schedule_for_75_hours_and_then_ends(place: Place) -> None:
    async def run() -> None:
        async with receiving(BROKEN) as receiver, process(place) as here:
            await here.add(receiver.url)
            await here.happen("vip")
            for number, wait in enumerate(SCHEDULE, 1):
                (delivery,) = await here.until_rows(
                    "delivery",
                    lambda found, number=number: found and found[0]["attempts"] == number,
                )
                assert delivery["status"] == PENDING
                assert delivery["due_at"] - here.clock.now == wait * 1000
                here.clock.now = delivery["due_at"]
                here.dispatcher.notify([OURS])
            (delivery,) = await here.deliveries(FAILED)

            assert delivery["attempts"] == len(SCHEDULE) + 1 == len(receiver.requests)
            assert {headers_of(request)["webhook-id"] for request in receiver.requests} == {
                delivery["event_id"]
            }
            attempts = await here.rows("delivery_attempt", "number")
            assert [row["http_status"] for row in attempts] == [503] * 10

    asyncio.run(run())


def moment(seconds: str) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def test_endpoint_hears_of_the_types_that_it_asks_for_from_its_creation_on(place: Place) -> None:
    async def run() -> None:
        async with receiving(ok) as all_of_them, receiving(ok) as few, process(place) as here:
            await here.add(all_of_them.url)
            await here.happen("before")
            await here.deliveries(SUCCEEDED)
            await here.add(few.url, "subscriber.*", "tag.deleted")
            await here.add(few.url, "tag.created")
            await here.happen("after")
            await here.deliveries(SUCCEEDED, SUCCEEDED, SUCCEEDED)

            assert [name_of(request) for request in all_of_them.requests] == ["before", "after"]
            assert [name_of(request) for request in few.requests] == ["after"]

    asyncio.run(run())


def test_endpoint_gets_at_most_four_at_a_time_and_an_account_thirty_two(place: Place) -> None:
    async def run() -> None:
        async with receiving(silent) as hanging, process(place) as here:
            await here.add(hanging.url)
            await here.happen(*map(str, range(10)))
            await here.until(lambda: hanging.connections == 4)
            for _ in range(9):
                await here.add(hanging.url)
            await here.happen(*map(str, range(10, 20)))
            await here.until(lambda: hanging.connections == 32)
            await asyncio.sleep(0.1)

            assert hanging.connections == 32
            found = await here.rows("delivery")
            assert [row["status"] for row in found].count(SENDING) == 32

    asyncio.run(run())


def test_endpoint_that_hangs_holds_up_no_other(place: Place) -> None:
    async def run() -> None:
        async with receiving(silent) as hanging, receiving(ok) as sound, process(place) as here:
            await here.add(hanging.url)
            await here.add(sound.url)
            await here.happen(*map(str, range(20)))
            await here.until(lambda: len(sound.requests) == 20)

            assert hanging.connections == 4

    asyncio.run(run())


def test_endpoint_that_fails_again_and_again_is_paused_and_then_proves_itself_one_by_one(
    place: Place,
) -> None:
    async def run() -> None:
        async with receiving(BROKEN) as receiver, process(place) as here:
            webhook = await here.add(receiver.url)
            await here.happen(*map(str, range(20)))
            (row,) = await here.until_rows("webhook", lambda found: found[0]["failures"] >= 5)
            await asyncio.sleep(0.1)
            sent = len(receiver.requests)
            assert sent <= FAILURES_BEFORE_PAUSE + MAX_IN_FLIGHT_PER_ENDPOINT
            assert row["paused_until"] >= here.clock.now + MIN_PAUSE
            (row,) = await here.rows("webhook")
            here.clock.now = row["paused_until"]
            here.dispatcher.notify([OURS])
            await here.until(lambda: len(receiver.requests) == sent + 1)
            await asyncio.sleep(0.1)

            assert len(receiver.requests) == sent + 1
            (row,) = await here.rows("webhook")
            assert (row["id"], row["failing_since"]) == (webhook.id, START)

    asyncio.run(run())


def test_endpoint_is_healthy_again_after_one_success(place: Place) -> None:
    async def run() -> None:
        behaviours = iter([BROKEN, BROKEN])

        async def mended(visit: Visit) -> None:
            await next(behaviours, ok)(visit)

        async with receiving(mended) as receiver, process(place) as here:
            await here.add(receiver.url)
            await here.happen("a", "b")
            found = await here.until_rows(
                "delivery", lambda found: [row["attempts"] for row in found] == [1, 1]
            )
            here.clock.now = found[0]["due_at"]
            here.dispatcher.notify([OURS])
            await here.deliveries(SUCCEEDED, SUCCEEDED)
            (row,) = await here.rows("webhook")

            assert (row["failures"], row["failing_since"], row["paused_until"]) == (0, None, 0)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("asked", "waits"), [("1", 5), ("7", 7), ("1000000000", 10), ("nonsense", 5)]
)
def test_retry_after_is_honoured_from_the_length_of_the_step_to_twice_of_it(
    place: Place, asked: str, waits: int
) -> None:
    busy = answering(
        f"HTTP/1.1 429 Busy\nRetry-After: {asked}\nContent-Length: 0\nConnection: close"
    )

    async def run() -> None:
        async with receiving(busy) as receiver, process(place) as here:
            await here.add(receiver.url)
            await here.happen("a")
            (row,) = await here.until_rows("delivery", lambda found: found and found[0]["attempts"])

            assert row["due_at"] == here.clock.now + waits * 1000

    asyncio.run(run())


def test_gone_disables_at_once_and_the_others_of_the_account_are_told(place: Place) -> None:
    gone = answering("HTTP/1.1 410 Gone\nContent-Length: 0\nConnection: close")

    async def run() -> None:
        async with receiving(gone) as left, receiving(ok) as other, process(place) as here:
            webhook = await here.add(left.url)
            await here.add(other.url, "webhook.*")
            await here.happen("a", "b")
            await here.until(lambda: other.requests)
            event = json.loads(body_of(other.requests[0]))

            assert event["type"] == "webhook.disabled"
            assert event["data"]["webhook"]["id"] == webhook.id
            assert event["data"]["webhook"]["disabledReason"] == "GONE"
            assert event["previous"]["enabled"] is True
            first, _ = await here.rows("webhook")
            assert (first["enabled"], first["disabled_reason"]) == (False, DisabledReason.GONE)
            assert len(left.requests) <= 2

    asyncio.run(run())


def test_five_days_without_a_success_disable(place: Place) -> None:
    async def run() -> None:
        async with receiving(BROKEN) as receiver, process(place) as here:
            await here.add(receiver.url)
            await here.happen("a")
            await here.until_rows("delivery", lambda found: found and found[0]["attempts"] == 1)
            here.clock.advance(PATIENCE - 1)
            await here.happen("b")
            await here.until_rows("webhook", lambda found: found[0]["failures"] >= 2)
            assert (await here.rows("webhook"))[0]["enabled"]
            here.clock.advance(1)
            await here.happen("c")
            (row,) = await here.until_rows("webhook", lambda found: not found[0]["enabled"])

            assert row["disabled_reason"] == DisabledReason.FAILING

    asyncio.run(run())


def test_disabled_endpoint_gets_nothing_until_it_is_enabled_and_then_what_is_pending(
    place: Place,
) -> None:
    async def run() -> None:
        async with receiving(BROKEN) as receiver, process(place) as here:
            webhook = await here.add(receiver.url)
            await here.happen("pending")
            await here.until_rows("delivery", lambda found: found and found[0]["attempts"] == 1)
            await here.update(webhook.id, enabled=False)
            await here.happen("unheard")
            here.clock.advance(SCHEDULE[0] * 1000)
            here.dispatcher.notify([OURS])
            await asyncio.sleep(0.1)
            assert len(receiver.requests) == 1
            await here.update(webhook.id, enabled=True)
            await here.until(lambda: len(receiver.requests) == 2)

            assert [name_of(request) for request in receiver.requests] == ["pending"] * 2

    asyncio.run(run())


def test_deleted_endpoint_gets_nothing_more(place: Place) -> None:
    async def run() -> None:
        async with receiving(BROKEN) as receiver, receiving(ok) as other, process(place) as here:
            webhook = await here.add(receiver.url)
            await here.add(other.url)
            await here.happen("a")
            await here.until_rows("delivery", lambda found: found and found[0]["attempts"] == 1)
            await here.database.write(lambda tx: store.delete(OURS, webhook.id, tx))
            here.clock.advance(SCHEDULE[0] * 1000)
            await here.happen("b")
            await here.until(lambda: len(other.requests) == 2)

            assert len(receiver.requests) == 1

    asyncio.run(run())


def test_secret_that_was_replaced_signs_along_for_a_day(place: Place) -> None:
    async def run() -> None:
        async with receiving(ok) as receiver, process(place) as here:
            webhook = await here.add(receiver.url)
            old, new = here.secret, make_secret()
            await here.database.write(
                lambda tx: store.rotate(
                    OURS, webhook.id, lambda own: SECRETS.encrypt(OURS, own, new), tx
                )
            )
            await here.happen("a")
            await here.deliveries(SUCCEEDED)
            here.clock.advance(OLD_SECRET_VALIDITY)
            await here.happen("b")
            await here.deliveries(SUCCEEDED, SUCCEEDED)
            first, second = receiver.requests

            assert signatures_of(first) == [signature(first, new), signature(first, old)]
            assert signatures_of(second) == [signature(second, new)]

    asyncio.run(run())


def test_what_is_being_sent_when_the_process_ends_is_due_for_others_at_once(
    place: Place,
) -> None:
    async def run() -> None:
        async with receiving(silent) as hanging:
            async with process(place) as here:
                await here.add(hanging.url)
                await here.happen("a")
                await here.until(lambda: hanging.connections)
            async with process(place, delivers=False) as later:
                (row,) = await later.deliveries(PENDING)

                assert (row["due_at"], row["attempts"]) == (later.clock.now, 0)

    asyncio.run(run())


def test_what_a_killed_process_was_sending_is_sent_again_with_the_same_id(place: Place) -> None:
    async def run() -> None:
        async with receiving(ok) as receiver, process(place, delivers=False) as here:
            await here.add(receiver.url)
            await here.happen("a")
            # It takes the delivery on, and is never heard of again.
            await here.database.write(lambda tx: lease_due(OURS, tx))
            await here.deliveries(SENDING)
            await here.database.close()
            if not here.database.alone:
                here.clock.advance(LEASE)
            async with process(place) as later:
                await later.deliveries(SUCCEEDED)

            assert len(receiver.requests) == 1

    asyncio.run(run())


def test_outcome_of_whoever_slept_through_his_lease_is_not_heard(place: Place) -> None:
    async def run() -> None:
        async with receiving(ok) as receiver, process(place, delivers=False) as here:
            await here.add(receiver.url)
            await here.happen("a")
            asleep = (await here.take())[0]
            here.clock.advance(90_000)
            awake = (await here.take())[0]
            late = FinishedAttempt(
                asleep.delivery, START, 1, 500, "answered 500", "", None, 0.5, None
            )
            recorded = await here.database.write(lambda tx: record_attempts(OURS, [late], tx))
            assert recorded.accepted == 0
            (row,) = await here.deliveries(SENDING)
            assert (row["attempts"], row["fence"]) == (0, awake.delivery.fence)
            assert await here.rows("delivery_attempt", "number") == []
            good = FinishedAttempt(awake.delivery, START, 1, 200, "", "", None, 0.5, None)
            await here.database.write(lambda tx: record_attempts(OURS, [good], tx))

            await here.deliveries(SUCCEEDED)

    asyncio.run(run())


def test_events_are_expanded_once_whoever_does_it(place: Place) -> None:
    async def run() -> None:
        async with process(place, delivers=False) as here:
            await here.add("http://127.0.0.1:9/")
            await here.happen("a")
            await here.database.write(lambda tx: lease_due(OURS, tx))
            # As if what was noted of it had been lost.
            text = "UPDATE delivery_queue SET expanded = 0"
            await here.database.write(lambda tx: tx.run(Statement(lambda _: SQL(text))))
            await here.database.write(lambda tx: lease_due(OURS, tx))

            assert len(await here.rows("delivery")) == 1

    asyncio.run(run())


def test_endpoints_that_take_their_time_leave_the_next_free_place_to_others(place: Place) -> None:
    async def run() -> None:
        async with receiving(silent) as slow, process(place, delivers=False) as here:
            for _ in range(8):
                await here.add(slow.url)
            await here.happen(*map(str, range(10)))
            first = await here.take()
            assert len(first) == MAX_IN_FLIGHT_PER_ACCOUNT
            here.clock.advance(1)
            late = await here.add("http://127.0.0.1:9/")
            await here.happen("for the ninth")
            done = FinishedAttempt(first[0].delivery, START, 1, 200, "", "", None, 0.5, slow.url)
            await here.database.write(lambda tx: record_attempts(OURS, [done], tx))
            second = await here.take()

            assert [each.webhook.id for each in second] == [late.id]

    asyncio.run(run())


def test_what_is_on_its_way_to_webhooks_that_are_gone_takes_places_of_the_account(
    place: Place,
) -> None:
    async def run() -> None:
        async with process(place, delivers=False) as here:
            added = [await here.add("http://127.0.0.1:9/") for _ in range(8)]
            await here.happen(*map(str, range(4)))
            first = await here.take()
            assert len(first) == MAX_IN_FLIGHT_PER_ACCOUNT
            for webhook in added:
                await here.database.write(partial(store.delete, OURS, webhook.id))
            await here.add("http://127.0.0.1:9/")
            await here.happen("later")
            assert await here.take() == []
            done = FinishedAttempt(first[0].delivery, START, 1, 200, "", "", None, 0.5, "")
            await here.database.write(lambda tx: record_attempts(OURS, [done], tx))

            assert len(await here.take()) == 1

    asyncio.run(run())


def test_who_lets_go_leaves_alone_what_somebody_else_has_by_now(place: Place) -> None:
    async def run() -> None:
        async with process(place, delivers=False) as here:
            await here.add("http://127.0.0.1:9/")
            await here.happen("a")
            asleep = (await here.take())[0].delivery
            here.clock.advance(LEASE)
            awake = (await here.take())[0].delivery
            mine = Lease(asleep.id, asleep.fence)
            await here.database.write(lambda tx: release(OURS, [mine], tx))
            good = FinishedAttempt(awake, START, 1, 200, "", "", None, 0.5, "http://127.0.0.1:9/")
            recorded = await here.database.write(lambda tx: record_attempts(OURS, [good], tx))

            assert recorded.accepted == 1

    asyncio.run(run())


def test_search_for_work_goes_on_after_whatever_failure(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "POLL_SECONDS", 0.02)
    failures = iter(["a failure that nobody thought of"])

    def fails_once(most: int, tx: Transaction) -> list[str]:
        if next(failures, None):
            raise ZeroDivisionError
        return ids_of_any_account_with_work(most, tx)

    monkeypatch.setattr(dispatcher, "ids_of_any_account_with_work", fails_once)

    async def run() -> None:
        async with receiving(BROKEN) as receiver, process(place) as here:
            await here.add(receiver.url)
            await here.happen("a")
            (row,) = await here.until_rows(
                "delivery", lambda found: found and found[0]["attempts"] == 1
            )
            here.clock.now = row["due_at"]
            await here.until(lambda: len(receiver.requests) == 2)

    asyncio.run(run())


def test_who_takes_on_deliveries_hears_whether_there_may_be_more_events(place: Place) -> None:
    async def run() -> None:
        async with process(place, delivers=False) as here:
            await here.add("http://127.0.0.1:9/")
            await here.happen("one")
            few = await here.database.write(lambda tx: lease_due(OURS, tx))
            many_names = [str(number) for number in range(MIN_EVENTS_PER_EXPANSION)]
            await here.database.write(
                lambda tx: [tags.create(OURS, name, "", tx) for name in many_names]
            )
            many = await here.database.write(lambda tx: lease_due(OURS, tx))
            none = await here.database.write(lambda tx: lease_due(OURS, tx))

            assert [few.more, many.more, none.more] == [False, True, False]

    asyncio.run(run())


def name_of(request: bytes) -> str:
    """Returns the name of the tag that an event is about."""
    return str(json.loads(body_of(request))["data"]["tag"]["name"])


def signatures_of(request: bytes) -> list[str]:
    return headers_of(request)["webhook-signature"].split(" ")


def signature(request: bytes, secret: str) -> str:
    """Returns what the published library signs a request with."""
    headers = headers_of(request)
    at = moment(headers["webhook-timestamp"])
    return Webhook(secret).sign(headers["webhook-id"], at, body_of(request).decode())
