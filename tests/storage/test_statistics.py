"""Statistics, compared with a count of all subscribers after random changes."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from rosterd.server.features.statistics.rules import QUARTERS_OF_DAY, Flow, day_of
from rosterd.server.features.statistics.store import add, local_flows
from rosterd.server.features.subscribers.counters.store_statistics import StatisticChanges
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.history import Source
from rosterd.server.features.subscribers.row_writer import OnConflict, RowWriter
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import add_tags, change_status, remove_tags
from rosterd.server.features.tags import store as tags
from rosterd.server.features.tags.rules import distinct
from rosterd.server.maintenance.check import check_account
from rosterd.server.rpc.errors import RosterError
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, SUBSCRIBERS, SUPPRESSIONS, email, list_subscribers, new, select, tree_of

NAMES = st.sampled_from(["ada", "bob", "eve", "zoe"])
TAGS = st.lists(st.sampled_from(["vip", "VIP", "news", "old"]), max_size=3)
STATUSES = st.sampled_from(list(Status))
LISTS = (
    tree_of(status=2),
    tree_of(tag="vip"),
    tree_of(tag="no such tag"),
    tree_of(status=2, tag="vip"),
    *[
        tree_of(text)
        for text in (
            "NOT tags:vip",
            "tags:vip OR status=BOUNCED",
            "tags:vip AND NOT (status=CONFIRMED OR status=UNCONFIRMED)",
            "NOT tags:no_such_tag AND status:*",
        )
    ],
)


class StatisticsAgainstCount(RuleBasedStateMachine):
    """Changes subscribers in every way, and counts them after each step."""

    tx: Transaction

    @initialize()
    def begin(self) -> None:
        select("SELECT 1", self.tx)
        self.tx._database.execute_sql("SAVEPOINT example")

    def _attempt(self, change: Any, *values: Any, **options: Any) -> None:
        self.tx._database.execute_sql("SAVEPOINT step")
        try:
            change(*values, **options)
        except RosterError:
            self.tx._database.execute_sql("ROLLBACK TO SAVEPOINT step")

    @rule(name=NAMES, names=TAGS, status=STATUSES)
    def create(self, name: str, names: list[str], status: Status) -> None:
        subscriber = new(name, *names, status=status)
        self._attempt(SUBSCRIBERS.create, OURS, subscriber, self.tx)

    @rule(rows=st.lists(st.tuples(NAMES, TAGS, STATUSES), min_size=1, max_size=4))
    def store_rows(self, rows: list[tuple[str, list[str], Status]]) -> None:
        writer = RowWriter(OURS, OnConflict.UPDATE, SUBSCRIBERS, Source.API)
        subscribers = [
            new(name, *names, status=status)._replace(has_status=True)
            for name, names, status in rows
        ]
        self._attempt(writer.store_rows, subscribers, self.tx)

    @rule(name=NAMES, names=TAGS, other=NAMES)
    def update(self, name: str, names: list[str], other: str) -> None:
        changes = Changes(email=email(other), tags=distinct(names))
        self._attempt(SUBSCRIBERS.update, OURS, email(name), changes, self.tx)

    @rule(name=NAMES, names=TAGS)
    def tag(self, name: str, names: list[str]) -> None:
        self._attempt(add_tags, OURS, email(name), distinct(names), self.tx)

    @rule(name=NAMES, names=TAGS)
    def untag(self, name: str, names: list[str]) -> None:
        self._attempt(remove_tags, OURS, email(name), set(distinct(names)), self.tx)

    @rule(name=NAMES, status=STATUSES)
    def change_status(self, name: str, status: Status) -> None:
        self._attempt(change_status, OURS, email(name), status, self.tx, by_admin=True)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self._attempt(SUBSCRIBERS.delete, OURS, email(name), self.tx)

    @rule(name=NAMES)
    def lift(self, name: str) -> None:
        self._attempt(SUPPRESSIONS.delete, OURS, email(name).key, self.tx)

    @rule(name=st.sampled_from(["vip", "news", "old"]))
    def delete_tag(self, name: str) -> None:
        for (tag_id,) in select(f"SELECT id FROM tag WHERE name_key = '{name}'", self.tx):
            tags.delete(OURS, tag_id, self.tx)

    @invariant()
    def check_finds_no_difference(self) -> None:
        assert check_account(OURS, self.tx).findings == []

    @invariant()
    def totals_of_lists_equal_their_rows(self) -> None:
        for filters in LISTS:
            page = list_subscribers(OURS, self.tx, filters)
            assert page.total == len(page.rows)

    def teardown(self) -> None:
        self.tx._database.execute_sql("ROLLBACK TO SAVEPOINT example")


@pytest.mark.parametrize("examples", [2, pytest.param(20, marks=pytest.mark.verify)])
def test_statistics_equal_a_count_after_random_changes(tx: Transaction, examples: int) -> None:
    class Machine(StatisticsAgainstCount):
        pass

    Machine.tx = tx
    checks = [HealthCheck.too_slow]
    run_machine(
        Machine,
        settings=settings(
            max_examples=examples, stateful_step_count=40, suppress_health_check=checks
        ),
    )


EPOCH = date(1970, 1, 1)


def day_in(zone: ZoneInfo, milliseconds: int) -> int:
    return (datetime.fromtimestamp(milliseconds / 1000, zone).date() - EPOCH).days


def count_creations(times: list[int], tx: Transaction) -> None:
    for time in times:
        changes = StatisticChanges(time)
        changes.created(Status.CONFIRMED, 1, imported=False)
        changes.store(OURS, tx)


# Clocks that change by an hour, by half of one, and at midnight; offsets of quarter hours.
ZONES = (
    *("UTC", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana"),
    *("Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati", "Etc/GMT+12"),
)


@pytest.mark.parametrize("name", ZONES)
def test_days_of_a_time_zone_equal_a_count(name: str, tx: Transaction) -> None:
    zone, random = ZoneInfo(name), Random(1)
    first = round(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    times = [first + random.randrange(365 * 86_400_000) for _ in range(200)]
    # The last and the first moment of each day in the months in which clocks change.
    for month in (3, 4, 10, 11):
        for day in range(1, 31):
            midnight = round(datetime(2026, month, day, tzinfo=zone).timestamp() * 1000)
            times += [midnight - 1, midnight]
    count_creations(times, tx)

    days = day_of(first) + 2, day_of(first) + 360
    found = local_flows(OURS, *days, zone, tx)

    expected = Counter(day_in(zone, time) for time in times)
    for flow in (Flow.CREATED, Flow.GROWTH):
        counts = {day: found.counts[day, flow] for day in range(days[0], days[1] + 1)}
        assert counts == {day: expected[day] for day in counts}
    assert found.exact_from == days[0]


def test_changes_without_a_quarter_hour_count_on_the_day_with_the_date_in_utc(
    tx: Transaction,
) -> None:
    upgrade = round(datetime(2026, 6, 15, 12, tzinfo=UTC).timestamp() * 1000)
    day = day_of(upgrade)
    # Earlier versions counted days only.
    add(OURS, {(day - 1, "created"): 7, (day, "created"): 5, (day, "growth"): 5}, tx)
    count_creations([upgrade], tx)

    for name, days_later in (("UTC", -3), ("America/Lima", 1), ("Europe/Berlin", 2)):
        found = local_flows(OURS, day - 3, day + 3, ZoneInfo(name), tx)
        counts = {each: found.counts[each, Flow.CREATED] for each in range(day - 3, day + 4)}
        assert {each: count for each, count in counts.items() if count} == {day - 1: 7, day: 6}
        assert found.exact_from == day + days_later
    assert local_flows(OURS, day - 3, day, ZoneInfo("America/Lima"), tx).exact_from is None


@pytest.mark.parametrize(
    ("first", "last"),
    [(date.min, date.min), (date(1969, 3, 1), date(1970, 1, 5)), (date.max, date.max)],
    ids=["first day", "before 1970", "last day"],
)
def test_days_without_changes_are_zero_in_every_time_zone(
    first: date, last: date, tx: Transaction
) -> None:
    time = round(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    count_creations([time], tx)
    days = (first - EPOCH).days, (last - EPOCH).days

    for name in ("Pacific/Kiritimati", "Etc/GMT+12"):
        found = local_flows(OURS, *days, ZoneInfo(name), tx)
        assert (set(found.counts.values()), found.exact_from) == ({0}, days[0])


def test_a_period_in_a_time_zone_takes_a_statement_for_each_offset(tx: Transaction) -> None:
    add(OURS, {(-100 * QUARTERS_OF_DAY - n, "created"): 1 for n in range(96)}, tx)

    for name, statements in (("Asia/Tokyo", 2), ("Europe/Berlin", 3)):
        before = tx.statements
        local_flows(OURS, 20_000, 20_365, ZoneInfo(name), tx)
        assert tx.statements - before == statements
