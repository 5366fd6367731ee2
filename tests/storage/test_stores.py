"""What the stores keep, and that no account sees or touches another's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.accounts import store as accounts
from server.cli.beside import unit_of_work
from server.custom_fields import store as custom_fields
from server.custom_fields.rules import MAX_FIELDS, DataType
from server.emails import Email
from server.errors import (
    ApiKeyNotFound,
    CustomFieldAlreadyExists,
    CustomFieldLimitReached,
    CustomFieldNotFound,
    RosterError,
    SubscriberAlreadyExists,
    SubscriberNotFound,
    TagAlreadyExists,
    TagNotFound,
)
from server.paging import Page
from server.storage.transaction import Transaction
from server.subscribers import store as subscribers
from server.subscribers.rules import NewSubscriber, Status
from server.tags import store as tags
from server.tags.rules import distinct

OURS, THEIRS = "0" * 26, "1" * 26
FIRST_PAGE = Page(1, 100)


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Transaction]:
    """A transaction on a fresh file."""
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db") as transaction:
        yield transaction


def email(name: str) -> Email:
    """An address, whose key is its lower case."""
    return Email(f"{name}@example.com", f"{name.lower()}@example.com")


def new(name: str = "ada", *names: str) -> NewSubscriber:
    """A subscriber with this address and these tags."""
    return NewSubscriber(email(name), "Ada", "Love", Status.CONFIRMED, distinct(list(names)))


def field(account: str, tx: Transaction, key: str = "city", label: str = "City") -> str:
    """Stores a custom field and returns its id."""
    return custom_fields.create(account, key, label, DataType.TEXT, "", tx).id


def contents(account: str, tx: Transaction) -> list[Any]:
    """Returns everything that an account has."""
    return [
        subscribers.page(account, FIRST_PAGE, tx),
        tags.page(account, FIRST_PAGE, tx),
        custom_fields.page(account, FIRST_PAGE, tx),
        accounts.page_of_keys(account, FIRST_PAGE, tx),
    ]


def fill(account: str, tx: Transaction) -> dict[str, str]:
    """Gives an account one of each, and returns the ids by kind."""
    subscriber = subscribers.create(account, new("ada", "vip"), tx)
    return {
        "subscriber": subscriber.id,
        "tag": tags.ensure(account, {"vip": "vip"}, tx)["vip"].id,
        "field": field(account, tx),
        "key": accounts.create_key(account, "key", "read", f"hash of {account}", tx).id,
    }


Use = Callable[[str, dict[str, str], Transaction], object]


@pytest.mark.parametrize(
    ("use", "missing"),
    [
        pytest.param(
            lambda a, i, tx: subscribers.find(a, i["subscriber"], tx),
            SubscriberNotFound,
            id="find subscriber",
        ),
        pytest.param(
            lambda a, i, tx: subscribers.find_by_email(a, email("ada"), tx),
            SubscriberNotFound,
            id="find subscriber by email",
        ),
        pytest.param(
            lambda a, i, tx: subscribers.update(
                a, i["subscriber"], subscribers.Changes(email("eve"), "E", "E", {"a": "a"}), tx
            ),
            SubscriberNotFound,
            id="update subscriber",
        ),
        pytest.param(
            lambda a, i, tx: subscribers.delete(a, i["subscriber"], tx),
            SubscriberNotFound,
            id="delete subscriber",
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
def test_what_is_another_accounts_is_missing_and_stays_as_it_is(
    tx: Transaction, use: Use, missing: type[RosterError]
) -> None:
    ids = fill(THEIRS, tx)
    before = contents(THEIRS, tx)

    with pytest.raises(missing):
        use(OURS, ids, tx)

    assert contents(THEIRS, tx) == before
    use(THEIRS, ids, tx)


def test_lists_and_counts_hold_nothing_of_another_account(tx: Transaction) -> None:
    fill(THEIRS, tx)

    assert contents(OURS, tx) == [([], 0)] * 4
    assert [store.count(OURS, tx) for store in (subscribers, tags, custom_fields)] == [0] * 3
    assert [total for _, total in contents(THEIRS, tx)] == [1] * 4


def test_two_accounts_may_have_the_same_of_everything(tx: Transaction) -> None:
    for account in (OURS, THEIRS):
        fill(account, tx)

    ours, theirs = contents(OURS, tx), contents(THEIRS, tx)
    assert [total for _, total in ours] == [total for _, total in theirs] == [1] * 4


def test_bulk_and_its_tags_stay_in_the_account(tx: Transaction) -> None:
    fill(THEIRS, tx)
    before = contents(THEIRS, tx)

    assert subscribers.create_many(OURS, {0: new("ada", "vip")}, tx) == set()

    assert contents(THEIRS, tx) == before
    assert tags.count(OURS, tx) == 1


@pytest.mark.parametrize("kind", ["subscriber", "tag"])
def test_deletion_in_one_account_leaves_the_links_of_the_other(tx: Transaction, kind: str) -> None:
    ids = {account: fill(account, tx) for account in (OURS, THEIRS)}
    delete = {"subscriber": subscribers.delete, "tag": tags.delete}[kind]

    delete(OURS, ids[OURS][kind], tx)

    assert subscribers.find(THEIRS, ids[THEIRS]["subscriber"], tx).tags == ("vip",)


@pytest.mark.parametrize(
    "store", [accounts, tags, custom_fields, subscribers], ids=lambda store: store.__name__
)
def test_every_store_function_takes_the_account_first(store: Any) -> None:
    functions = {
        name: next(iter(inspect.signature(function).parameters))
        for name, function in inspect.getmembers(store, inspect.isfunction)
        if function.__module__ == store.__name__ and not name.startswith("_")
    }
    # Those that look past one account say so in their names.
    of_all = {"create_account", "list_accounts"} | {name for name in functions if "_any_" in name}

    assert {first for name, first in functions.items() if name not in of_all} == {"account_id"}


def test_bulk_stores_what_is_free_and_returns_the_rest(tx: Transaction) -> None:
    subscribers.create(OURS, new("ada"), tx)

    rows = {3: new("bob", "a"), 5: new("ADA", "b"), 8: new("eve", "A", "c")}

    assert subscribers.create_many(OURS, rows, tx) == {5}
    listed, total = subscribers.page(OURS, FIRST_PAGE, tx)
    assert [(row.email, row.tags) for row in listed] == [
        ("ada@example.com", ()),
        ("bob@example.com", ("a",)),
        ("eve@example.com", ("a", "c")),
    ]
    assert total == 3
    assert [row.name for row in tags.page(OURS, FIRST_PAGE, tx)[0]] == ["a", "c"]


def test_taken_address_is_refused_and_leaves_no_tag(tx: Transaction) -> None:
    subscribers.create(OURS, new("ada"), tx)

    with pytest.raises(SubscriberAlreadyExists):
        subscribers.create(OURS, new("Ada", "left over"), tx)
    assert tags.count(OURS, tx) == 0


def test_another_address_starts_again_unconfirmed_and_another_spelling_does_not(
    tx: Transaction,
) -> None:
    row = subscribers.create(OURS, new("ada"), tx)

    spelled = subscribers.update(OURS, row.id, subscribers.Changes(email("ADA")), tx)
    moved = subscribers.update(OURS, row.id, subscribers.Changes(email("eve")), tx)

    assert (spelled.email, spelled.status) == ("ADA@example.com", Status.CONFIRMED)
    assert (moved.email, moved.status) == ("eve@example.com", Status.UNCONFIRMED)
    assert subscribers.find(OURS, row.id, tx) == moved


def test_update_to_a_taken_address_is_refused(tx: Transaction) -> None:
    row = subscribers.create(OURS, new("ada"), tx)
    subscribers.create(OURS, new("eve"), tx)

    with pytest.raises(SubscriberAlreadyExists):
        subscribers.update(OURS, row.id, subscribers.Changes(email("EVE")), tx)
    assert subscribers.find(OURS, row.id, tx) == row


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(subscribers.Changes(), ("Ada", "Love", ("a", "b")), id="nothing"),
        pytest.param(subscribers.Changes(first_name=""), ("", "Love", ("a", "b")), id="clear"),
        pytest.param(subscribers.Changes(tags={}), ("Ada", "Love", ()), id="no tags"),
        pytest.param(subscribers.Changes(tags={"c": "c"}), ("Ada", "Love", ("c",)), id="replace"),
    ],
)
def test_update_changes_only_what_is_given(
    tx: Transaction, changes: subscribers.Changes, expected: tuple[Any, ...]
) -> None:
    row = subscribers.create(OURS, new("ada", "b", "a"), tx)

    changed = subscribers.update(OURS, row.id, changes, tx)

    assert (changed.first_name, changed.last_name, changed.tags) == expected
    assert subscribers.find(OURS, row.id, tx) == changed


def test_pages_are_in_order_of_creation_and_end_with_an_empty_one(tx: Transaction) -> None:
    made = [subscribers.create(OURS, new(name, "t", "u"), tx).id for name in "cab"]

    pages = [subscribers.page(OURS, Page(number, 2), tx) for number in (1, 2, 3)]

    assert [[row.id for row in rows] for rows, _ in pages] == [made[:2], made[2:], []]
    assert [total for _, total in pages] == [3, 3, 3]


def test_page_far_past_the_end_is_empty(tx: Transaction) -> None:
    subscribers.create(OURS, new(), tx)

    assert subscribers.page(OURS, Page(2**31 - 1, 100), tx) == ([], 1)


def test_newest_id_is_the_greatest_of_all_accounts(tx: Transaction) -> None:
    assert subscribers.newest_id_of_any_account(tx) is None
    owners = [accounts.create_account("a@x.de", tx, verified=True).id for _ in range(2)]

    made = [subscribers.create(owner, new(), tx).id for owner in (owners[1], owners[0])]

    assert subscribers.newest_id_of_any_account(tx) == made[-1]


def test_tag_takes_no_name_of_another_but_its_own_in_other_case(tx: Transaction) -> None:
    tag = tags.create(OURS, "vip", "pays", tx)
    tags.create(OURS, "new", "", tx)

    with pytest.raises(TagAlreadyExists):
        tags.create(OURS, "VIP", "", tx)
    with pytest.raises(TagAlreadyExists):
        tags.update(OURS, tag.id, {"name": "NEW"}, tx)
    assert tags.update(OURS, tag.id, {"name": "VIP"}, tx).description == "pays"


@pytest.mark.parametrize(
    ("key", "label"), [("city", "Town"), ("town", "CITY")], ids=["key", "label"]
)
def test_field_takes_no_key_and_no_label_of_another(tx: Transaction, key: str, label: str) -> None:
    field(OURS, tx)

    with pytest.raises(CustomFieldAlreadyExists):
        field(OURS, tx, key, label)


def test_field_keeps_its_key_when_its_label_changes(tx: Transaction) -> None:
    field_id = field(OURS, tx)
    field(OURS, tx, "street", "Street")

    assert custom_fields.update(OURS, field_id, {"label": "Town"}, tx).key == "city"
    with pytest.raises(CustomFieldAlreadyExists):
        custom_fields.update(OURS, field_id, {"label": "STREET"}, tx)


def test_account_has_at_most_100_fields(tx: Transaction) -> None:
    for number in range(MAX_FIELDS):
        field(OURS, tx, f"k{number}", f"Label {number}")

    with pytest.raises(CustomFieldLimitReached):
        field(OURS, tx)
    field(THEIRS, tx)


def test_key_is_found_by_its_hash_until_it_is_revoked(tx: Transaction) -> None:
    owner = accounts.create_account("a@x.de", tx, verified=False).id
    key = accounts.create_key(owner, "key", "write", "hash", tx, expires_at=5)

    assert accounts.identify_any_account("hash", tx) == (owner, key.id, "write", 5, False)
    assert accounts.verify_account(owner, tx)
    accounts.rotate_key(owner, key.id, "other", tx)
    assert accounts.identify_any_account("hash", tx) is None
    assert accounts.identify_any_account("other", tx) == (owner, key.id, "write", 5, True)
    accounts.revoke_key(owner, key.id, tx)
    assert accounts.identify_any_account("other", tx) is None


def test_verifying_a_missing_account_does_nothing(tx: Transaction) -> None:
    assert not accounts.verify_account(OURS, tx)
    assert accounts.find_account(OURS, tx) is None
