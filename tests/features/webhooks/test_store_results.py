"""Tests how results of attempts change the health of their endpoints."""

from __future__ import annotations

from rosterd.server.features.webhooks.delivery.store_leases import LeasedDelivery
from rosterd.server.features.webhooks.delivery.store_results import disable
from rosterd.server.features.webhooks.models import Webhook
from rosterd.server.features.webhooks.rules import (
    DISABLE_AFTER,
    FAILURES_BEFORE_PAUSE,
    MIN_PAUSE,
    DisabledReason,
    Health,
)

from .worker import ACCOUNT_ID, START, Location, Worker, running_worker

URLS = ("http://127.0.0.1:9/a", "http://127.0.0.1:9/b")


async def lease_to_two_webhooks(worker: Worker) -> list[LeasedDelivery]:
    for url in URLS:
        await worker.add_webhook(url)
    await worker.create_tags("x")
    return await worker.lease()


async def test_result_of_one_endpoint_does_not_disable_another(location: Location) -> None:
    async with running_worker(location, dispatches=False) as worker:
        first, second = await lease_to_two_webhooks(worker)
        await worker.record(first.delivery, 503, url=first.webhook.url)
        worker.clock.advance(DISABLE_AFTER)

        # The first endpoint has had no attempt since, so it may have recovered.
        recorded = await worker.record(second.delivery, url=second.webhook.url)

        assert (recorded.accepted, recorded.to_disable) == (1, {})


async def test_success_after_the_webhook_was_disabled_resets_its_health(location: Location) -> None:
    async with running_worker(location, dispatches=False) as worker:
        first, _ = await lease_to_two_webhooks(worker)
        url = first.webhook.url
        await worker.create_tags("y")
        second, _ = await worker.lease()
        await worker.record(first.delivery, 503, url=url)
        await worker.update(first.webhook.id, enabled=False)

        await worker.record(second.delivery, url=url)

        webhook, _ = await worker.rows(Webhook)
        assert (webhook["enabled"], webhook["failing_since"]) == (False, None)


async def test_status_410_of_the_previous_url_does_not_disable_the_webhook(
    location: Location,
) -> None:
    async with running_worker(location, dispatches=False) as worker:
        webhook = await worker.add_webhook("http://127.0.0.1:9/old")
        await worker.create_tags("a")
        (leased,) = await worker.lease()
        await worker.update(webhook.id, url="http://127.0.0.1:9/new")
        recorded = await worker.record(leased.delivery, 410, url=leased.webhook.url)
        await worker.database.write(
            lambda tx: disable(ACCOUNT_ID, webhook.id, DisabledReason.GONE, tx)
        )
        (row,) = await worker.rows(Webhook)

        assert (recorded.to_disable, bool(row["enabled"]), row["failures"]) == ({}, True, 0)


def test_failures_in_flight_when_a_pause_starts_do_not_extend_it() -> None:
    health = Health(failures=FAILURES_BEFORE_PAUSE - 1, failing_since=START)
    paused = health.after_failure(START)

    assert paused.paused_until == START + MIN_PAUSE
    assert paused.after_failure(START + 1) == paused
    assert paused.after_failure(START + MIN_PAUSE).paused_until == START + 3 * MIN_PAUSE
