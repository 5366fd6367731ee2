"""Subscribers that are stored with the times and the consent that a row states."""

from __future__ import annotations

import pytest

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.history import Actor, Source
from rosterd.server.features.subscribers.query.plan import PagePosition
from rosterd.server.features.subscribers.rules import ConsentRecord
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import timestamp_of

from .helpers import EVERYONE, OURS, SUBSCRIBERS, list_subscribers, new

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
