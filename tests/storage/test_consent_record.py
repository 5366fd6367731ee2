"""Subscribers that are stored with the times and the consent that a row states."""

from __future__ import annotations

import orjson
import pytest

from rosterd.server.features.subscribers import store_history
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.history import Actor, Source
from rosterd.server.features.subscribers.query.store_plan import PagePosition
from rosterd.server.features.subscribers.rules import ConsentRecord
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.subscribers.store_history import HistoryPosition
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.features.subscribers.store_suppressed import SuppressedSubscriberStore
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import timestamp_of

from .helpers import EVERYONE, OURS, SUBSCRIBERS, THEIRS, email, list_subscribers, new, select

IMPORT = Actor(Source.IMPORT, "key")
DAY = 24 * 3600 * 1000


def test_bulk_stores_times_and_consent_as_stated(tx: Transaction) -> None:
    consent_record = ConsentRecord(
        created_at=1_000,
        status_changed_at=2_000,
        confirmed_at=3_000,
        unsubscribed_at=4_000,
        consent_source="form",
        consent_ip="192.0.2.1",
        consent_at=5_000,
    )
    row = new("ada", "vip", status=Status.UNSUBSCRIBED)._replace(consent_record=consent_record)

    ids = SUBSCRIBERS.create_many(OURS, {0: row, 1: new("eve")}, tx, IMPORT).ids

    stored = find(OURS, ids[0], tx)
    assert timestamp_of(ids[0]) == 1_000
    assert {
        name: getattr(stored, name) for name in ConsentRecord._fields
    } == consent_record._asdict()
    assert (stored.status, stored.tags) == (Status.UNSUBSCRIBED, ("vip",))
    other = find(OURS, ids[1], tx)
    assert {getattr(other, name) for name in ConsentRecord._fields[1:]} == {None}


@pytest.mark.parametrize(("by", "confirmed"), [(Actor(), True), (IMPORT, False)], ids=str)
def test_confirmation_is_as_old_as_its_subscriber_unless_imported(
    tx: Transaction, by: Actor, confirmed: bool
) -> None:
    created = SUBSCRIBERS.create(OURS, new("ada"), tx, by)
    ids = SUBSCRIBERS.create_many(OURS, {0: new("eve"), 1: new("bob")}, tx, by).ids

    for id_ in (created.id, *ids.values()):
        row = find(OURS, id_, tx)
        assert row.confirmed_at == (row.created_at if confirmed else None)


def test_backdated_subscribers_are_listed_and_counted_in_order_of_creation(
    tx: Transaction,
) -> None:
    times = [DAY * ((number * 7) % 50 + 1) for number in range(1_500)]
    rows = {
        number: new(f"u{number}")._replace(consent_record=ConsentRecord(created_at=time))
        for number, time in enumerate(times)
    }
    for first in range(0, 1_500, 300):
        part = {number: rows[number] for number in range(first, first + 300)}
        assert not SUBSCRIBERS.create_many(OURS, part, tx, IMPORT).row_errors
    newest = SUBSCRIBERS.create(OURS, new("now"), tx)

    everyone = list_subscribers(OURS, tx, EVERYONE, PagePosition(2_000))
    assert [row.created_at for row in everyone.rows] == [*sorted(times), newest.created_at]
    assert everyone.total == 1_501
    late = list_subscribers(OURS, tx, EVERYONE, PagePosition(10, offset=1_490))
    assert late.rows == everyone.rows[1_490:1_500]


def test_rows_of_one_millisecond_keep_their_order(tx: Transaction) -> None:
    rows = {
        n: new(f"u{n}")._replace(consent_record=ConsentRecord(created_at=DAY)) for n in range(50)
    }

    # In several transactions of an import.
    for first in range(0, 50, 5):
        part = {number: rows[number] for number in range(first, first + 5)}
        SUBSCRIBERS.create_many(OURS, part, tx, IMPORT)

    listed = [row.email for row in list_subscribers(OURS, tx).rows]
    assert listed == [f"u{n}@example.com" for n in range(50)]


def test_creation_in_the_future_counts_as_now(tx: Transaction) -> None:
    rows = {
        n: new(f"u{n}")._replace(consent_record=ConsentRecord(created_at=tx.now + DAY))
        for n in range(2)
    }

    ids = SUBSCRIBERS.create_many(OURS, rows, tx, IMPORT).ids

    assert [abs(timestamp_of(id_) - tx.now) < DAY // 2 for id_ in ids.values()] == [True, True]


# The statuses, and the numbers of the changes that set confirmed_at and unsubscribed_at.
STEPS: dict[str, tuple[list[Status], int | None, int | None]] = {
    "confirmed": ([Status.CONFIRMED], 0, None),
    "opted out": ([Status.UNSUBSCRIBED], None, 0),
    "opted out and in": ([Status.CONFIRMED, Status.UNSUBSCRIBED, Status.UNCONFIRMED], None, 1),
    "bounced": ([Status.CONFIRMED, Status.BOUNCED], 0, None),
}


@pytest.mark.parametrize(("statuses", "confirmed", "unsubscribed"), STEPS.values(), ids=STEPS)
def test_status_changes_set_their_times(
    tx: Transaction, statuses: list[Status], confirmed: int | None, unsubscribed: int | None
) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada", status=Status.UNCONFIRMED), tx)
    times = []
    for status in statuses:
        tx.now += 1_000
        times.append(tx.now)
        row = change_status(OURS, row.id, status, tx, by_admin=False)

    assert row.status_changed_at == times[-1]
    assert row.confirmed_at == (None if confirmed is None else times[confirmed])
    assert row.unsubscribed_at == (None if unsubscribed is None else times[unsubscribed])
    assert find(OURS, row.id, tx) == row


def test_another_address_ends_the_confirmation(tx: Transaction) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada"), tx)
    tx.now += 1_000

    changed = SUBSCRIBERS.update(OURS, row.id, Changes(email=email("eve")), tx)

    assert (changed.confirmed_at, changed.status_changed_at) == (None, tx.now)
    assert find(OURS, row.id, tx) == changed


def test_origin_records_the_creation(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new("ada"), tx, Actor(Source.API, "first key"))
    backdated = new("eve", status=Status.BOUNCED)._replace(
        consent_record=ConsentRecord(created_at=0)
    )
    SUBSCRIBERS.create_many(OURS, {0: backdated}, tx, IMPORT)

    origins = dict(select("SELECT email, origin FROM subscriber", tx))
    assert {name: orjson.loads(text) for name, text in origins.items()} == {
        "ada@example.com": {
            "at": tx.now,
            "source": "API",
            "actor": "first key",
            "status": "CONFIRMED",
        },
        "eve@example.com": {"at": tx.now, "source": "IMPORT", "actor": "key", "status": "BOUNCED"},
    }


def test_lifted_suppression_is_in_the_history_of_a_subscriber_with_the_address(
    tx: Transaction,
) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada"), tx)
    SUBSCRIBERS.create(OURS, new("eve"), tx)

    SuppressedSubscriberStore().record_lifted(OURS, "ada@example.com", "key", tx)
    SuppressedSubscriberStore().record_lifted(OURS, "other@example.com", "key", tx)
    SuppressedSubscriberStore().record_lifted(THEIRS, "eve@example.com", "key", tx)

    (entry, created) = store_history.page(OURS, row.id, HistoryPosition(10), tx).entries
    assert (entry.type, entry.by) == ("SUPPRESSION_LIFTED", Actor(Source.API, "key"))
    assert created.type == "CREATED"
    assert len(select("SELECT id FROM subscriber_history", tx)) == 1
