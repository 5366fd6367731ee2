"""Tests retries of deliveries, and the cost of reading filtered pages and the health."""

from __future__ import annotations

from functools import partial

import pytest

from rosterd.server.features.webhooks import store_health
from rosterd.server.features.webhooks.delivery import store_deliveries
from rosterd.server.features.webhooks.models import Delivery, DeliveryQueue
from rosterd.server.features.webhooks.query import store_pages as pages
from rosterd.server.features.webhooks.query.store_pages import Filter, Search
from rosterd.server.features.webhooks.rules import RETRY_DELAYS, DeliveryState
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.transaction import Transaction

from ...storage.helpers import THEIRS
from ...storage.test_plans import RecordingTransaction
from .worker import ACCOUNT_ID, Location, execute, running_worker

URL = "http://127.0.0.1:1/"
ROWS, RARE = 3_000, 500
# The IDs of failed deliveries to two webhooks, newest first.
FAILED_IDS = [f"{webhook}{x:025}" for webhook in "BA" for x in range(ROWS - RARE + 2, 0, -RARE)]


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
                f"INSERT INTO webhook VALUES ('{account}', '{webhook}', '', '', '[]', 1, 0, '',"
                " NULL, NULL, 0, 0, NULL, 0, 0, 0)",
                tx,
            )
        execute(
            "INSERT INTO event (account_id, sequence, id, event_type, envelope, created_at,"
            " subscriber_id) SELECT account_id, sequence, event_id, event_type, '{}', 1, sequence"
            f" FROM delivery WHERE account_id = '{account}' AND webhook_id = 'A'",
            tx,
        )
        execute(
            "INSERT INTO delivery_attempt SELECT account_id, id, 1, row_number() OVER (),"
            " webhook_id, 1, 1, iif(status = 4, 503, 200), iif(status = 4, 'HTTP 503', ''), '',"
            " NULL, NULL"
            f" FROM delivery WHERE account_id = '{account}'",
            tx,
        )


FIRST = Page(1, 5)
EACH_PAGE = pytest.mark.parametrize("page", [FIRST, FIRST.following("Z")], ids=["number", "token"])


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
@EACH_PAGE
def test_sqlite_finds_filtered_deliveries_without_a_scan(
    many_deliveries: str, filters: Filter, page: Page
) -> None:
    with unit_of_work(many_deliveries) as tx:
        recording = RecordingTransaction(tx)
        rows, total, following = pages.page(ACCOUNT_ID, "A", filters, page, recording)

    assert 0 < len(rows) == min(total, 5)
    assert (following is not None) == (total > 5)
    assert {row.webhook_id for row in rows} == {"A"}
    assert [row.id for row in rows] == sorted((row.id for row in rows), reverse=True)
    listing, count = recording.recorded
    assert listing.machine_steps < ROWS
    # Without a filter, all deliveries of the webhook are counted in an index.
    assert count.machine_steps < ROWS or filters == Filter()


@pytest.mark.parametrize(
    ("search", "count"),
    [
        (Search(), 6),
        (Search(webhook_id="A"), 6),
        (Search(Filter(DeliveryState.PENDING)), 6),
        (Search(Filter(DeliveryState.SENDING)), 6),
        (Search(Filter(DeliveryState.FAILED)), 6),
        (Search(Filter(DeliveryState.FAILED), webhook_id="B"), 6),
        (Search(Filter(first_id=f"B{ROWS - 2:025}")), 3),
        (Search(Filter(event_id=f"evt_{7:026}")), 2),
        (Search(Filter(DeliveryState.SUCCEEDED), subscriber_id="7"), 2),
        (Search(subscriber_id="7", http_status=200), 2),
        # These are checked for a limited number of deliveries.
        (Search(Filter(DeliveryState.SUCCEEDED)), 6),
        (Search(Filter(event_types=["tag.deleted"])), 0),
        (Search(Filter(DeliveryState.FAILED, ["tag.created"])), 6),
        (Search(http_status=503), 6),
        (Search(Filter(DeliveryState.FAILED), http_status=503), 6),
        (Search(Filter(DeliveryState.PENDING), http_status=503), 0),
        (Search(http_status=200), 6),
        (Search(http_status=204), 0),
    ],
)
@EACH_PAGE
def test_sqlite_reads_few_deliveries_for_a_page_of_all_webhooks(
    many_deliveries: str,
    search: Search,
    count: int,
    page: Page,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "MAX_READ", 40)
    with unit_of_work(many_deliveries) as tx:
        recording = RecordingTransaction(tx)
        rows, _ = pages.page_of_all(ACCOUNT_ID, search, page, recording)

    assert len(rows) == min(count, 5)
    assert len(recording.recorded) <= 3
    assert sum(step.machine_steps for step in recording.recorded) < ROWS


@pytest.mark.parametrize("search", [Search(http_status=503), Search(Filter(event_types=["x"]))])
def test_pages_of_all_webhooks_continue_where_reading_ended(
    many_deliveries: str, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_READ", 4)
    expected = FAILED_IDS if search.http_status else []
    found, number = [], 0
    page: Page | None = Page(1, 2)
    with unit_of_work(many_deliveries) as tx:
        while page:
            rows, following = pages.page_of_all(ACCOUNT_ID, search, page, tx)
            found += [row.id for row in rows]
            page, number = following, number + 1

    assert found == expected
    assert number >= len(expected) / 2


def test_sqlite_counts_a_limited_number_of_rows_for_the_health_of_a_webhook(
    many_deliveries: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_health, "MAX_COUNTED", 4)
    monkeypatch.setattr(store_health, "PERIOD", 1 << 50)
    with unit_of_work(many_deliveries) as tx:
        recording = RecordingTransaction(tx)
        health = store_health.health(ACCOUNT_ID, "A", recording)

    assert (health.succeeded + health.failed, health.waiting) == (4, 4)
    assert health.counted_since == 1
    assert len(health.attempts) == store_health.MAX_ATTEMPTS
    assert sum(step.machine_steps for step in recording.recorded) < ROWS
