"""Deliveries in the database: what a retry makes of one, and how the few of many are found."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from server.errors import WebhookDeliveryNotFound
from server.storage.databases import unit_of_work
from server.storage.transaction import Transaction
from server.webhooks.delivery import store_deliveries, store_retention
from server.webhooks.delivery import store_pages as pages
from server.webhooks.delivery.store_leases import lease_due
from server.webhooks.delivery.store_pages import Filter
from server.webhooks.delivery.store_results import FinishedAttempt, record_attempts
from server.webhooks.delivery.store_retention import EVENTS_KEPT
from server.webhooks.rules import LEASE, SCHEDULE, DeliveryStatus

from ..storage.helpers import OURS as ACCOUNT
from ..storage.helpers import THEIRS
from ..storage.test_plans import Watched
from .delivering import OURS, Place, Process, play

URL = "http://127.0.0.1:1/"
ROWS, RARE = 3_000, 500


async def taken_on(here: Process) -> str:
    """Returns the id of a delivery that somebody has taken on."""
    await here.add(URL)
    await here.happen("a")
    await here.database.write(lambda tx: lease_due(OURS, tx))
    (row,) = await here.rows("delivery")
    return str(row["id"])


async def retried(here: Process, delivery_id: str) -> dict[str, Any]:
    """Has a delivery tried again, and returns its row."""
    await here.database.write(partial(store_deliveries.retry, OURS, delivery_id))
    (row,) = await here.rows("delivery")
    return row


def test_delivery_that_is_tried_again_has_its_whole_schedule_before_it(place: Place) -> None:
    async def story(here: Process) -> None:
        await here.add(URL)
        await here.happen("a")
        for _ in range(len(SCHEDULE) + 1):
            batch = await here.database.write(lambda tx: lease_due(OURS, tx))
            (leased,) = batch.deliveries
            finished = FinishedAttempt(
                leased.delivery, here.clock.now, 1, 503, "answered 503", "", None, 0.5
            )
            await here.database.write(partial(record_attempts, OURS, [finished]))
            here.clock.advance(SCHEDULE[-1] * 2_000)
        (failed,) = await here.rows("delivery")
        assert (failed["status"], failed["step"]) == (DeliveryStatus.FAILED, len(SCHEDULE) + 1)

        row = await retried(here, failed["id"])

        now = here.clock.now
        assert (row["status"], row["step"], row["due_at"]) == (DeliveryStatus.PENDING, 0, now)
        assert (row["attempts"], row["finished_at"]) == (len(SCHEDULE) + 1, None)
        (queue,) = await here.rows("delivery_queue", "account_id")
        assert queue["due_at"] == now

    play(place, story)


def test_delivery_that_is_being_sent_keeps_its_lease_and_its_fence(place: Place) -> None:
    async def story(here: Process) -> None:
        delivery_id = await taken_on(here)
        (before,) = await here.rows("delivery")
        here.clock.advance(1)

        assert await retried(here, delivery_id) == before
        assert (before["status"], before["due_at"]) == (
            DeliveryStatus.SENDING,
            here.clock.now - 1 + LEASE,
        )

    play(place, story)


def test_delivery_whose_event_is_gone_cannot_be_tried_again(place: Place) -> None:
    async def story(here: Process) -> None:
        delivery_id = await taken_on(here)
        here.clock.advance(EVENTS_KEPT)
        await here.database.write(partial(store_retention.purge, OURS))

        with pytest.raises(WebhookDeliveryNotFound):
            await retried(here, delivery_id)

    play(place, story)


def fill(tx: Transaction) -> None:
    """Stores many deliveries, of two webhooks and accounts; few of them have not succeeded."""
    status = f"CASE x % {RARE} WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN 2 THEN 4 ELSE 3 END"
    due_at = f"CASE WHEN x % {RARE} < 2 THEN x END"
    for account in (ACCOUNT, THEIRS):
        for webhook in ("A", "B"):
            tx._database.execute_sql(
                "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)"
                " INSERT INTO delivery SELECT ?, ? || printf('%025d', x), ?, x,"
                " printf('evt_%026d', x), 'tag.created', '',"
                f" {status}, 1, 1, 1, {due_at}, 1, NULL FROM n",
                (ROWS, account, webhook, webhook),
            )
        tx._database.execute_sql(
            "INSERT INTO event SELECT account_id, sequence, event_id, kind, '{}', 1 FROM delivery"
            " WHERE account_id = ? AND webhook_id = 'A'",
            (account,),
        )


@pytest.mark.parametrize(
    "filters",
    [
        Filter(),
        Filter(status=DeliveryStatus.PENDING),
        Filter(status=DeliveryStatus.SENDING),
        Filter(status=DeliveryStatus.FAILED),
        Filter(status=DeliveryStatus.FAILED, event_types=["tag.created"]),
        Filter(event_id=f"evt_{7:026}"),
        Filter(event_id=f"evt_{7:026}", status=DeliveryStatus.SUCCEEDED),
        Filter(first_id=f"A{ROWS - 5:025}"),
    ],
)
@pytest.mark.parametrize(
    "place", [pages.PagePosition(5), pages.PagePosition(5, after="Z")], ids=["number", "token"]
)
def test_sqlite_finds_the_few_of_many_without_looking_at_the_others(
    tmp_path: Path, filters: Filter, place: pages.PagePosition
) -> None:
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db") as tx:
        fill(tx)
        watched = Watched(tx)
        rows, total, more = pages.page(ACCOUNT, "A", filters, place, watched)

    assert 0 < len(rows) == min(total, 5)
    assert more == (total > 5)
    assert {row.webhook_id for row in rows} == {"A"}
    assert [row.id for row in rows] == sorted((row.id for row in rows), reverse=True)
    listing, count = watched.seen
    assert listing.machine_steps < ROWS
    # All deliveries of a webhook are counted in an index; a few are found first.
    assert count.machine_steps < ROWS or filters == Filter()
