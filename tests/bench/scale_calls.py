"""Measures whole calls in the account of a million that `scale_filters.py` fills.

`python -m tests.bench.scale_calls` measures these only. The account also has 500 segments, 10,000
sessions, 100,000 suppressions, audit entries, operations and events, and flows in each quarter
hour of a year.
One person has 1,000 of the events and a history of 1,000 entries.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from typing import Any

from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.server.app import App
from rosterd.server.config import Settings
from rosterd.server.features.accounts.rules import ADMIN, hash_secret, make_secret
from rosterd.server.features.accounts.store_keys import create_key
from rosterd.server.features.statistics.rules import (
    QUARTERS_OF_DAY,
    Flow,
    date_of,
    day_of,
    quarter_of,
)
from rosterd.server.features.webhooks.egress.client import Client
from rosterd.server.features.webhooks.egress.policy import EgressPolicy
from rosterd.server.security.encryption import KEY_BYTES, Encryption
from rosterd.server.storage.databases import database_at, unit_of_work
from rosterd.server.storage.postgres.connection import connect
from rosterd.server.storage.sqlite import file
from rosterd.server.values.clock import system_clock
from rosterd.server.values.database_url import PostgresUrl, parse_database_url

from ..fronts import METHODS, to_message
from .scale_deliveries import inserts as webhooks_and_deliveries
from .scale_deliveries import print_medians
from .scale_fill import ACCOUNT, POSTGRES, SQLITE, Fragments
from .scale_filters import CONNECTIONS, PRO, main

REPETITIONS = 20
SEGMENTS, SESSIONS, ROWS, OF_PERSON = 500, 10_000, 100_000, 1_000
KEY = make_secret()
PERSON, SUPPRESSED = "01K7Y2MPAQ0000000000000007", "suppressed@example.com"
DAYS = 365
_TODAY = day_of(system_clock())
_YEAR = {"from": date_of(_TODAY - DAYS + 1), "to": date_of(_TODAY)}
Call = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "sessions": ("ListSessions", {}),
    "audit entries": ("ListAuditEntries", {}),
    "operations": ("ListOperations", {}),
    "suppressions": ("ListSuppressions", {}),
    "history of a person": ("ListSubscriberHistory", {"id": PERSON}),
    "segments of a person": ("ListSubscriberSegments", {"id": PERSON}),
    "numbers for an erasure": ("GetSubscriberErasurePreview", {"id": PERSON}),
    "mailability of a person": ("GetSubscriberMailability", {"id": PERSON}),
    "mailability of an unknown address": ("GetSubscriberMailability", {"id": "no@example.com"}),
    "mailability of a suppressed address": ("GetSubscriberMailability", {"id": SUPPRESSED}),
    "tags, usedBy": ("ListTags", {"include": ["USED_BY"], "limit": 100}),
    "custom fields, usedBy": ("ListCustomFields", {"include": ["USED_BY"], "limit": 100}),
    "segments, usedBy": ("ListSegments", {"include": ["USED_BY"], "limit": 100}),
    "statistics": ("GetStatistics", {}),
    "statistics, by=TAG": ("GetStatistics", {"by": "TAG"}),
    "statistics of a year": ("GetDailyStatistics", _YEAR),
    "statistics of a year, Asia/Kathmandu": (
        "GetDailyStatistics",
        {**_YEAR, "timeZone": "Asia/Kathmandu"},
    ),
    "statistics of a year, America/New_York": (
        "GetDailyStatistics",
        {**_YEAR, "timeZone": "America/New_York"},
    ),
}


def fill(url: str) -> None:
    """Adds what the calls read to an account that `fill_for_filters` created."""
    database_url = parse_database_url(url)
    is_postgres = isinstance(database_url, PostgresUrl)
    opened: Any = connect(database_url.url) if is_postgres else file.connect(database_url)
    with closing(opened) as database:
        fragments = POSTGRES if is_postgres else SQLITE
        for sql in (*fragments.prepare, "BEGIN", *_inserts(fragments), "COMMIT"):
            database.execute_sql(sql.replace("%", "%%") if is_postgres else sql)
        database.execute_sql("VACUUM ANALYZE" if is_postgres else "PRAGMA wal_checkpoint(truncate)")
    with unit_of_work(url) as tx:
        create_key(ACCOUNT, "bench", ADMIN, hash_secret(KEY), tx)
    asyncio.run(_prepare(url))


def _inserts(fragments: Fragments) -> Iterator[str]:
    id_, now, none = fragments.id, system_clock(), "CAST(NULL AS TEXT)"

    def insert(table: str, count: int, *columns: object) -> str:
        listed = ", ".join(map(str, columns))
        numbers = fragments.numbers(count)
        return f"INSERT INTO {table} {numbers} SELECT '{ACCOUNT}', {listed} FROM numbers"

    yield (
        "INSERT INTO account (id, email, email_verified, created_at)"
        f" VALUES ('{ACCOUNT}', 'bench@example.com', TRUE, 1)"
    )
    times = (now, now + 10**9, now)
    yield insert("session", SESSIONS, id_, "'Ada'", "'read'", "CAST(n AS TEXT)", *times, none, none)
    entry = ("'tag.created'", f"'{PERSON}'", "'Ada'", "''", id_, "''", "'{}'", "'SESSION'")
    yield insert("audit_entry", ROWS, id_, *entry)
    request = """{"message": {"action": {"addTags": ["k7"]}, "filter": "tags:k8"}, "texts": [],
        "by_admin": true, "revision": 1, "end_id": "", "key_id": "", "key_name": "Ada"}"""
    counts = (2, f"'{request}'", none, 1_000, 1_000, "'[]'", "''", "''", *times, 1_000, 0)
    yield insert("operation", ROWS, id_, *counts, none, "CAST(NULL AS BIGINT)", none)
    yield insert("suppression", ROWS, fragments.spread("n"), 3, "n")
    change = """'{"firstName": ["A", "B"]}'"""
    kind = ("'FIELDS_CHANGED'", "'API'", f"'{PERSON}'", change)
    yield insert("subscriber_history", OF_PERSON, f"'{PERSON}'", id_, *kind, none)
    yield f"UPDATE subscriber SET origin = NULL WHERE id = '{PERSON}'"
    yield from webhooks_and_deliveries(fragments, ROWS)
    is_of_person = f"sequence % {ROWS // OF_PERSON} = 0"
    yield f"UPDATE event SET subscriber_id = '{PERSON}' WHERE {is_of_person}"
    quarter = quarter_of(now)
    for flow in Flow:
        yield insert("statistic", DAYS * QUARTERS_OF_DAY, f"n - {quarter}", f"'{flow}'", 2)
        days = 2 * QUARTERS_OF_DAY
        yield insert("statistic", DAYS, f"{quarter // QUARTERS_OF_DAY} - n", f"'{flow}'", days)


async def _prepare(url: str) -> None:
    async with _service(url) as call:
        await call("AddSuppressions", {"emails": [SUPPRESSED]})
        for number in range(SEGMENTS):
            text = (
                f"tags:k{number} AND NOT tags:k7 OR {PRO} AND email.domain=d{number % 100}.example"
            )
            await call("CreateSegment", {"name": f"Segment {number}", "filter": text})


@asynccontextmanager
async def _service(url: str) -> AsyncIterator[Call]:
    """Serves a database in this process, and yields a function that calls an rpc."""
    database = database_at(parse_database_url(url), CONNECTIONS)
    await database.open()
    app = App(Settings({}), database, Encryption(bytes(KEY_BYTES)), Client(EgressPolicy()))
    app.accept_calls()
    channel = InProcessChannel(app.register, app.interceptors)

    async def call(rpc: str, request: Mapping[str, Any]) -> Any:
        method = METHODS[rpc]
        path = f"/{method.containing_service.full_name}/{rpc}"
        metadata = [("authorization", f"Bearer {KEY}")]
        return await channel.unary_unary(path)(to_message(method, {**request}), metadata=metadata)

    try:
        yield call
    finally:
        await database.close()


async def _medians(url: str) -> dict[str, float]:
    found = {}
    async with _service(url) as call:
        for name, (rpc, request) in CALLS.items():
            times = []
            for _ in range(REPETITIONS + 1):
                started = time.perf_counter()
                await call(rpc, request)
                times.append((time.perf_counter() - started) * 1000)
            # The first run reads the pages of the file, and does not count.
            found[name] = statistics.median(times[1:])
    return found


def measure(urls: Mapping[str, str]) -> None:
    """Prints the medians in milliseconds by database. Fills the account further before."""
    for url in urls.values():
        fill(url)
    print_medians("ms for a call", {name: asyncio.run(_medians(url)) for name, url in urls.items()})


if __name__ == "__main__":
    main(measure)
