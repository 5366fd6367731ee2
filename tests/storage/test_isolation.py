"""Accounts cannot read or change data of other accounts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.subscribers import store_reading
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import add_tags, change_status, remove_tags
from rosterd.server.features.suppressions.rules import NewSuppression, Reason
from rosterd.server.features.tags import store as tags
from rosterd.server.rpc.errors import (
    ApiKeyNotFound,
    CustomFieldNotFound,
    RosterError,
    SubscriberNotFound,
    SuppressionNotFound,
    TagNotFound,
)
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.transaction import Transaction

from .helpers import (
    OURS,
    SUBSCRIBERS,
    SUPPRESSIONS,
    THEIRS,
    email,
    field,
    list_subscribers,
    new,
    profile,
)

FIRST_PAGE = Page(1, 100)


def contents(account: str, tx: Transaction) -> list[tuple[list[Any], int]]:
    """Returns all resources of an account, with their totals."""
    subscribers = list_subscribers(account, tx)
    return [
        (subscribers.rows, subscribers.total),
        tags.page(account, FIRST_PAGE, tx),
        custom_fields.page(account, FIRST_PAGE, tx),
        accounts.page_of_keys(account, FIRST_PAGE, tx),
        SUPPRESSIONS.page(account, FIRST_PAGE, tx),
    ]


def fill(account: str, tx: Transaction) -> dict[str, str]:
    """Creates one resource of each type in an account, and returns the IDs by type."""
    field_id = field(account, tx, "city", "City")
    subscriber = SUBSCRIBERS.create(account, new("ada", "vip", values={"city": "Paris"}), tx)
    SUPPRESSIONS.add(account, [NewSuppression(email("gone").key, Reason.BOUNCED)], tx)
    return {
        "subscriber": subscriber.id,
        "tag": tags.ensure(account, {"vip": "vip"}, tx)["vip"].id,
        "field": field_id,
        "key": accounts.create_key(account, "key", "read", f"hash of {account}", tx).id,
    }


Use = Callable[[str, dict[str, str], Transaction], object]


@pytest.mark.parametrize(
    ("use", "missing"),
    [
        pytest.param(
            lambda a, i, tx: store_reading.find(a, i["subscriber"], tx),
            SubscriberNotFound,
            id="find subscriber",
        ),
        pytest.param(
            lambda a, i, tx: store_reading.find(a, email("ada"), tx),
            SubscriberNotFound,
            id="find subscriber by email",
        ),
        pytest.param(
            lambda a, i, tx: SUBSCRIBERS.update(
                a,
                i["subscriber"],
                Changes(email("eve"), profile("E", "E"), {"a": "a"}, {"city": "Rome"}),
                tx,
            ),
            SubscriberNotFound,
            id="update subscriber",
        ),
        pytest.param(
            lambda a, i, tx: change_status(a, i["subscriber"], Status.BOUNCED, tx, by_admin=True),
            SubscriberNotFound,
            id="change status",
        ),
        pytest.param(
            lambda a, i, tx: add_tags(a, i["subscriber"], {"new": "new"}, tx),
            SubscriberNotFound,
            id="add tags",
        ),
        pytest.param(
            lambda a, i, tx: remove_tags(a, i["subscriber"], {"vip"}, tx),
            SubscriberNotFound,
            id="remove tags",
        ),
        pytest.param(
            lambda a, i, tx: SUBSCRIBERS.delete(a, i["subscriber"], tx),
            SubscriberNotFound,
            id="delete subscriber",
        ),
        pytest.param(
            lambda a, i, tx: SUPPRESSIONS.find(a, email("gone").key, tx),
            SuppressionNotFound,
            id="find suppression",
        ),
        pytest.param(
            lambda a, i, tx: SUPPRESSIONS.delete(a, email("gone").key, tx),
            SuppressionNotFound,
            id="lift suppression",
        ),
        pytest.param(lambda a, i, tx: tags.find(a, i["tag"], tx), TagNotFound, id="find tag"),
        pytest.param(
            lambda a, i, tx: tags.update(a, i["tag"], {"name": "x"}, tx),
            TagNotFound,
            id="update tag",
        ),
        pytest.param(lambda a, i, tx: tags.delete(a, i["tag"], tx), TagNotFound, id="delete tag"),
        pytest.param(
            lambda a, i, tx: custom_fields.find(a, i["field"], tx),
            CustomFieldNotFound,
            id="find field",
        ),
        pytest.param(
            lambda a, i, tx: custom_fields.update(a, i["field"], {"label": "x"}, tx),
            CustomFieldNotFound,
            id="update field",
        ),
        pytest.param(
            lambda a, i, tx: custom_fields.delete(a, i["field"], tx),
            CustomFieldNotFound,
            id="delete field",
        ),
        pytest.param(
            lambda a, i, tx: accounts.rotate_key(a, i["key"], "new hash", tx),
            ApiKeyNotFound,
            id="rotate key",
        ),
        pytest.param(
            lambda a, i, tx: accounts.revoke_key(a, i["key"], tx), ApiKeyNotFound, id="revoke key"
        ),
    ],
)
def test_data_of_another_account_is_not_found_and_unchanged(
    tx: Transaction, use: Use, missing: type[RosterError]
) -> None:
    ids = fill(THEIRS, tx)
    before = contents(THEIRS, tx)

    with pytest.raises(missing):
        use(OURS, ids, tx)

    assert contents(THEIRS, tx) == before
    use(THEIRS, ids, tx)


def test_lists_and_counts_exclude_other_accounts(tx: Transaction) -> None:
    fill(THEIRS, tx)

    assert contents(OURS, tx) == [([], 0)] * 5
    assert [store.count(OURS, tx) for store in (tags, custom_fields)] == [0] * 2
    assert [total for _, total in contents(THEIRS, tx)] == [1] * 5


def test_two_accounts_can_store_equal_data(tx: Transaction) -> None:
    for account in (OURS, THEIRS):
        fill(account, tx)

    ours, theirs = contents(OURS, tx), contents(THEIRS, tx)
    assert [total for _, total in ours] == [total for _, total in theirs] == [1] * 5


def test_bulk_changes_only_its_account(tx: Transaction) -> None:
    fill(THEIRS, tx)
    field(OURS, tx)
    before = contents(THEIRS, tx)

    rows = {0: new("ada", "vip", values={"city": "Rome"}), 1: new("gone")}
    assert SUBSCRIBERS.create_many(OURS, rows, tx).row_errors == {}

    assert contents(THEIRS, tx) == before
    assert tags.count(OURS, tx) == 1


@pytest.mark.parametrize("kind", ["subscriber", "tag", "field"])
def test_deletion_keeps_tags_and_values_of_other_accounts(tx: Transaction, kind: str) -> None:
    ids = {account: fill(account, tx) for account in (OURS, THEIRS)}
    deletes: dict[str, Callable[[str, str, Transaction], Any]] = {
        "subscriber": SUBSCRIBERS.delete,
        "tag": tags.delete,
        "field": custom_fields.delete,
    }

    deletes[kind](OURS, ids[OURS][kind], tx)

    row = store_reading.find(THEIRS, ids[THEIRS]["subscriber"], tx)
    assert (row.tags, row.values) == (("vip",), {"city": "Paris"})
