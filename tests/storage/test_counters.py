"""Subscriber counters, compared with a model and after concurrent writes."""

from __future__ import annotations

import asyncio
from bisect import insort
from functools import partial
from itertools import groupby

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from rosterd.server.features.subscribers.counters import store_counting
from rosterd.server.features.subscribers.counters.store_counting import BUCKET, GROUP, OPEN_BUCKET
from rosterd.server.features.subscribers.query.plan import PagePosition
from rosterd.server.maintenance.check import check_account
from rosterd.server.storage.postgres.database import PostgresDatabase
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.clock import system_clock
from rosterd.server.values.ids import Ids

from ..postgres import Postgres
from .helpers import (
    EVERYONE,
    OURS,
    SUBSCRIBERS,
    new,
    page,
    select,
)


class ScriptedIds(Ids):
    """Returns IDs that the test sets, like those of processes with other clocks."""

    def __init__(self) -> None:
        super().__init__(system_clock)
        self.pending: list[str] = []

    def take(self, count: int) -> list[str]:
        ids, self.pending = self.pending[:count], self.pending[count:]
        return ids


def id_of(number: int) -> str:
    return f"01M{number:023}"


def ranges_by_level(tx: Transaction, account: str = OURS) -> dict[int, list[tuple[str, int]]]:
    """Returns the first ID and the total of each range, by level."""
    rows = select(
        "SELECT level, first_id, total FROM subscriber_bucket"
        f" WHERE account_id = '{account}' ORDER BY level, first_id",
        tx,
    )
    return {
        level: [(first_id, total) for _, first_id, total in rows_of_level]
        for level, rows_of_level in groupby(rows, lambda row: row[0])
    }


class CountersAgainstModel(RuleBasedStateMachine):
    """Adds and removes subscribers, and reads every page of a random size."""

    tx: Transaction

    @initialize()
    def begin(self) -> None:
        select("SELECT 1", self.tx)
        self.tx._database.execute_sql("SAVEPOINT example")
        self.ids = self.tx._ids = ScriptedIds()
        self.model: list[str] = []
        self.newest = 1_000_000
        self.names = 0

    def teardown(self) -> None:
        self.tx._database.execute_sql("ROLLBACK TO SAVEPOINT example")

    def add(self, numbers: list[int]) -> None:
        """Stores subscribers with IDs of these numbers in one bulk."""
        self.ids.pending = [id_of(number) for number in numbers]
        rows = {}
        for _ in numbers:
            self.names += 1
            rows[self.names] = new(f"{self.names}")
        assert SUBSCRIBERS.create_many(OURS, rows, self.tx).row_errors == {}
        for number in numbers:
            insort(self.model, id_of(number))

    @rule(gap=st.integers(1, 50))
    def create(self, gap: int) -> None:
        self.newest += gap
        self.ids.pending = [id_of(self.newest)]
        self.names += 1
        assert SUBSCRIBERS.create(OURS, new(f"{self.names}"), self.tx).id == id_of(self.newest)
        insort(self.model, id_of(self.newest))

    @rule(count=st.integers(1, 30), gap=st.integers(1, 4))
    def create_many(self, count: int, gap: int) -> None:
        self.add([self.newest + gap * number for number in range(1, count + 1)])
        self.newest += gap * count

    @rule(age=st.integers(0, 500), count=st.integers(1, 15), gap=st.integers(1, 40))
    def create_late(self, age: int, count: int, gap: int) -> None:
        """Stores IDs of a process with a slow clock, which can lie between existing IDs."""
        numbers = [max(self.newest - age, 0) + gap * number for number in range(count)]
        unused = [number for number in numbers if id_of(number) not in self.model]
        if unused:
            self.add(unused)
            self.newest = max(self.newest, *unused)

    @rule(at=st.floats(0, 1), count=st.integers(1, 25))
    def delete(self, at: float, count: int) -> None:
        first = int(at * len(self.model))
        for subscriber_id in self.model[first : first + count]:
            SUBSCRIBERS.delete(OURS, subscriber_id, self.tx)
        del self.model[first : first + count]

    @rule(end=st.booleans())
    def delete_all(self, end: bool) -> None:
        for subscriber_id in self.model[:: -1 if end else 1]:
            SUBSCRIBERS.delete(OURS, subscriber_id, self.tx)
        self.model.clear()

    @rule(limit=st.integers(1, 40), descending=st.booleans())
    def read_every_page(self, limit: int, descending: bool) -> None:
        expected = self.model[:: -1 if descending else 1]
        for offset in range(0, len(expected) + 2 * limit, limit):
            found = page(
                OURS, EVERYONE, PagePosition(limit, offset, descending=descending), self.tx
            )
            assert [row.id for row in found.rows] == expected[offset : offset + limit]
            assert (found.total, found.more) == (len(expected), offset + limit < len(expected))

    @invariant()
    def every_count_is_exact(self) -> None:
        assert check_account(OURS, self.tx).findings == []
        found = ranges_by_level(self.tx)
        open_bucket = found.get(OPEN_BUCKET, [])
        buckets, groups = found.get(BUCKET, []), found.get(GROUP, [])
        assert sum(total for _, total in groups + open_bucket) == len(self.model)
        # Only the first bucket of a group, and only the first group, can be empty.
        assert {first_id for first_id, total in buckets if not total} <= {
            first_id for first_id, _ in groups
        }
        assert not [first_id for first_id, total in groups if first_id and not total]
        assert all(
            total < 2 * vars(store_counting)["BUCKET_SIZE"] for _, total in buckets + open_bucket
        )


