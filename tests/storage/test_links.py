"""Links that expire, and actions that can be undone for a limited time, on each database."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.links.store import LinkStore
from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.features.subscribers.history import EntryType
from rosterd.server.features.subscribers.linked import urls_of
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.subscribers.store_history import last_change
from rosterd.server.features.suppressions.rules import Reason
from rosterd.server.rpc.errors import LinkNotFound
from rosterd.server.security.encryption import Encryption
from rosterd.server.security.links import CONFIRM_TIME, UNDO_TIME, Links, Token
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import first_id_at

from ..signed_links import signed_token
from .helpers import ENCRYPTION, OURS, SUBSCRIBERS, SUPPRESSIONS, THEIRS, email, new, select

LINKS = Links(ENCRYPTION, "https://news.example.com")
STORE = LinkStore(LINKS, SUPPRESSIONS)


@pytest.fixture(autouse=True)
def account(tx: Transaction) -> None:
    created = accounts.create_account("owner@example.com", tx, verified=True).id
    select(f"UPDATE account SET id = '{OURS}' WHERE id = '{created}' RETURNING id", tx)


def subscriber(tx: Transaction, status: Status = Status.UNCONFIRMED) -> SubscriberRow:
    return SUBSCRIBERS.create(OURS, new("ada", status=status), tx)


def tokens(row: SubscriberRow, tx: Transaction) -> list[Token]:
    """Returns the tokens that confirm and unsubscribe."""
    urls = urls_of(OURS, row, LINKS, tx.now, can_confirm=True)
    parsed = [LINKS.token(url.rpartition("/")[2]) for url in urls if url]
    return [token for token in parsed if token is not None]


def signed(row: SubscriberRow, expires_at: int | None = None) -> Token:
    """Returns a token of an earlier version."""
    expiry = "" if expires_at is None else first_id_at(expires_at)[:10]
    token = LINKS.token(signed_token(bytes(range(32)), OURS, row.id, row.email_key, expiry))
    assert token is not None
    return token


def test_a_link_that_confirms_works_until_it_expires(tx: Transaction) -> None:
    confirm, _ = tokens(subscriber(tx), tx)

    tx.now += CONFIRM_TIME - 1
    assert STORE.find(confirm, tx).token == confirm
    tx.now += 1
    with pytest.raises(LinkNotFound):
        STORE.find(confirm, tx)
    assert STORE.find(confirm, tx, opts_out=True).token == confirm
    assert STORE.follow(confirm, tx, opts_out=True).status is Status.UNSUBSCRIBED


def test_a_signed_link_ends_with_the_first_change_of_the_status(tx: Transaction) -> None:
    row = subscriber(tx)
    confirm = signed(row, tx.now + CONFIRM_TIME)
    assert STORE.find(confirm, tx).status is Status.UNCONFIRMED

    change_status(OURS, row.id, Status.BOUNCED, tx, by_admin=False)

    later = signed(row, tx.now + 2 * CONFIRM_TIME)
    for token in (confirm, later):
        with pytest.raises(LinkNotFound):
            STORE.find(token, tx)


def test_a_signed_link_ends_with_a_change_before_statuses_had_revisions(tx: Transaction) -> None:
    row = subscriber(tx)
    change_status(OURS, row.id, Status.BOUNCED, tx, by_admin=False)
    select("UPDATE subscriber SET status_revision = 0 RETURNING id", tx)
    last = last_change(OURS, row.id, (EntryType.STATUS_CHANGED,), tx)
    assert last is not None

    with pytest.raises(LinkNotFound):
        STORE.find(signed(row, last.at + CONFIRM_TIME), tx)
    assert STORE.follow(signed(row, last.at + 1 + CONFIRM_TIME), tx).status == Status.CONFIRMED


def test_a_link_makes_the_suppression_of_a_bounce_an_opt_out(tx: Transaction) -> None:
    row = subscriber(tx, Status.BOUNCED)
    _, unsubscribe = tokens(row, tx)
    SUBSCRIBERS.delete(OURS, row.id, tx)
    assert STORE.find(unsubscribe, tx).status is Status.BOUNCED

    STORE.follow(unsubscribe, tx)

    assert SUPPRESSIONS.find(OURS, row.email_key, tx).reason == Reason.UNSUBSCRIBED


def test_unsubscribing_can_be_undone_for_ten_minutes(tx: Transaction) -> None:
    _, unsubscribe = tokens(subscriber(tx, Status.CONFIRMED), tx)
    STORE.follow(unsubscribe, tx)

    tx.now += UNDO_TIME - 1
    undo = STORE.find(unsubscribe, tx).undo
    assert undo == (Status.CONFIRMED, tx.now + 1)
    tx.now += 1
    assert STORE.find(unsubscribe, tx).undo is None
    assert STORE.undo(unsubscribe, tx).status is Status.UNSUBSCRIBED


def test_nothing_is_undone_after_a_change_of_the_address(tx: Transaction) -> None:
    row = subscriber(tx, Status.CONFIRMED)
    _, unsubscribe = tokens(row, tx)
    STORE.follow(unsubscribe, tx)
    moved = SUBSCRIBERS.update(OURS, row.id, Changes(email=email("new")), tx)
    _, other = tokens(moved, tx)

    assert STORE.undo(other, tx).status is Status.UNSUBSCRIBED


def test_another_installation_accepts_no_links(tx: Transaction) -> None:
    row = subscriber(tx)
    other = Links(Encryption(bytes(32)), "https://news.example.com")
    urls = urls_of(OURS, row, LINKS, tx.now, can_confirm=True)

    assert [other.token(url.rpartition("/")[2]) for url in urls if url] == [None, None]
    with pytest.raises(LinkNotFound):
        LinkStore(other, SUPPRESSIONS).find(signed(row), tx)


def test_every_token_that_does_not_work_takes_two_statements(tx: Transaction) -> None:
    row = subscriber(tx)
    confirm, _ = tokens(row, tx)
    old = signed(row)
    invalid = {
        "not a token": None,
        "another status": confirm._replace(status_revision=1),
        "no subscriber": confirm._replace(subscriber_id=OURS),
        "another account": confirm._replace(account_id=THEIRS),
        "another address": tokens(row._replace(email_key="other@example.com"), tx)[0],
        "expired": tokens(row, at(tx.now - CONFIRM_TIME))[0],
        "another signature": old._replace(mac="0" * 32),
        "signed, no subscriber": old._replace(subscriber_id=OURS),
    }

    for case, token in invalid.items():
        before = tx.statements
        with pytest.raises(LinkNotFound):
            STORE.find(token, tx)
        assert tx.statements - before == 2, case


def at(now: int) -> Any:
    """Returns a transaction at another time."""
    return SimpleNamespace(now=now)


def test_links_of_a_previous_key_unsubscribe_and_do_not_confirm(tx: Transaction) -> None:
    row = subscriber(tx)
    encryption = Encryption(bytes(range(32)))
    links = Links(encryption, "https://news.example.com")

    def texts() -> list[str]:
        urls = urls_of(OURS, row, links, tx.now, can_confirm=True)
        return [url.rpartition("/")[2] for url in urls if url]

    def outcomes(texts: list[str]) -> list[bool]:
        return [_is_found(LinkStore(links, SUPPRESSIONS), links.token(text), tx) for text in texts]

    expiry = first_id_at(tx.now + CONFIRM_TIME)[:10]
    by_hand = [
        signed_token(bytes(range(32)), OURS, row.id, row.email_key, end) for end in (expiry, "")
    ]
    previous = texts()
    keys = bytes(range(64))
    # A process that uses the previous key for new links accepts those of others.
    encryption.set_keys(keys, 0)
    assert texts() == previous
    encryption.set_keys(keys, 1)
    new = texts()
    assert outcomes(previous) == outcomes(by_hand) == [False, True]
    encryption.set_keys(keys, 0)
    assert outcomes(previous) == outcomes(new) == [True, True]
    assert [Links(ENCRYPTION).token(text) for text in new] == [None, None]


def _is_found(store: LinkStore, token: Token | None, tx: Transaction) -> bool:
    try:
        store.find(token, tx)
    except LinkNotFound:
        return False
    return True
