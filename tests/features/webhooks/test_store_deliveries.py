"""Tests retries of deliveries, and the cost of reading filtered pages."""

from __future__ import annotations

from functools import partial

import pytest

from rosterd.server.features.webhooks.delivery import store_deliveries
from rosterd.server.features.webhooks.delivery import store_pages as pages
from rosterd.server.features.webhooks.delivery.store_pages import Filter
from rosterd.server.features.webhooks.models import Delivery, DeliveryQueue
from rosterd.server.features.webhooks.rules import RETRY_DELAYS, DeliveryState
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.transaction import Transaction

from ...storage.helpers import THEIRS
from ...storage.test_plans import RecordingTransaction
from .worker import ACCOUNT_ID, Location, execute, running_worker

URL = "http://127.0.0.1:1/"
ROWS, RARE = 3_000, 500


async def test_retry_restarts_the_schedule_of_a_failed_delivery(location: Location) -> None:
    async with running_worker(location, dispatches=False) as worker:
        await worker.add_webhook(URL)
        await worker.create_tags("a")
        for _ in range(len(RETRY_DELAYS) + 1):
            (leased,) = await worker.lease()
            await worker.record(leased.delivery, 503)
            worker.clock.advance(RETRY_DELAYS[-1] * 2_000)
        (failed,) = await worker.rows(Delivery)
        assert (failed["status"], failed["step"]) == (DeliveryState.FAILED, len(RETRY_DELAYS) + 1)

        await worker.database.write(partial(store_deliveries.retry, ACCOUNT_ID, failed["id"]))
        (row,) = await worker.rows(Delivery)

        now = worker.clock.now
        assert (row["status"], row["step"], row["due_at"]) == (DeliveryState.PENDING, 0, now)
        assert (row["attempts"], row["finished_at"]) == (len(RETRY_DELAYS) + 1, None)
        (queue,) = await worker.rows(DeliveryQueue, "account_id")
        assert queue["due_at"] == now


@pytest.fixture(scope="module")
def many_deliveries(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of an SQLite database with many deliveries."""
    url = f"sqlite:///{tmp_path_factory.mktemp('deliveries')}/roster.db"
    with unit_of_work(url) as tx:
        fill(tx)
    return url


def fill(tx: Transaction) -> None:
    """Stores many deliveries of two accounts and webhooks; all but a few have succeeded."""
    status = f"CASE x % {RARE} WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN 2 THEN 4 ELSE 3 END"
    due_at = f"CASE WHEN x % {RARE} < 2 THEN x END"
    for account in (ACCOUNT_ID, THEIRS):
        for webhook in ("A", "B"):
            execute(
                f"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {ROWS})"
                f" INSERT INTO delivery SELECT '{account}', '{webhook}' || printf('%025d', x),"
                f" '{webhook}', x, printf('evt_%026d', x), 'tag.created', '',"
                f" {status}, 1, 1, 1, {due_at}, 1, NULL FROM n",
                tx,
            )
        execute(
            "INSERT INTO event (account_id, sequence, id, event_type, envelope, created_at)"
            " SELECT account_id, sequence, event_id, event_type, '{}', 1 FROM delivery"
            f" WHERE account_id = '{account}' AND webhook_id = 'A'",
            tx,
        )


@pytest.mark.parametrize(
    "filters",
    [
        Filter(),
        Filter(status=DeliveryState.PENDING),
        Filter(status=DeliveryState.SENDING),
        Filter(status=DeliveryState.FAILED),
        Filter(status=DeliveryState.FAILED, event_types=["tag.created"]),
        Filter(event_id=f"evt_{7:026}"),
        Filter(event_id=f"evt_{7:026}", status=DeliveryState.SUCCEEDED),
        Filter(first_id=f"A{ROWS - 5:025}"),
    ],
)
@pytest.mark.parametrize(
    "position", [pages.PagePosition(5), pages.PagePosition(5, after="Z")], ids=["number", "token"]
)
def test_sqlite_finds_filtered_deliveries_without_a_scan(
    many_deliveries: str, filters: Filter, position: pages.PagePosition
) -> None:
    with unit_of_work(many_deliveries) as tx:
        recording = RecordingTransaction(tx)
        rows, total, more = pages.page(ACCOUNT_ID, "A", filters, position, recording)

    assert 0 < len(rows) == min(total, 5)
    assert more == (total > 5)
    assert {row.webhook_id for row in rows} == {"A"}
    assert [row.id for row in rows] == sorted((row.id for row in rows), reverse=True)
    listing, count = recording.recorded
    assert listing.machine_steps < ROWS
    # Without a filter, all deliveries of the webhook are counted in an index.
    assert count.machine_steps < ROWS or filters == Filter()