@pytest.fixture
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduces the sizes of buckets and groups, so that there are many."""
    monkeypatch.setattr(store_counting, "BUCKET_SIZE", 4)
    monkeypatch.setattr(store_counting, "GROUP_SIZE", 3)


@pytest.mark.hypothesis
@pytest.mark.usefixtures("small_buckets")
def test_every_page_and_the_total_match_the_model(tx: Transaction) -> None:
    CountersAgainstModel.tx = tx

    run_machine(
        CountersAgainstModel,
        settings=settings(
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.usefixtures("small_buckets")
def test_every_page_is_exact_after_concurrent_writes_with_different_clocks(
    postgres: Postgres,
) -> None:
    url = postgres.new_roster()

    async def write(database: PostgresDatabase, name: str) -> None:
        """Stores subscribers and deletes every third one."""
        rows = {number: new(f"{name}-{number}") for number in range(7)}
        result = await database.write(lambda tx: SUBSCRIBERS.create_many(OURS, rows, tx))
        for subscriber_id in list(result.ids.values())[::3]:
            await database.write(partial(SUBSCRIBERS.delete, OURS, subscriber_id))

    async def run() -> None:
        # The second clock is behind by the duration of a few writes.
        clocks = {"a": system_clock, "b": lambda: system_clock() - 50}
        databases = {name: PostgresDatabase(url, 6, clock=clock) for name, clock in clocks.items()}
        for database in databases.values():
            await database.open()
        await asyncio.gather(
            *(
                write(database, f"{name}{number}")
                for number in range(20)
                for name, database in databases.items()
            )
        )
        await databases["a"].read(check_pages)
        for database in databases.values():
            await database.close()

    def check_pages(tx: Transaction) -> None:
        all_ids = [
            subscriber_id
            for (subscriber_id,) in select("SELECT id FROM subscriber ORDER BY id", tx)
        ]
        assert len(all_ids) == 40 * 4
        for offset in range(5, len(all_ids) + 5, 5):
            found = page(OURS, EVERYONE, PagePosition(5, offset), tx)
            assert [row.id for row in found.rows] == all_ids[offset : offset + 5]
            assert found.total == len(all_ids)

    asyncio.run(asyncio.wait_for(run(), 60))
