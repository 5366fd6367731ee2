"""Measures the search of deliveries and the health of webhooks in an account of a million.

`python -m tests.bench.scale_deliveries` measures these only. The account has three webhooks. One
delivery in a hundred has failed, one in a hundred is pending, and the others have succeeded. All
attempts were made within the last day.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

from rosterd.server.features.webhooks.query.store_pages import Filter, Search, page_of_all
from rosterd.server.features.webhooks.rules import DeliveryState
from rosterd.server.features.webhooks.store_health import health
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.databases import bring_up_to_date, database_at
from rosterd.server.storage.postgres.connection import connect
from rosterd.server.storage.sqlite import file
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.clock import system_clock
from rosterd.server.values.database_url import PostgresUrl, parse_database_url

from .. import reaper
from ..postgres import running
from .scale_fill import ACCOUNT, POSTGRES, SQLITE, Fragments

SIZES = (10_000, 1_000_000)
WEBHOOKS = 3
CONNECTIONS = 8
REPETITIONS = 20
LIMIT = 20
_WEBHOOK = "01K7Y2MPAQ0000000000000000"

Work = Callable[[Transaction], Any]
SEARCHES: dict[str, Search] = {
    "no filter": Search(),
    "webhook": Search(webhook_id=_WEBHOOK),
    "state (98 %)": Search(Filter(DeliveryState.SUCCEEDED)),
    "state (1 %)": Search(Filter(DeliveryState.PENDING)),
    "state and webhook": Search(Filter(DeliveryState.FAILED), webhook_id=_WEBHOOK),
    "event type (99.9 %)": Search(Filter(event_types=["subscriber.updated"])),
    "event type (0.1 %)": Search(Filter(event_types=["tag.deleted"])),
    "event type (none)": Search(Filter(event_types=["tag.updated"])),
    "event": Search(Filter(event_id="evt_7")),
    "subscriber": Search(subscriber_id="7"),
    "HTTP status 503 (1 %)": Search(http_status=503),
    "HTTP status 200 (98 %)": Search(http_status=200),
    "HTTP status 204 (none)": Search(http_status=204),
    "HTTP status 503 and event type": Search(Filter(event_types=["tag.deleted"]), http_status=503),
}
WORK: dict[str, Work] = {
    name: partial(page_of_all, ACCOUNT, search, Page(1, LIMIT)) for name, search in SEARCHES.items()
} | {"health of a webhook": partial(health, ACCOUNT, _WEBHOOK)}


def fill(url: str, count: int) -> None:
    """Creates a database with so many deliveries."""
    bring_up_to_date(url)
    database_url = parse_database_url(url)
    is_postgres = isinstance(database_url, PostgresUrl)
    opened: Any = connect(database_url.url) if is_postgres else file.connect(database_url)
    fragments = POSTGRES if is_postgres else SQLITE
    with closing(opened) as database:
        for sql in fragments.prepare:
            database.execute_sql(sql)
        database.execute_sql("BEGIN")
        for sql in inserts(fragments, count):
            database.execute_sql(sql.replace("%", "%%") if is_postgres else sql)
        database.execute_sql("COMMIT")
        database.execute_sql("VACUUM ANALYZE" if is_postgres else "PRAGMA wal_checkpoint(truncate)")


def inserts(fragments: Fragments, count: int) -> list[str]:
    """Returns statements for webhooks, events, deliveries and attempts."""
    numbers, id_, now = fragments.numbers(count), fragments.id, system_clock()
    event_type = "CASE n % 1000 WHEN 5 THEN 'tag.deleted' ELSE 'subscriber.updated' END"
    status = f"CASE n % 100 WHEN 5 THEN {DeliveryState.FAILED} WHEN 6 THEN 1 ELSE 3 END"
    is_failed = "n % 100 IN (5, 6)"
    webhook_id = " ".join(
        f"WHEN {number} THEN '{_WEBHOOK[:-1]}{number}'" for number in range(WEBHOOKS)
    )
    webhook_id = f"CASE n % {WEBHOOKS} {webhook_id} END"
    return [
        f"INSERT INTO webhook {fragments.numbers(WEBHOOKS)} SELECT '{ACCOUNT}',"
        f" '{_WEBHOOK[:-1]}' || n, 'https://example.com/', '', '[]', TRUE, 0, '', NULL, NULL, 0, 0,"
        " CAST(NULL AS BIGINT), 0, 0, 0 FROM numbers",
        "INSERT INTO event (account_id, sequence, id, event_type, envelope, created_at,"
        f" subscriber_id) {numbers} SELECT '{ACCOUNT}', n, 'evt_' || n, {event_type}, '{{}}', 1,"
        f" CAST(n % {count // 10} AS TEXT) FROM numbers",
        f"INSERT INTO delivery {numbers} SELECT '{ACCOUNT}', {id_}, {webhook_id}, n, 'evt_' || n,"
        f" {event_type}, '', {status}, 1, 1, 1, CASE n % 100 WHEN 6 THEN n END, 1,"
        " CAST(NULL AS BIGINT) FROM numbers",
        f"INSERT INTO delivery_attempt {numbers} SELECT '{ACCOUNT}', {id_}, 1, n, {webhook_id},"
        f" {now - 3_600_000} + n, 80, CASE WHEN {is_failed} THEN 503 ELSE 200 END,"
        f" CASE WHEN {is_failed} THEN 'HTTP 503' ELSE '' END, 'ok', '{'x' * 260}',"
        " CAST(NULL AS BIGINT) FROM numbers",
    ]


async def _medians(url: str) -> dict[str, float]:
    database = database_at(parse_database_url(url), CONNECTIONS)
    await database.open()
    found = {}
    for name, work in WORK.items():
        times = []
        for _ in range(REPETITIONS + 1):
            started = time.perf_counter()
            await database.read(work)
            times.append((time.perf_counter() - started) * 1000)
        # The first run reads the pages of the file, and does not count.
        found[name] = statistics.median(times[1:])
    await database.close()
    return found


def measure(urls: Mapping[str, str]) -> None:
    """Prints the medians in milliseconds, by database and number of deliveries."""
    print_medians("ms for page 1", {name: asyncio.run(_medians(url)) for name, url in urls.items()})


def print_medians(title: str, columns: Mapping[str, Mapping[str, float]]) -> None:
    """Prints a table, whose rows are those of each column."""
    table = Table(title, *columns, box=None)
    for name in next(iter(columns.values())):
        table.add_row(name, *(f"{column[name]:.1f}" for column in columns.values()))
    Console(highlight=False, width=130).print(table)


def main() -> None:
    reaper.start()
    with tempfile.TemporaryDirectory(dir=".") as folder, running(on_disk=True) as server:
        urls = {}
        for size in SIZES:
            urls[f"SQLite, {size:,}"] = f"sqlite:///{folder}/{size}.db"
            urls[f"PostgreSQL, {size:,}"] = server.new_database("TEMPLATE template0")
        for (_, url), size in zip(urls.items(), sorted(SIZES * 2), strict=True):
            fill(url, size)
        server.run("CHECKPOINT")
        measure(urls)


if __name__ == "__main__":
    main()
