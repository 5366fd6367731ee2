"""Tables are vacuumed after many changes, so that filters read indexes only."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest

from rosterd.server.features.subscribers.query.store_pages import count_matches
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres import vacuum
from rosterd.server.storage.postgres.connection import connect
from rosterd.server.storage.postgres.transaction import begin_reading, undo
from rosterd.server.storage.postgres.vacuum import Numbers, Vacuuming

from ..components import wait_until
from ..postgres import Postgres
from .helpers import OURS, SUBSCRIBERS, field, new, tree_of
from .opened import run
from .test_plans_postgres import RecordingTransaction

ROWS = 300
FILTERS = (
    "NOT customFields.city=Paris AND NOT tags:vip",
    'email="p1*" AND customFields.city=Paris AND tags:news',
    "customFields.city=Paris OR firstName=Ada OR tags:vip",
)


@pytest.fixture
def url(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(vacuum, "INTERVAL", 0.05)
    monkeypatch.setattr(vacuum, "MIN_ROWS", ROWS // 2)
    url = postgres.new_roster()
    with unit_of_work(url) as tx:
        field(OURS, tx)
    import_people(url, 0)
    return url


def import_people(url: str, first: int) -> None:
    people = {
        number: new(f"p{number}", "news", "vip" if number % 3 else "old", values={"city": "Paris"})
        for number in range(first, first + ROWS)
    }
    with unit_of_work(url) as tx:
        SUBSCRIBERS.create_many(OURS, people, tx)


def rows_read(url: str) -> dict[str, int]:
    """Returns the rows that filters read from tables in addition to indexes."""
    found = {}
    with closing(connect(url)) as database:
        for text in FILTERS:
            begin_reading(database)
            tx = RecordingTransaction(database)
            count_matches(OURS, tree_of(text, {"city": 1}), tx)
            undo(database)
            large = [step for step in tx.recorded if "COUNT" in step.sql]
            found[text] = sum(node.get("Heap Fetches", 0) for step in large for node in step.nodes)
    return found


def vacuums(url: str) -> dict[str, int]:
    """Returns how often each table was vacuumed."""
    query = "SELECT relname, vacuum_count FROM pg_stat_user_tables WHERE relname = ANY(%s)"
    with closing(connect(url)) as database:
        return dict(database.execute_sql(query, ([*vacuum.TABLES],)).fetchall())


def import_until_vacuumed(url: str) -> None:
    """Imports more people after each VACUUM, until filters read indexes only.

    A query of this test keeps a VACUUM at the same time from marking pages if a transaction in
    another database of the server began earlier. It is not repeated without new changes.
    """
    seen, imports = dict.fromkeys(vacuum.TABLES, 0), 1

    def is_done() -> bool:
        nonlocal seen, imports
        now = vacuums(url)
        if any(now[table] <= seen[table] for table in vacuum.TABLES):
            return False
        if rows_read(url) == dict.fromkeys(FILTERS, 0):
            return True
        seen = now
        import_people(url, imports * ROWS)
        imports += 1
        return False

    wait_until(is_done, "filters still read tables")


def test_filters_read_indexes_only_after_an_import(url: str) -> None:
    before = rows_read(url)
    assert min(before.values()) > 0

    run(url, lambda _: asyncio.to_thread(import_until_vacuumed, url))


def numbers(not_vacuumed: int, changes: int, rows: int = 100_000) -> list[Numbers]:
    return [Numbers("subscriber", not_vacuumed, rows, changes)]


def test_table_is_vacuumed_once_its_changes_have_ended() -> None:
    vacuuming = Vacuuming("")

    assert vacuuming.due(numbers(9_000, 9_000)) == []
    assert vacuuming.due(numbers(50_000, 50_000)) == []
    assert vacuuming.due(numbers(50_500, 50_500)) == ["subscriber"]
    # As after a VACUUM that a long transaction kept from marking pages.
    assert vacuuming.due(numbers(51_000, 51_000)) == []
    assert vacuuming.due(numbers(61_000, 61_000)) == []
    assert vacuuming.due(numbers(61_000, 61_000)) == ["subscriber"]
    # The server crashed, and counts from 0.
    assert vacuuming.due(numbers(0, 0)) == []
    assert vacuuming.due(numbers(20_000, 20_000)) == []
    assert vacuuming.due(numbers(20_000, 20_000)) == ["subscriber"]
