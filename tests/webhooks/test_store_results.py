"""What attempts that have ended say of their endpoint: how it does, and whether there is hope."""

from __future__ import annotations

import asyncio

from server.webhooks.delivery.store_disabling import disable
from server.webhooks.delivery.store_results import FinishedAttempt, record_attempts
from server.webhooks.rules import (
    FAILURES_BEFORE_PAUSE,
    MIN_PAUSE,
    PATIENCE,
    DisabledReason,
    Health,
)

from .delivering import OURS, START, Place, Process, process


async def taken_by_two(here: Process) -> dict[str, FinishedAttempt]:
    """Has an event on its way to two endpoints; returns a success of each by its url."""
    for name in "ab":
        await here.add(f"http://127.0.0.1:9/{name}")
    await here.happen("x")
    leased = await here.take()
    urls = [each.webhook.url for each in leased]
    return {
        url: FinishedAttempt(each.delivery, START, 1, 200, "", "", None, 0.5, url)
        for url, each in zip(urls, leased, strict=True)
    }


def test_what_becomes_of_one_endpoint_says_nothing_of_another(place: Place) -> None:
    async def run() -> None:
        async with process(place, delivers=False) as here:
            first, second = (await taken_by_two(here)).values()
            failed = first._replace(http_status=503, error="answered 503")
            await here.database.write(lambda tx: record_attempts(OURS, [failed], tx))
            here.clock.advance(PATIENCE)

            # The one that failed then may have recovered since: nobody has tried.
            recorded = await here.database.write(lambda tx: record_attempts(OURS, [second], tx))

            assert (recorded.accepted, recorded.to_disable) == (1, {})

    asyncio.run(run())


def test_success_that_was_on_its_way_when_its_webhook_was_disabled_ends_its_failing(
    place: Place,
) -> None:
    async def run() -> None:
        async with process(place, delivers=False) as here:
            first, _ = (await taken_by_two(here)).values()
            await here.happen("y")
            (again, _) = await here.take()
            failed = first._replace(http_status=503, error="answered 503")
            await here.database.write(lambda tx: record_attempts(OURS, [failed], tx))
            await here.update(first.delivery.webhook_id, enabled=False)
            succeeded = first._replace(delivery=again.delivery)

            await here.database.write(lambda tx: record_attempts(OURS, [succeeded], tx))

            webhook = (await here.rows("webhook"))[0]
            assert (webhook["enabled"], webhook["failing_since"]) == (False, None)

    asyncio.run(run())


def test_what_the_old_place_says_does_not_disable_an_endpoint_that_has_moved(place: Place) -> None:
    async def run() -> None:
        async with process(place, delivers=False) as here:
            webhook = await here.add("http://127.0.0.1:9/old")
            await here.happen("a")
            leased = (await here.take())[0]
            await here.update(webhook.id, url="http://127.0.0.1:9/new")
            gone = FinishedAttempt(
                leased.delivery, START, 1, 410, "answered 410", "", None, 0.5, leased.webhook.url
            )
            recorded = await here.database.write(lambda tx: record_attempts(OURS, [gone], tx))
            await here.database.write(lambda tx: disable(OURS, webhook.id, DisabledReason.GONE, tx))
            (row,) = await here.rows("webhook")

            assert (recorded.to_disable, bool(row["enabled"]), row["failures"]) == ({}, True, 0)

    asyncio.run(run())


def test_failures_that_were_on_their_way_when_a_pause_began_do_not_lengthen_it() -> None:
    health = Health(failures=FAILURES_BEFORE_PAUSE - 1, failing_since=START)
    paused = health.failed(START)

    assert paused.paused_until == START + MIN_PAUSE
    assert paused.failed(START + 1) == paused
    assert paused.failed(START + MIN_PAUSE).paused_until == START + 3 * MIN_PAUSE
