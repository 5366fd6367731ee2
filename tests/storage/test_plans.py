"""How SQLite finds pages of subscribers: by an index of the account's own, whatever is asked for.

The plans are those of the very statements that a page runs, on a file with
thousands of subscribers. What a plan does not tell, such as that an index is
entered at a bound far from the page, shows in the steps of SQLite's machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from server.emails import Email
from server.storage.databases import unit_of_work
from server.storage.transaction import Transaction
from server.subscribers.counters import store_counting
from server.subscribers.fields import Status
from server.subscribers.rules import NewSubscriber
from server.subscribers.store_paging import Filter, PagePosition, page

from .helpers import (
    OURS,
    SUBSCRIBERS,
    THEIRS,
    field,
    profile,
)
from .watched import Step, Watched

ROWS = 2_500
# Every so many are of a rare status.
RARE = 250
TAGS = 7
LIMIT = 10


def made() -> dict[int, NewSubscriber]:
    """Returns thousands of subscribers: many of each status but one, and of each tag."""
    common = [Status.UNCONFIRMED, Status.CONFIRMED, Status.UNSUBSCRIBED]
    return {
        number: NewSubscriber(
            Email(f"u{number}@x.de", f"u{number}@x.de"),
            profile(f"First {number % 50}", f"Last {number % 70}"),
            Status.COMPLAINED if number % RARE == 0 else common[number % 3],
            {f"t{number % TAGS}": f"T{number % TAGS}"},
            {"city": "Paris"},
        )
        for number in range(ROWS)
    }


@contextmanager
def many_blocks() -> Iterator[None]:
    """Makes blocks of so few subscribers that thousands of these fill some chapters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_counting, "BUCKET_SIZE", 20)
        patch.setattr(store_counting, "GROUP_SIZE", 8)
        yield


@pytest.fixture(scope="module")
def tx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Transaction]:
    """A transaction on a file with many subscribers of two accounts; nothing is written to it."""
    path: Path = tmp_path_factory.mktemp("plans")
    with unit_of_work(f"sqlite:///{path}/roster.db") as transaction, many_blocks():
        for account in (OURS, THEIRS):
            field(account, transaction)
            SUBSCRIBERS.create_many(account, made(), transaction)
        yield transaction


@pytest.fixture(scope="module")
def ids(tx: Transaction) -> list[str]:
    """The ids of the account, oldest first."""
    return [row.id for row in page(OURS, Filter(), PagePosition(ROWS), tx).rows]


FILTERS: dict[str, dict[str, Any]] = {
    "status": {"status": Status.CONFIRMED},
    "tag": {"tag_key": "t3"},
    "email": {"email_key": "u3@x.de"},
    "prefix": {"prefix": "u1", "folded_prefix": "u1"},
    "first id": {"first_id": 5},
    "end id": {"end_id": ROWS - 5},
}
SINGLE = list(combinations(FILTERS, 1))
ALL = [(), *SINGLE, *combinations(FILTERS, 2)]
# Those whose index is in the order of the list, so that a place in it is found at once.
IN_ORDER = [names for names in ALL if not {"email", "prefix"} & set(names)]


def named(names: tuple[str, ...]) -> str:
    return " and ".join(names) or "no filter"


each_filter = pytest.mark.parametrize("names", ALL, ids=named)
each_in_order = pytest.mark.parametrize("names", IN_ORDER, ids=named)
each_order = pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
each_way = pytest.mark.parametrize("seeks", [False, True], ids=["offset", "seek"])


def wanted_of(names: tuple[str, ...], ids: list[str]) -> Filter:
    """Returns the filter of these names."""
    values = {key: value for name in names for key, value in FILTERS[name].items()}
    for bound in {"first_id", "end_id"} & values.keys():
        values[bound] = ids[values[bound]]
    return Filter(**values)


def steps(tx: Transaction, wanted: Filter, place: PagePosition) -> list[Step]:
    """Returns the statements of a page: the page itself, the count, and what else there is.

    By its number a page of everyone is found after the counts, by one statement more.
    """
    watched = Watched(tx)
    page(OURS, wanted, place, watched)
    assert 2 <= len(watched.seen) <= 3 + (wanted == Filter() and place.offset > 0)
    return watched.seen


