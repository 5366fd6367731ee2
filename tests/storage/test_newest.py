"""The greatest id in store, from which those that a service hands out go on."""

from __future__ import annotations

import pytest

from server.app import newest_id
from server.storage.transaction import Transaction
from server.subscribers.store_reading import newest_id_of_any_account

from .helpers import OURS, SUBSCRIBERS, THEIRS, field, new


def bulk(account: str, first: int, count: int, tx: Transaction) -> list[str]:
    """Stores subscribers and returns their ids."""
    rows = {n: new(f"n{first + n}") for n in range(count)}
    return list(SUBSCRIBERS.create_many(account, rows, tx).ids.values())


def test_there_is_none_in_an_empty_database(tx: Transaction) -> None:
    assert newest_id(tx) is None


def test_newest_of_all_accounts_is_found(tx: Transaction) -> None:
    bulk(THEIRS, 0, 3, tx)
    *_, newest = bulk(OURS, 0, 3, tx)
    # The other account comes after it in the order of accounts.
    assert newest_id_of_any_account(tx) == newest_id(tx) == newest
    *_, newest = bulk(THEIRS, 3, 3, tx)
    assert newest_id_of_any_account(tx) == newest

    assert newest_id(tx) == newest < field(OURS, tx) == newest_id(tx)


@pytest.mark.parametrize("gone", [1, 400, 700])
def test_newest_is_found_among_many_also_when_the_last_are_gone(tx: Transaction, gone: int) -> None:
    ids = [own_id for first in range(0, 1_200, 100) for own_id in bulk(OURS, first, 100, tx)]
    assert newest_id_of_any_account(tx) == ids[-1]

    for own_id in ids[-gone:]:
        SUBSCRIBERS.delete(OURS, own_id, tx)

    assert newest_id_of_any_account(tx) == ids[-gone - 1]


def test_there_is_none_where_all_are_gone(tx: Transaction) -> None:
    for own_id in bulk(OURS, 0, 3, tx):
        SUBSCRIBERS.delete(OURS, own_id, tx)

    assert newest_id_of_any_account(tx) is None
