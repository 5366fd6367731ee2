"""Links that expire, and actions that can be undone for a limited time, on each database."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from server.encryption import Encryption
from server.errors import LinkNotFound
from server.links import CONFIRM_TIME, UNDO_TIME, Links, Token, parse_token
from server.self_service.store import LinkStore
from server.storage.transaction import Transaction
from server.subscribers.fields import Status, SubscriberRow
from server.subscribers.history import Actor, EntryType, Source
from server.subscribers.linked import urls_of
from server.subscribers.rules import ConsentRecord
from server.subscribers.store import Changes
from server.subscribers.store_changes import change_status
from server.subscribers.store_history import last_change

from .helpers import ENCRYPTION, OURS, SUBSCRIBERS, SUPPRESSIONS, THEIRS, email, new

LINKS = Links(ENCRYPTION, "https://news.example.com")
STORE = LinkStore(LINKS, SUPPRESSIONS)
PERSON = Actor(Source.SELF_SERVICE, "192.0.2.1")


def subscriber(tx: Transaction, status: Status = Status.UNCONFIRMED) -> SubscriberRow:
    return SUBSCRIBERS.create(OURS, new("ada", status=status), tx)


def tokens(row: SubscriberRow, tx: Transaction) -> list[Token]:
    """Returns the tokens that confirm and unsubscribe."""
    urls = urls_of(OURS, row, LINKS, tx.now, can_confirm=True)
    parsed = [parse_token(url.rpartition("/")[2]) for url in urls if url]
    return [token for token in parsed if token is not None]


def test_a_link_that_confirms_works_until_it_expires(tx: Transaction) -> None:
    confirm, _ = tokens(subscriber(tx), tx)

    tx.now += CONFIRM_TIME - 1
    assert STORE.find(confirm, tx).token == confirm
    tx.now += 1
    with pytest.raises(LinkNotFound):
        STORE.find(confirm, tx)


def test_a_link_that_unsubscribes_does_not_expire(tx: Transaction) -> None:
    _, unsubscribe = tokens(subscriber(tx), tx)

    tx.now += 100 * CONFIRM_TIME

    assert STORE.follow(unsubscribe, tx, PERSON).status is Status.UNSUBSCRIBED


def test_a_link_ends_with_an_opt_out_after_it_was_created(tx: Transaction) -> None:
    row = subscriber(tx)
    confirm, unsubscribe = tokens(row, at(tx.now - 1_000))
    STORE.follow(unsubscribe, tx, PERSON)

    with pytest.raises(LinkNotFound):
        STORE.find(confirm, tx)
    later, _ = tokens(row, at(tx.now + 60_000))
    assert STORE.follow(later, tx, PERSON).status is Status.CONFIRMED


def test_a_link_ends_with_an_opt_out_in_the_millisecond_of_its_creation(tx: Transaction) -> None:
    row = subscriber(tx)
    opted_out = STORE.follow(tokens(row, tx)[1], tx, PERSON).subscriber
    opt_out = last_change(OURS, row.id, (EntryType.STATUS_CHANGED,), tx)
    assert opt_out is not None

    before, _ = tokens(row, at(opt_out.at))
    with pytest.raises(LinkNotFound):
        STORE.find(before, tx)
    later, _ = tokens(opted_out, at(opt_out.at))
    assert STORE.follow(later, tx, PERSON).status is Status.CONFIRMED


@pytest.mark.parametrize("stated", [1, None])
def test_a_link_ends_with_an_opt_out_that_an_import_dates_back(
    tx: Transaction, stated: int | None
) -> None:
    row = subscriber(tx)
    confirm, _ = tokens(row, at(tx.now - 1_000))
    for status in (Status.UNSUBSCRIBED, Status.UNCONFIRMED):
        record = ConsentRecord(status_changed_at=stated, unsubscribed_at=stated)
        change_status(
            OURS,
            row.id,
            status,
            tx,
            by_admin=False,
            consent_record=record,
            suppressions=SUPPRESSIONS,
        )
        with pytest.raises(LinkNotFound):
            STORE.find(confirm, tx)


def test_nothing_is_undone_after_a_change_of_the_address(tx: Transaction) -> None:
    row = subscriber(tx, Status.CONFIRMED)
    _, unsubscribe = tokens(row, tx)
    STORE.follow(unsubscribe, tx, PERSON)
    moved = SUBSCRIBERS.update(OURS, row.id, Changes(email=email("new")), tx)
    _, other = tokens(moved, tx)

    assert STORE.undo(other, tx, PERSON).status is Status.UNSUBSCRIBED


def test_unsubscribing_can_be_undone_for_ten_minutes(tx: Transaction) -> None:
    _, unsubscribe = tokens(subscriber(tx, Status.CONFIRMED), tx)
    STORE.follow(unsubscribe, tx, PERSON)

    tx.now += UNDO_TIME - 1
    undo = STORE.find(unsubscribe, tx).undo
    assert undo == (Status.CONFIRMED, tx.now + 1)
    tx.now += 1
    assert STORE.find(unsubscribe, tx).undo is None
    assert STORE.undo(unsubscribe, tx, PERSON).status is Status.UNSUBSCRIBED


def test_a_later_change_by_a_program_cannot_be_undone(tx: Transaction) -> None:
    row = subscriber(tx, Status.CONFIRMED)
    _, unsubscribe = tokens(row, tx)
    STORE.follow(unsubscribe, tx, PERSON)
    for status in (Status.CONFIRMED, Status.UNSUBSCRIBED):
        tx.now += 1
        change_status(OURS, row.id, status, tx, by_admin=False, suppressions=SUPPRESSIONS)

    assert STORE.undo(unsubscribe, tx, PERSON).status is Status.UNSUBSCRIBED


def test_another_installation_accepts_no_links(tx: Transaction) -> None:
    confirm, _ = tokens(subscriber(tx), tx)
    other = LinkStore(Links(Encryption(bytes(32)), "https://news.example.com"), SUPPRESSIONS)

    with pytest.raises(LinkNotFound):
        other.find(confirm, tx)


def test_every_token_that_does_not_work_takes_one_statement(tx: Transaction) -> None:
    row = subscriber(tx)
    confirm, _ = tokens(row, tx)
    changed_address, _ = tokens(row._replace(email_key="other@example.com"), tx)
    invalid = {
        "not a token": None,
        "another signature": confirm._replace(mac="0" * 32),
        "no subscriber": confirm._replace(subscriber_id=OURS),
        "another account": confirm._replace(account_id=THEIRS),
        "another address": changed_address,
        "expired": tokens(row, at(tx.now - CONFIRM_TIME))[0],
    }

    for case, token in invalid.items():
        before = tx.statements
        with pytest.raises(LinkNotFound):
            STORE.find(token, tx)
        assert tx.statements - before == 1, case


def at(now: int) -> Any:
    """Returns a transaction at another time."""
    return SimpleNamespace(now=now)