def middle(ids: list[str], *, seeks: bool, descending: bool) -> PagePosition:
    """Returns a place in the middle of a list."""
    if seeks:
        return PagePosition(LIMIT, after=ids[ROWS // 2], descending=descending)
    return PagePosition(LIMIT, offset=ROWS // 20, descending=descending)


SEARCH = re.compile(
    r"SEARCH \w+ USING (?:PRIMARY KEY|(?:COVERING )?INDEX \w+) \((?P<by>account_id=\?.*)\)"
)
# What walks over a result, a list that was given or nothing, and over no table.
HARMLESS = re.compile(r"SCAN (CONSTANT ROW|\(?subquery|json_each VIRTUAL TABLE)")


def searches(step: Step) -> list[str]:
    """Returns by what each table is searched, after a look that none is walked as a whole."""
    scans = [line for line in step.plan if line.startswith("SCAN") and not HARMLESS.match(line)]
    assert scans == [], step
    found = [(line, SEARCH.fullmatch(line)) for line in step.plan if line.startswith("SEARCH")]
    assert [line for line, match in found if match is None] == [], step
    return [match["by"] for _, match in found if match is not None]


@each_filter
@each_order
@each_way
def test_every_table_is_searched_by_the_account_and_what_is_asked_for(
    tx: Transaction, ids: list[str], names: tuple[str, ...], descending: bool, seeks: bool
) -> None:
    place = middle(ids, seeks=seeks, descending=descending)

    for step in steps(tx, wanted_of(names, ids), place):
        # Only a list of everyone walks through all that an account has.
        assert names == () or "account_id=?" not in searches(step), step
        assert searches(step)


STATUS = "COVERING INDEX subscriber_account_id_status_id (account_id=? AND status=?"
TAG = (
    "COVERING INDEX subscribertag_account_id_tag_id_subscriber_id (account_id=? AND tag_id=?",
    "COVERING INDEX tag_account_id_name_key (account_id=? AND name_key=?)",
)
EMAIL = "INDEX subscriber_account_id_email_key (account_id=? AND email_key=?)"
PREFIX = (
    "COVERING INDEX subscriber_account_id_email_key (account_id=? AND email_key>? AND email_key<?)",
    "COVERING INDEX subscriber_by_email_unicode (account_id=? AND email_unicode_key>?"
    " AND email_unicode_key<?)",
    "COVERING INDEX subscriber_by_name (account_id=? AND name_key>? AND name_key<?)",
    "COVERING INDEX subscriber_by_last_name (account_id=? AND last_name_key>? AND last_name_key<?)",
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("status", [STATUS]),
        ("tag", TAG),
        ("email", [EMAIL]),
        ("prefix", PREFIX),
        ("first id", ["PRIMARY KEY (account_id=? AND id>?"]),
        ("end id", ["PRIMARY KEY (account_id=? AND id"]),
    ],
    ids=list(FILTERS),
)
@each_order
@each_way
def test_each_filter_has_its_index(
    tx: Transaction,
    ids: list[str],
    name: str,
    expected: list[str],
    descending: bool,
    seeks: bool,
) -> None:
    place = middle(ids, seeks=seeks, descending=descending)

    of_page, of_count, *_ = steps(tx, wanted_of((name,), ids), place)

    for step in (of_page, of_count):
        missing = [text for text in expected if not any(text in line for line in step.plan)]
        assert missing == [], step


@each_in_order
@each_order
@each_way
def test_what_an_index_has_in_order_is_not_sorted(
    tx: Transaction, ids: list[str], names: tuple[str, ...], descending: bool, seeks: bool
) -> None:
    place = middle(ids, seeks=seeks, descending=descending)

    for step in steps(tx, wanted_of(names, ids), place):
        assert not [line for line in step.plan if "TEMP B-TREE" in line], step


@each_in_order
@each_order
def test_page_that_is_sought_costs_the_same_wherever_it_is(
    tx: Transaction, ids: list[str], names: tuple[str, ...], descending: bool
) -> None:
    wanted = wanted_of(names, ids)
    places = [ids[300], ids[ROWS // 2], ids[-300]]

    costs = [
        steps(tx, wanted, PagePosition(LIMIT, after=after, descending=descending))[0].machine_steps
        for after in places
    ]

    assert max(costs) < min(costs) * 1.2, costs


@each_order
def test_page_of_everyone_costs_little_whatever_its_number_is(
    tx: Transaction, descending: bool
) -> None:
    def cost(offset: int) -> int:
        found = steps(tx, Filter(), PagePosition(LIMIT, offset, descending=descending))
        return sum(step.machine_steps for step in found)

    costs = [cost(offset) for offset in range(0, ROWS, 7 * LIMIT)]

    # It takes at least one step each to pass over everybody.
    assert max(costs) < costs[0] + ROWS // 2, costs


@each_order
@pytest.mark.parametrize(
    "bounds", [{}, {"first_id": 0}, {"end_id": ROWS - 1}], ids=["alone", "first id", "end id"]
)
def test_few_of_a_rare_status_cost_few_steps(
    tx: Transaction, ids: list[str], descending: bool, bounds: dict[str, int]
) -> None:
    wanted = Filter(status=Status.COMPLAINED, **{name: ids[at] for name, at in bounds.items()})

    of_page, of_count, *_ = steps(tx, wanted, PagePosition(LIMIT, descending=descending))

    # It takes at least one step each to look at everybody.
    assert of_page.machine_steps < ROWS
    assert of_count.machine_steps < 20 * ROWS // RARE


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM subscriber",
        "SELECT id FROM subscriber WHERE id > ''",
        "SELECT account_id FROM subscriber WHERE email_key = 'u3@x.de'",
    ],
)
def test_plan_that_walks_a_table_would_be_seen(tx: Transaction, sql: str) -> None:
    lines = tx._database.execute_sql(f"EXPLAIN QUERY PLAN {sql}").fetchall()

    with pytest.raises(AssertionError):
        searches(Step(sql, [detail for *_, detail in lines], 0))
