"""Event sequences without gaps, and pages of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.features.events.envelope import PREFIX
from rosterd.server.features.events.models import Event
from rosterd.server.features.events.rules import EventType, created
from rosterd.server.features.events.store import count_webhooks, record
from rosterd.server.features.events.store_reading import EventRow, Filter, page
from rosterd.server.features.tags.store import TagRow
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.statements import Statement, param
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, THEIRS, select, statements_of
from .test_plans import RecordingTransaction, searches

KINDS = (EventType.TAG_CREATED, EventType.TAG_DELETED, EventType.SUBSCRIBER_CREATED)
_FORGET = Statement(
    lambda _: Event.delete().where(
        (Event.account_id == param("account_id")) & (Event.sequence <= param("last"))
    )
)


def record_events(account: str, count: int, tx: Transaction) -> None:
    """Records this many events, with alternating types, in one transaction."""
    changes = [
        created(KINDS[number % len(KINDS)], TagRow(str(number), "vip", "", tx.now))
        for number in range(count)
    ]
    record(account, changes, tx)


def delete_events_until(account: str, until: int, tx: Transaction) -> None:
    """Deletes the oldest events."""
    tx.run(_FORGET, account_id=account, last=until)


def sequences(rows: Sequence[EventRow]) -> list[int]:
    return [row.sequence for row in rows]


def test_recording_any_number_of_events_costs_two_statements(tx: Transaction) -> None:
    count_webhooks(OURS, 1, tx)

    for count in (1, 100):
        assert statements_of(tx, lambda count=count: record_events(OURS, count, tx)) == 2


def test_only_events_that_a_webhook_can_get_notify_dispatchers(tx: Transaction) -> None:
    count_webhooks(OURS, 1, tx)

    for account in (OURS, THEIRS):
        record_events(account, 1, tx)

    assert tx.accounts_to_notify == {OURS}


@pytest.mark.parametrize("forgotten", [0, 4, 12])
def test_pages_equal_the_filtered_list(tx: Transaction, forgotten: int) -> None:
    for account in (OURS, THEIRS):
        count_webhooks(account, 1, tx)
        record_events(account, 12, tx)
    ids = [
        own_id.removeprefix(PREFIX)
        for (own_id,) in select(
            f"SELECT id FROM event WHERE account_id = '{OURS}' ORDER BY sequence",
            tx,
        )
    ]
    event_types = [KINDS[number % len(KINDS)] for number in range(12)]
    delete_events_until(OURS, forgotten, tx)

    every = product(
        (0, 3, 12),
        (
            (),
            [EventType.TAG_CREATED, EventType.TAG_DELETED],
            [EventType.WEBHOOK_TEST],
        ),
        (None, ids[5], f"{ids[-1]}0"),
        (None, ids[0], ids[7]),
        (False, True),
    )
    for after, filters, first_id, end_id, descending in every:
        expected = [
            number
            for number in range(max(after, forgotten) + 1, 13)
            if (not filters or event_types[number - 1] in filters)
            and (first_id is None or ids[number - 1] >= first_id)
            and (end_id is None or ids[number - 1] < end_id)
        ]
        expected = expected[::-1] if descending else expected
        limits = Filter(after, filters, first_id, end_id)
        continued = None
        for number in (1, 2, 3):
            found = page(OURS, limits, Page(number, 4), tx, descending=descending)
            rows, total, following = found
            there = expected[4 * (number - 1) : 4 * number]
            assert (sequences(rows), total) == (there, len(expected)), (limits, descending)
            assert (following is not None) == (len(expected) > 4 * number), (limits, descending)
            assert continued in (None, found), (limits, descending)
            continued = following and page(OURS, limits, following, tx, descending=descending)


ROWS = 2_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Transaction]:
    """A read-only transaction on a file with many events of two accounts."""
    path: Path = tmp_path_factory.mktemp("events")
    with unit_of_work(f"sqlite:///{path}/roster.db") as transaction:
        for account in (OURS, THEIRS):
            count_webhooks(account, 1, transaction)
            record_events(account, ROWS, transaction)
        yield transaction


FILTERS: dict[str, dict[str, Any]] = {
    "everything": {},
    "what comes later": {"after": ROWS // 2},
    "event types": {"event_types": [EventType.TAG_DELETED]},
    "moments": {"first_id": "0", "end_id": "Z"},
    "event types and bounds": {
        "event_types": [EventType.TAG_DELETED],
        "first_id": "0",
        "end_id": "Z",
    },
}


@pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
@pytest.mark.parametrize("name", FILTERS)
def test_page_uses_an_index_of_the_account_without_a_sort(
    many: Transaction, name: str, descending: bool
) -> None:
    recording = RecordingTransaction(many)

    rows, _, _ = page(OURS, Filter(**FILTERS[name]), Page(2, 10), recording, descending=descending)

    assert len(rows) == 10
    assert len(recording.recorded) <= 6
    for step in recording.recorded:
        assert searches(step)
        assert not [line for line in step.plan if "TEMP B-TREE" in line], step


@pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
def test_page_cost_is_independent_of_its_position(many: Transaction, descending: bool) -> None:
    def steps(number: int) -> int:
        recording = RecordingTransaction(many)
        page(OURS, Filter(), Page(number, 10), recording, descending=descending)
        return sum(step.machine_steps for step in recording.recorded)

    costs = [steps(number) for number in (1, 50, 150, ROWS // 10)]

    assert max(costs) < min(costs) * 1.2, costs
    # Counting all events takes one step each.
    assert max(costs) < ROWS
