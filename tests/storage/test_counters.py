"""Counts of stretches of ids, beside a model: whatever comes and goes, each place is exact."""

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

from server.clock import system_clock
from server.ids import Ids
from server.storage.postgres.database import PostgresDatabase
from server.storage.transaction import Transaction
from server.subscribers.counters import store_counting
from server.subscribers.counters.store_buckets import BUCKET, GROUP, OPEN_BUCKET
from server.subscribers.store_paging import Filter, PagePosition, page

from ..postgres import Postgres
from .helpers import OURS, SUBSCRIBERS, new, select


class SetIds(Ids):
    """Hands out ids that a test says, as other processes with other clocks would."""

    def __init__(self) -> None:
        super().__init__(system_clock)
        self.waiting: list[str] = []

    def take(self, count: int) -> list[str]:
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken


def made_id(number: int) -> str:
    return f"01M{number:023}"


def stretches(tx: Transaction, account: str = OURS) -> dict[int, list[tuple[str, int]]]:
    """Returns where the stretches of each level begin, and how many they hold."""
    rows = select(
        "SELECT level, first_id, total FROM subscriber_block"
        f" WHERE account_id = '{account}' ORDER BY level, first_id",
        tx,
    )
    return {level: [row[1:] for row in own] for level, own in groupby(rows, lambda row: row[0])}


class Counted(RuleBasedStateMachine):
    """Adds and removes subscribers, and looks at every page of some size."""

    tx: Transaction

    @initialize()
    def begin(self) -> None:
        select("SELECT 1", self.tx)
        self.tx._database.execute_sql("SAVEPOINT example")
        self.ids = self.tx._ids = SetIds()
        self.model: list[str] = []
        self.newest = 1_000_000
        self.names = 0

    def teardown(self) -> None:
        self.tx._database.execute_sql("ROLLBACK TO SAVEPOINT example")

    def add(self, numbers: list[int]) -> None:
        """Stores subscribers with ids of these numbers, together."""
        self.ids.waiting = [made_id(number) for number in numbers]
        rows = {}
        for _ in numbers:
            self.names += 1
            rows[self.names] = new(f"{self.names}")
        assert SUBSCRIBERS.create_many(OURS, rows, self.tx).row_errors == {}
        for number in numbers:
            insort(self.model, made_id(number))

    @rule(gap=st.integers(1, 50))
    def create(self, gap: int) -> None:
        self.newest += gap
        self.ids.waiting = [made_id(self.newest)]
        self.names += 1
        assert SUBSCRIBERS.create(OURS, new(f"{self.names}"), self.tx).id == made_id(self.newest)
        insort(self.model, made_id(self.newest))

    @rule(count=st.integers(1, 30), gap=st.integers(1, 4))
    def create_many(self, count: int, gap: int) -> None:
        self.add([self.newest + gap * number for number in range(1, count + 1)])
        self.newest += gap * count

    @rule(age=st.integers(0, 500), count=st.integers(1, 15), gap=st.integers(1, 40))
    def create_late(self, age: int, count: int, gap: int) -> None:
        """Another process, whose clock is behind; its ids may lie between those that are there."""
        numbers = [max(self.newest - age, 0) + gap * number for number in range(count)]
        fresh = [number for number in numbers if made_id(number) not in self.model]
        if fresh:
            self.add(fresh)
            self.newest = max(self.newest, *fresh)

    @rule(at=st.floats(0, 1), count=st.integers(1, 25))
    def delete(self, at: float, count: int) -> None:
        first = int(at * len(self.model))
        for own_id in self.model[first : first + count]:
            SUBSCRIBERS.delete(OURS, own_id, self.tx)
        del self.model[first : first + count]

    @rule(end=st.booleans())
    def delete_all(self, end: bool) -> None:
        for own_id in self.model[:: -1 if end else 1]:
            SUBSCRIBERS.delete(OURS, own_id, self.tx)
        self.model.clear()

    @rule(limit=st.integers(1, 40), descending=st.booleans())
    def look_at_every_page(self, limit: int, descending: bool) -> None:
        expected = self.model[:: -1 if descending else 1]
        for offset in range(0, len(expected) + 2 * limit, limit):
            found = page(
                OURS, Filter(), PagePosition(limit, offset, descending=descending), self.tx
            )
            assert [row.id for row in found.rows] == expected[offset : offset + limit]
            assert (found.total, found.more) == (len(expected), offset + limit < len(expected))

    @invariant()
    def each_stretch_holds_what_it_says(self) -> None:
        found = stretches(self.tx)
        opened = found.get(OPEN_BUCKET, [])
        blocks, chapters = found.get(BUCKET, []), found.get(GROUP, [])
        for level in (blocks + opened, chapters + opened):
            ends = [first_id for first_id, _ in level[1:]] + ["~"]
            for (first_id, total), end_id in zip(level, ends, strict=bool(level)):
                assert total == sum(first_id <= own_id < end_id for own_id in self.model)
        assert sum(total for _, total in chapters + opened) == len(self.model)
        assert {first_id for first_id, _ in chapters} <= {first_id for first_id, _ in blocks}
        # Only the first of a chapter stays when it is empty, and only the first chapter.
        assert {first_id for first_id, total in blocks if not total} <= {
            first_id for first_id, _ in chapters
        }
        assert not [first_id for first_id, total in chapters if first_id and not total]
        assert all(total < 2 * store_counting.BUCKET_SIZE for _, total in blocks + opened)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and chapters so small that there are many of them."""
    monkeypatch.setattr(store_counting, "BUCKET_SIZE", 4)
    monkeypatch.setattr(store_counting, "GROUP_SIZE", 3)


@pytest.mark.hypothesis
@pytest.mark.usefixtures("small")
def test_every_page_and_the_total_are_exact_whatever_comes_and_goes(tx: Transaction) -> None:
    Counted.tx = tx

    run_machine(
        Counted,
        settings=settings(
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.usefixtures("small")
def test_every_page_is_exact_after_processes_with_different_clocks_wrote_at_once(
    postgres: Postgres,
) -> None:
    url = postgres.new_roster()

    async def write(database: PostgresDatabase, name: str) -> None:
        """Stores subscribers and deletes each third of them."""
        rows = {number: new(f"{name}-{number}") for number in range(7)}
        taken = await database.write(lambda tx: SUBSCRIBERS.create_many(OURS, rows, tx))
        for own_id in list(taken.ids.values())[::3]:
            await database.write(partial(SUBSCRIBERS.delete, OURS, own_id))

    async def play() -> None:
        # The clock of the second is behind by as long as some writes take.
        clocks = {"a": system_clock, "b": lambda: system_clock() - 50}
        databases = {name: PostgresDatabase(url, 6, clock=own) for name, own in clocks.items()}
        for database in databases.values():
            await database.open()
        await asyncio.gather(
            *(write(own, f"{name}{at}") for at in range(20) for name, own in databases.items())
        )
        await databases["a"].read(look)
        for database in databases.values():
            await database.close()

    def look(tx: Transaction) -> None:
        everyone = [own_id for (own_id,) in select("SELECT id FROM subscriber ORDER BY id", tx)]
        assert len(everyone) == 40 * 4
        for offset in range(5, len(everyone) + 5, 5):
            found = page(OURS, Filter(), PagePosition(5, offset), tx)
            assert [row.id for row in found.rows] == everyone[offset : offset + 5]
            assert found.total == len(everyone)

    asyncio.run(asyncio.wait_for(play(), 30))
