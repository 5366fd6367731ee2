"""Subscribers that are stored with the times and the consent that a row states."""

from __future__ import annotations

import pytest

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.history import Source
from rosterd.server.features.subscribers.query.plan import PagePosition
from rosterd.server.features.subscribers.rules import ConsentRecord
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import timestamp_of

from .helpers import EVERYONE, OURS, SUBSCRIBERS, email, list_subscribers, new

DAY = 24 * 3600 * 1000


@pytest.mark.parametrize(("source", "confirmed"), [(Source.API, True), (Source.IMPORT, False)])
def test_confirmation_is_as_old_as_its_subscriber_unless_imported(
    tx: Transaction, source: Source, confirmed: bool
) -> None:
    created = SUBSCRIBERS.create(OURS, new("ada"), tx, source)
    ids = SUBSCRIBERS.create_many(OURS, {0: new("eve"), 1: new("bob")}, tx, source).ids

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
        assert not SUBSCRIBERS.create_many(OURS, part, tx, Source.IMPORT).row_errors
    newest = SUBSCRIBERS.create(OURS, new("now"), tx)

    everyone = list_subscribers(OURS, tx, EVERYONE, PagePosition(2_000))
    assert [row.created_at for row in everyone.rows] == [*sorted(times), newest.created_at]
    assert everyone.total == 1_501
    late = list_subscribers(OURS, tx, EVERYONE, PagePosition(10, offset=1_490))
    assert late.rows == everyone.rows[1_490:1_500]


def test_creation_in_the_future_counts_as_now(tx: Transaction) -> None:
    rows = {
        n: new(f"u{n}")._replace(consent_record=ConsentRecord(created_at=tx.now + DAY))
        for n in range(2)
    }

    ids = SUBSCRIBERS.create_many(OURS, rows, tx, Source.IMPORT).ids

    assert [abs(timestamp_of(id_) - tx.now) < DAY // 2 for id_ in ids.values()] == [True, True]


def test_confirmation_ends_with_another_address_or_the_status_unconfirmed(tx: Transaction) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada", status=Status.UNCONFIRMED), tx)
    start = tx.now
    # The seconds of the last confirmation and the last opt-out, after each second.
    times: list[tuple[Status | str, int | None, int | None]] = [
        (Status.CONFIRMED, 1, None),
        (Status.UNSUBSCRIBED, 1, 2),
        (Status.UNCONFIRMED, None, 2),
        (Status.CONFIRMED, 4, 2),
        (Status.BOUNCED, 4, 2),
        ("eve", None, 2),
    ]

    for second, (change, *seconds) in enumerate(times, 1):
        tx.now = start + 1_000 * second
        if isinstance(change, Status):
            row = change_status(OURS, row.id, change, tx, by_admin=False)
        else:
            row = SUBSCRIBERS.update(OURS, row.id, Changes(email=email(change)), tx)

        expected = [second, *seconds]
        stored = find(OURS, row.id, tx)
        assert row == stored
        assert [stored.status_changed_at, stored.confirmed_at, stored.unsubscribed_at] == [
            at if at is None else start + 1_000 * at for at in expected
        ], change
