"""What the stores keep, and that no account sees or touches another's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from server.accounts import store as accounts
from server.custom_fields import store as custom_fields
from server.custom_fields.rules import MAX_FIELDS
from server.errors import (
    ApiKeyNotFound,
    CustomFieldAlreadyExists,
    CustomFieldLimitReached,
    CustomFieldNotFound,
    RosterError,
    SubscriberAlreadyExists,
    SubscriberNotFound,
    SuppressionNotFound,
    TagAlreadyExists,
    TagNotFound,
)
from server.idempotency import store as answers
from server.idempotency.store import Kept
from server.ids import Ids, first_id_at, moment_of
from server.paging import Page
from server.storage.transaction import Transaction
from server.subscribers import store_reading
from server.subscribers.rules import Failure, Status
from server.subscribers.store import (
    Changes,
    SubscriberStore,
    add_tags,
    change_status,
    remove_tags,
)
from server.subscribers.store_paging import Place
from server.suppressions.store import Suppressions
from server.tags import store as tags

from .helpers import (
    OURS,
    SUBSCRIBERS,
    SUPPRESSIONS,
    THEIRS,
    email,
    field,
    listed,
    new,
    stores,
)

FIRST_PAGE = Page(1, 100)


def contents(account: str, tx: Transaction) -> list[tuple[list[Any], int]]:
    """Returns everything that an account has, and how much of each."""
    subscribers = listed(account, tx)
    return [
        (subscribers.rows, subscribers.total),
        tags.page(account, FIRST_PAGE, tx),
        custom_fields.page(account, FIRST_PAGE, tx),
        accounts.page_of_keys(account, FIRST_PAGE, tx),
        SUPPRESSIONS.page(account, FIRST_PAGE, tx),
    ]


def fill(account: str, tx: Transaction) -> dict[str, str]:
    """Gives an account one of each, and returns the ids by kind."""
    field_id = field(account, tx, "city", "City")
    subscriber = SUBSCRIBERS.create(account, new("ada", "vip", values={"city": "Paris"}), tx)
    SUPPRESSIONS.add(account, email("gone").key, Status.BOUNCED, tx)
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
            lambda a, i, tx: store_reading.find_by_email(a, email("ada"), tx),
            SubscriberNotFound,
            id="find subscriber by email",
        ),
        pytest.param(
            lambda a, i, tx: SUBSCRIBERS.update(
                a,
                i["subscriber"],
                Changes(email("eve"), "E", "E", {"a": "a"}, {"city": "Rome"}),
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
            lambda a, i, tx: SUPPRESSIONS.lift(a, email("gone").key, tx),
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

    assert contents(OURS, tx) == [([], 0)] * 5
    assert [store.count(OURS, tx) for store in (tags, custom_fields)] == [0] * 2
    assert [total for _, total in contents(THEIRS, tx)] == [1] * 5


def test_two_accounts_may_have_the_same_of_everything(tx: Transaction) -> None:
    for account in (OURS, THEIRS):
        fill(account, tx)

    ours, theirs = contents(OURS, tx), contents(THEIRS, tx)
    assert [total for _, total in ours] == [total for _, total in theirs] == [1] * 5


def test_bulk_with_its_tags_and_values_stays_in_the_account(tx: Transaction) -> None:
    fill(THEIRS, tx)
    field(OURS, tx)
    before = contents(THEIRS, tx)

    rows = {0: new("ada", "vip", values={"city": "Rome"}), 1: new("gone")}
    assert SUBSCRIBERS.create_many(OURS, rows, tx).refused == {}

    assert contents(THEIRS, tx) == before
    assert tags.count(OURS, tx) == 1


@pytest.mark.parametrize("kind", ["subscriber", "tag", "field"])
def test_deletion_in_one_account_leaves_what_hangs_on_subscribers_of_the_other(
    tx: Transaction, kind: str
) -> None:
    ids = {account: fill(account, tx) for account in (OURS, THEIRS)}
    deletes: dict[str, Callable[[str, str, Transaction], None]] = {
        "subscriber": SUBSCRIBERS.delete,
        "tag": tags.delete,
        "field": custom_fields.delete,
    }

    deletes[kind](OURS, ids[OURS][kind], tx)

    row = store_reading.find(THEIRS, ids[THEIRS]["subscriber"], tx)
    assert (row.tags, row.values) == (("vip",), {"city": "Paris"})


def public_functions(store: ModuleType) -> dict[str, list[str]]:
    """Returns the names of the parameters of what a store offers, less `self`."""
    found = dict(inspect.getmembers(store, inspect.isfunction))
    for kind, cls in inspect.getmembers(store, inspect.isclass):
        if cls in (SubscriberStore, Suppressions):
            methods = inspect.getmembers(cls, inspect.isfunction)
            found |= {f"{kind}.{name}": method for name, method in methods}
    return {
        name: [p for p in inspect.signature(function).parameters if p != "self"]
        for name, function in found.items()
        if function.__module__ == store.__name__ and not name.rpartition(".")[2].startswith("_")
    }


# Those that look past one account say so in their names.
OF_ALL = {"create_account", "list_accounts"}


@pytest.mark.parametrize("store", stores(), ids=lambda store: store.__name__)
def test_every_store_function_that_reaches_the_database_takes_the_account_first(
    store: ModuleType,
) -> None:
    functions = {name: names for name, names in public_functions(store).items() if "tx" in names}

    others = {name for name in functions if name in OF_ALL or "_any_" in name}
    assert {names[0] for name, names in functions.items() if name not in others} <= {"account_id"}


def test_what_stores_offer_is_seen() -> None:
    seen = {name for store in stores() for name in public_functions(store)}

    assert {"SubscriberStore.create", "Suppressions.lift", "page", "find", "keep"} <= seen


def test_bulk_stores_what_is_free_and_tells_ids_and_refusals(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new("ada"), tx)

    rows = {3: new("bob", "a"), 5: new("ADA", "b"), 8: new("eve", "A", "c")}
    taken = SUBSCRIBERS.create_many(OURS, rows, tx)

    assert {i: refused.failure for i, refused in taken.refused.items()} == {
        5: Failure.ALREADY_EXISTS
    }
    found = listed(OURS, tx)
    assert [(row.email, row.tags) for row in found.rows] == [
        ("ada@example.com", ()),
        ("bob@example.com", ("a",)),
        ("eve@example.com", ("a", "c")),
    ]
    assert taken.ids == {3: found.rows[1].id, 8: found.rows[2].id}
    assert found.total == 3
    assert [row.name for row in tags.page(OURS, FIRST_PAGE, tx)[0]] == ["a", "c"]


def test_taken_address_is_refused_and_leaves_no_tag(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new("ada"), tx)

    with pytest.raises(SubscriberAlreadyExists):
        SUBSCRIBERS.create(OURS, new("Ada", "left over"), tx)
    assert tags.count(OURS, tx) == 0


def test_another_address_starts_again_unconfirmed_and_another_spelling_does_not(
    tx: Transaction,
) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada"), tx)

    spelled = SUBSCRIBERS.update(OURS, row.id, Changes(email("ADA")), tx)
    moved = SUBSCRIBERS.update(OURS, row.id, Changes(email("eve")), tx)

    assert (spelled.email, spelled.status) == ("ADA@example.com", Status.CONFIRMED)
    assert (moved.email, moved.status) == ("eve@example.com", Status.UNCONFIRMED)
    assert store_reading.find(OURS, row.id, tx) == moved


def test_update_to_a_taken_address_is_refused(tx: Transaction) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada"), tx)
    SUBSCRIBERS.create(OURS, new("eve"), tx)

    with pytest.raises(SubscriberAlreadyExists):
        SUBSCRIBERS.update(OURS, row.id, Changes(email("EVE")), tx)
    assert store_reading.find(OURS, row.id, tx) == row


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(Changes(), ("Ada", "Love", ("a", "b")), id="nothing"),
        pytest.param(Changes(first_name=""), ("", "Love", ("a", "b")), id="clear"),
        pytest.param(Changes(tags={}), ("Ada", "Love", ()), id="no tags"),
        pytest.param(Changes(tags={"c": "c"}), ("Ada", "Love", ("c",)), id="replace"),
    ],
)
def test_update_changes_only_what_is_given(
    tx: Transaction, changes: Changes, expected: tuple[Any, ...]
) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada", "b", "a"), tx)

    changed = SUBSCRIBERS.update(OURS, row.id, changes, tx)

    assert (changed.first_name, changed.last_name, changed.tags) == expected
    assert store_reading.find(OURS, row.id, tx) == changed


def test_status_moves_and_nothing_else_with_it(tx: Transaction) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada", "vip"), tx)

    moved = change_status(OURS, row.id, Status.BOUNCED, tx, by_admin=False)

    assert moved == row._replace(status=Status.BOUNCED)
    assert store_reading.find(OURS, row.id, tx) == moved


def test_tags_are_added_and_removed_one_by_one(tx: Transaction) -> None:
    row = SUBSCRIBERS.create(OURS, new("ada", "Vip", "a"), tx)

    added = add_tags(OURS, row.id, {"vip": "VIP", "b": "B"}, tx)
    assert added.tags == ("a", "B", "Vip")
    assert store_reading.find(OURS, row.id, tx) == added

    removed = remove_tags(OURS, row.id, {"vip", "nothing"}, tx)
    assert removed.tags == ("a", "B")
    assert store_reading.find(OURS, row.id, tx) == removed


def test_pages_are_in_order_of_creation_and_end_with_an_empty_one(tx: Transaction) -> None:
    made = [SUBSCRIBERS.create(OURS, new(name, "t", "u"), tx).id for name in "cab"]

    pages = [listed(OURS, tx, place=Place(2, offset)) for offset in (0, 2, 4)]

    assert [[row.id for row in found.rows] for found in pages] == [made[:2], made[2:], []]
    assert [found.total for found in pages] == [3, 3, 3]
    assert [found.more for found in pages] == [True, False, False]


def test_page_far_past_the_end_is_empty(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new(), tx)

    assert listed(OURS, tx, place=Place(100, 100 * 2**31)) == ([], 1, False)


@pytest.mark.parametrize("clock", [1_000_000, 9_000_000], ids=["behind the ids", "ahead of them"])
def test_subscriber_is_created_at_the_moment_of_its_id(tx: Transaction, clock: int) -> None:
    ids = Ids(lambda: clock)
    ids.start_past(first_id_at(5_000_000))
    tx._ids, tx.now = ids, clock

    one = SUBSCRIBERS.create(OURS, new("one"), tx)
    SUBSCRIBERS.create_many(OURS, {0: new("two"), 1: new("three")}, tx)

    rows = listed(OURS, tx).rows
    assert [row.created_at for row in rows] == [moment_of(row.id) for row in rows]
    assert {row.created_at for row in rows} == {max(clock, 5_000_000)}
    assert rows[0] == one


def test_newest_id_is_the_greatest_of_all_accounts(tx: Transaction) -> None:
    assert store_reading.newest_id_of_any_account(tx) is None
    owners = [accounts.create_account("a@x.de", tx, verified=True).id for _ in range(2)]

    made = [SUBSCRIBERS.create(owner, new(), tx).id for owner in (owners[1], owners[0])]

    assert store_reading.newest_id_of_any_account(tx) == made[-1]


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
    field(OURS, tx, "city", "City")

    with pytest.raises(CustomFieldAlreadyExists):
        field(OURS, tx, key, label)


def test_field_keeps_its_key_when_its_label_changes(tx: Transaction) -> None:
    field_id = field(OURS, tx, "city", "City")
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


def test_answer_is_kept_for_a_key_of_one_account(tx: Transaction) -> None:
    answers.keep(OURS, "key", Kept("ours", b"1"), tx)

    assert answers.find(THEIRS, "key", tx) is None
    answers.keep(THEIRS, "key", Kept("theirs", b"2"), tx)
    assert answers.find(OURS, "key", tx) == ("ours", b"1")
    assert answers.find(THEIRS, "key", tx) == ("theirs", b"2")
