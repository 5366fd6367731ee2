"""Query plans of subscriber pages on SQLite: every page uses an index of the account.

The plans are those of the statements that a page runs, on a file with thousands of subscribers.
Costs that a plan does not show, such as a range scan far from the page, show in the steps of
SQLite's virtual machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import Any

import apsw
import pytest

from rosterd.server.features.accounts import store_keys
from rosterd.server.features.audit import store as audit
from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.operations import store as operations
from rosterd.server.features.segments import store as segments
from rosterd.server.features.subscribers.counters import store_counting
from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.features.subscribers.models import Subscriber
from rosterd.server.features.subscribers.query import plan, store_pages, store_search
from rosterd.server.features.subscribers.query.plan import (
    Counting,
    Order,
    PagePosition,
    is_short,
    plan_of,
)
from rosterd.server.features.subscribers.query.store_groups import count_groups
from rosterd.server.features.subscribers.query.store_pages import count_matches
from rosterd.server.features.subscribers.rules import NO_CONSENT_RECORD, NewSubscriber
from rosterd.server.features.subscribers.store_reading import ONE
from rosterd.server.features.tags import store as tags
from rosterd.server.features.webhooks.endpoints import store_reading as webhooks
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.statements import Statement, param
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.emails import Email

from ..cases import each
from .helpers import (
    EVERYONE,
    OURS,
    SUBSCRIBERS,
    SUPPRESSIONS,
    THEIRS,
    field,
    page,
    profile,
    tree_of,
)
from .recording import RecordingTransaction, Step

ROWS = 2_500
# One in this many subscribers has a rare status.
RARE = 250
TAGS = 7
LIMIT = 10


def many_subscribers() -> dict[int, NewSubscriber]:
    """Returns thousands of subscribers. Each tag and each status except one is frequent."""
    common = [Status.UNCONFIRMED, Status.CONFIRMED, Status.UNSUBSCRIBED]
    return {
        number: NewSubscriber(
            Email(f"u{number}@x.de", f"u{number}@x.de"),
            profile(f"First {number % 50}", f"Last {number % 70}"),
            Status.COMPLAINED if number % RARE == 0 else common[number % 3],
            {f"t{number % TAGS}": f"T{number % TAGS}"},
            {"city": "Paris"},
            NO_CONSENT_RECORD._replace(status_changed_at=number // 10 if number % 2 else None),
        )
        for number in range(ROWS)
    }


_REVISE = Statement(
    lambda _: Subscriber.update({Subscriber.revision: param("revision")}).where(ONE)
)


def revise(account: str, tx: Transaction) -> None:
    """Gives each subscriber a revision below ROWS, in another order than that of the IDs."""
    rows = page(account, EVERYONE, PagePosition(ROWS), tx).rows
    for number, row in enumerate(rows):
        tx.run(_REVISE, account_id=account, id=row.id, revision=number * 1_501 % ROWS)


@contextmanager
def small_buckets() -> Iterator[None]:
    """Reduces the sizes of counter buckets and groups, so that there are many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_counting, "BUCKET_SIZE", 20)
        patch.setattr(store_counting, "GROUP_SIZE", 8)
        yield


@pytest.fixture(scope="module")
def tx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Transaction]:
    """A read-only transaction on a file with many subscribers of two accounts."""
    path: Path = tmp_path_factory.mktemp("plans")
    with unit_of_work(f"sqlite:///{path}/roster.db") as transaction, small_buckets():
        for account in (OURS, THEIRS):
            field(account, transaction)
            SUBSCRIBERS.create_many(account, many_subscribers(), transaction)
            revise(account, transaction)
        yield transaction


@pytest.fixture(scope="module")
def ids(tx: Transaction) -> list[str]:
    """The IDs of the account, oldest first."""
    return [row.id for row in page(OURS, EVERYONE, PagePosition(ROWS), tx).rows]


FILTERS: dict[str, dict[str, Any]] = {
    "status": {"status": Status.CONFIRMED},
    "tag": {"tag": "t3"},
    "email": {"email": "u3@x.de"},
    "prefix": {"q": "u1"},
    "first id": {"first_id": 5},
    "end id": {"end_id": ROWS - 5},
    "updated": {"updated_after": ROWS // 2, "updated_before": ROWS - 5},
}
# Filters by revision, for a list in the order of changes.
BY_REVISION: dict[str, dict[str, Any]] = {
    "no filter": {},
    "updated after": {"updated_after": 5},
    "updated before": {"updated_before": ROWS - 5},
    "both": {"updated_after": 5, "updated_before": ROWS - 5},
}
SINGLE = list(combinations(FILTERS, 1))
ALL = [(), *SINGLE, *combinations(FILTERS, 2)]
# Filters with an index in list order, so that an index search finds the cursor.
IN_ORDER = [names for names in ALL if not {"email", "prefix", "updated"} & set(names)]


def named(names: tuple[str, ...]) -> str:
    return " and ".join(names) or "no filter"


each_filter = each("names", {named(names): names for names in ALL})
each_ordered_filter = each("names", {named(names): names for names in IN_ORDER})
each_order = pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
each_pagination = pytest.mark.parametrize("seeks", [False, True], ids=["offset", "seek"])


def filter_of(names: tuple[str, ...], ids: list[str]) -> Any:
    """Returns the combination of the named filters."""
    values = {key: value for name in names for key, value in FILTERS[name].items()}
    for bound in {"first_id", "end_id"} & values.keys():
        values[bound] = ids[values[bound]]
    return tree_of(**values)


def steps(tx: Transaction, filters: Any, position: PagePosition) -> list[Step]:
    """Returns the statements of a page. The first one reads it, unless it is found by counters.

    It also counts the matches, unless the page begins after an ID that is among the filters.
    """
    recording = RecordingTransaction(tx)
    page(OURS, filters, position, recording)
    assert len(recording.recorded) <= 3
    return recording.recorded


def middle(ids: list[str], *, seeks: bool, descending: bool) -> PagePosition:
    """Returns the position of a page in the middle of the list."""
    if seeks:
        return PagePosition(LIMIT, after=ids[ROWS // 2], descending=descending)
    return PagePosition(LIMIT, offset=ROWS // 20, descending=descending)


SEARCH = re.compile(
    r"SEARCH \w+ USING (?:PRIMARY KEY|(?:COVERING )?INDEX \w+) \((?P<by>account_id=\?.*)\)"
)
# Plan steps that scan a result or an argument, not a table.
HARMLESS = re.compile(r"SCAN (CONSTANT ROW|\(?subquery|json_each VIRTUAL TABLE|(candidate|first)$)")


def searches(step: Step) -> list[str]:
    """Returns the search conditions of each table. Asserts that no table is scanned."""
    scans = [line for line in step.plan if line.startswith("SCAN") and not HARMLESS.match(line)]
    assert scans == [], step
    found = [(line, SEARCH.fullmatch(line)) for line in step.plan if line.startswith("SEARCH")]
    assert [line for line, match in found if match is None] == [], step
    # The index of converted fields contains only these.
    others = [(line, match) for line, match in found if "custom_field_converted" not in line]
    return [match["by"] for _, match in others if match is not None]


@each_filter
@each_order
@each_pagination
def test_every_table_is_searched_by_account_and_filter(
    tx: Transaction, ids: list[str], names: tuple[str, ...], descending: bool, seeks: bool
) -> None:
    position = middle(ids, seeks=seeks, descending=descending)

    for step in steps(tx, filter_of(names, ids), position):
        # Only an unfiltered list scans all subscribers of the account.
        assert names == () or "account_id=?" not in searches(step), step
        assert searches(step)


def test_tags_and_values_of_a_row_are_found_by_its_subscriber(tx: Transaction) -> None:
    (step,) = steps(tx, EVERYONE, PagePosition(LIMIT))

    of_one = [line for line in step.plan if line.endswith("(account_id=? AND subscriber_id=?)")]
    assert len(of_one) == 2, step.plan


@each_filter
def test_statements_are_not_planned_again_for_each_execution(
    tx: Transaction, ids: list[str], names: tuple[str, ...]
) -> None:
    connection, planned = tx._database.connection(), []

    def note(*action: Any) -> int:
        planned.append(action)
        return apsw.SQLITE_OK

    def read() -> None:
        page(OURS, filter_of(names, ids), PagePosition(LIMIT), tx)

    # SQLite asks the authorizer each time that it plans a statement.
    connection.authorizer = note
    read()
    assert planned
    planned.clear()
    read()
    connection.authorizer = None

    assert planned == []


# A total that the statistics contain, which needs no index of the filter.
TOTAL_OF_STATISTICS = "SELECT COALESCE(SUM("
# A scan in the order of the list, which ends after a number of subscribers.
LIMITED_SCAN = 'AS "candidate"'
STATUS = "COVERING INDEX subscriber_account_id_status_id (account_id=? AND status=?"
TAG = (
    "COVERING INDEX subscribertag_account_id_tag_id_subscriber_id (account_id=? AND tag_id=?",
    "COVERING INDEX tag_account_id_name_key (account_id=? AND name_key=?)",
)
EMAIL = "INDEX subscriber_account_id_email_key (account_id=? AND email_key=?)"
REVISION = "INDEX subscriber_account_id_revision_id (account_id=? AND "
PREFIX = (
    "COVERING INDEX subscriber_account_id_email_key (account_id=? AND email_key>? AND email_key<?)",
    "COVERING INDEX subscriber_by_name (account_id=? AND name_key>? AND name_key<?)",
    "COVERING INDEX subscriber_by_last_name (account_id=? AND last_name_key>? AND last_name_key<?)",
)


@each(
    ("name", "expected"),
    [
        ("status", [STATUS]),
        ("tag", TAG),
        ("email", [EMAIL]),
        ("prefix", PREFIX),
        ("first id", ["(account_id=? AND id>?"]),
        ("end id", ["(account_id=? AND id"]),
        ("updated", [f"COVERING {REVISION}revision>? AND revision<?)"]),
    ],
)
@each_order
@each_pagination
def test_each_filter_uses_its_index(
    tx: Transaction,
    ids: list[str],
    name: str,
    expected: list[str],
    descending: bool,
    seeks: bool,
) -> None:
    position = middle(ids, seeks=seeks, descending=descending)

    for step in steps(tx, filter_of((name,), ids), position):
        if step.sql.startswith(TOTAL_OF_STATISTICS) or LIMITED_SCAN in step.sql:
            continue
        missing = [text for text in expected if not any(text in line for line in step.plan)]
        assert missing == [], step


@each(
    "text",
    [
        'email > "u"',
        "email.domain=x.de",
        'email.domain="ü*"',
        'firstName > "A"',
        'lastName > "A"',
        "statusChangedAt > 2020-01-01",
        "confirmedAt > 2020-01-01",
        "unsubscribedAt > 2020-01-01",
    ],
)
def test_scan_for_a_filter_reads_an_index_instead_of_the_rows(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(plan, "MAX_LOOKED_UP", 0)
    monkeypatch.setattr(plan, "MAX_CANDIDATES", 0)
    filters = tree_of(text, status=Status.CONFIRMED)

    recording = RecordingTransaction(tx)
    page(OURS, filters, PagePosition(LIMIT), recording)
    scans = [step for step in recording.recorded if "IS TRUE" in step.sql]

    assert scans
    for step in scans:
        assert any("COVERING INDEX subscriber_by_id" in line for line in step.plan), step


@each_ordered_filter
@each_order
@each_pagination
def test_rows_in_index_order_are_not_sorted(
    tx: Transaction, ids: list[str], names: tuple[str, ...], descending: bool, seeks: bool
) -> None:
    position = middle(ids, seeks=seeks, descending=descending)

    for step in steps(tx, filter_of(names, ids), position):
        assert not [line for line in step.plan if "TEMP B-TREE" in line], step


def page_of_audit(filters: audit.Filter, account: str, page: Page, tx: Transaction) -> None:
    audit.page(account, filters, page, tx)


# The pages of the other resources, and how a page after an item is searched.
RESOURCES: dict[str, tuple[Any, str]] = {
    "tags": (tags.page, "name_key>?"),
    "segments": (segments.page, "name_key>?"),
    "custom fields": (custom_fields.page, "id>?"),
    "webhooks": (webhooks.page, "id>?"),
    "API keys": (store_keys.page_of_keys, "id>?"),
    "operations": (operations.page, "id<?"),
    "audit entries": (partial(page_of_audit, audit.Filter()), "id<?"),
    "suppressions": (SUPPRESSIONS.page, "(created_at,email_hash)>(?,?)"),
}


@each(("page", "by"), RESOURCES)
def test_page_after_an_item_is_searched_by_its_key_in_order(
    tx: Transaction, page: Any, by: str
) -> None:
    recording = RecordingTransaction(tx)
    page(OURS, Page(1, LIMIT).following("0" * 26, 7), recording)

    read, _ = recording.recorded
    assert searches(read) == [f"account_id=? AND {by}"]
    assert not [line for line in read.plan if "TEMP B-TREE" in line], read


def test_audit_entries_of_a_resource_are_found_by_its_index(tx: Transaction) -> None:
    recording = RecordingTransaction(tx)
    page_of_audit(audit.Filter(resource_id="0" * 26), OURS, Page(1, LIMIT), recording)

    for step in recording.recorded:
        assert "account_id=? AND resource_id=?" in searches(step), step
        assert "account_id=?" not in searches(step), step


@each(
    ("filters", "position", "expected"),
    {
        "first page": (EVERYONE, PagePosition(LIMIT), True),
        "after an ID": (EVERYONE, PagePosition(LIMIT, after="0" * 26), True),
        "by change": (EVERYONE, PagePosition(LIMIT, order_by=Order.UPDATED), True),
        "offset": (EVERYONE, PagePosition(LIMIT, offset=1, order_by=Order.UPDATED), False),
        "total of a range": (tree_of(first_id="0" * 26), PagePosition(LIMIT), False),
    },
)
def test_short_page_reads_no_other_rows(
    filters: Any, position: PagePosition, expected: bool
) -> None:
    assert is_short(plan_of(filters).plan, position) is expected


@each_ordered_filter
@each_order
def test_cost_of_a_page_by_cursor_is_independent_of_its_position(
    tx: Transaction, ids: list[str], names: tuple[str, ...], descending: bool
) -> None:
    filters = filter_of(names, ids)
    places = [ids[300], ids[ROWS // 2], ids[-300]]

    costs = [
        steps(tx, filters, PagePosition(LIMIT, after=after, descending=descending))[0].machine_steps
        for after in places
    ]

    assert max(costs) < min(costs) * 1.2, costs


@each("bounds", BY_REVISION)
@each_order
def test_cost_of_a_page_in_order_of_changes_is_independent_of_its_position(
    tx: Transaction, bounds: dict[str, int], descending: bool
) -> None:
    filters = tree_of(**bounds)
    first = PagePosition(ROWS, descending=descending, order_by=Order.UPDATED)
    rows = page(OURS, EVERYONE, first, tx).rows

    pages = [
        steps(tx, filters, first._replace(limit=LIMIT, after=row.id, after_key=row.revision))
        for row in (rows[300], rows[ROWS // 2], rows[-300])
    ]

    for of_page, *others in pages:
        assert not bounds or any(REVISION in line for line in others[0].plan), others
        assert [line for line in of_page.plan if "TEMP B-TREE" in line] == []
        assert any(REVISION in line for line in of_page.plan), of_page
    costs = [of_page.machine_steps for of_page, *_ in pages]
    assert max(costs) < min(costs) * 1.2, costs


def test_total_up_to_a_number_of_changes_reads_no_more_of_them(tx: Transaction) -> None:
    recording = RecordingTransaction(tx)
    first = PagePosition(LIMIT, order_by=Order.UPDATED)
    found = page(OURS, tree_of(updated_after=5), first, recording, Counting(10))

    assert found.total == 10
    *_, total = recording.recorded
    assert total.machine_steps < ROWS, total


def test_total_of_nearly_all_changes_reads_no_more_of_them_than_the_others(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_pages, "MAX_OTHERS", 20)
    recording = RecordingTransaction(tx)
    first = PagePosition(LIMIT, order_by=Order.UPDATED)
    found = page(OURS, tree_of(updated_after=5), first, recording)

    assert found.total is not None
    assert 0 < found.total < ROWS
    assert sum(step.machine_steps for step in recording.recorded[1:]) < ROWS, recording.recorded


KEYS_OF_ROWS: dict[Order, tuple[str, Callable[[SubscriberRow], Any]]] = {
    Order.EMAIL: ("subscriber_account_id_email_key", attrgetter("email_key")),
    Order.LAST_NAME: ("subscriber_by_last_name", lambda row: row.last_name.lower() or None),
    Order.STATUS_CHANGED: ("subscriber_by_status_changed_at", attrgetter("status_changed_at")),
}


@each("order_by", list(KEYS_OF_ROWS))
@each_order
def test_cost_of_a_page_in_every_order_is_independent_of_its_position(
    tx: Transaction, order_by: Order, descending: bool
) -> None:
    index, key_of = KEYS_OF_ROWS[order_by]
    first = PagePosition(ROWS, descending=descending, order_by=order_by)
    rows = [row for row in page(OURS, EVERYONE, first, tx).rows if key_of(row) is not None]

    first = first._replace(limit=LIMIT)
    later = [
        first._replace(after=row.id, after_key=key_of(row))
        for row in (rows[100], rows[len(rows) // 2], rows[-100])
    ]
    pages = [steps(tx, EVERYONE, position) for position in (first, *later)]

    costs = []
    for of_page in pages:
        (read,) = [step for step in of_page if index in "".join(step.plan)]
        assert [line for line in read.plan if "TEMP B-TREE" in line] == []
        costs.append(read.machine_steps)
    assert max(costs) < min(costs) * 1.2, costs


# Reads the key of each match, instead of looking up each key in the matches.
OF_MATCHES = "SEARCH keyed USING PRIMARY KEY (account_id=? AND id=?)"


@each("order_by", list(KEYS_OF_ROWS))
@each("offset", {"first page": 0, "page by number": LIMIT})
def test_keys_of_few_matches_are_looked_up_and_sorted(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch, order_by: Order, offset: int
) -> None:
    monkeypatch.setattr(store_search, "UNKNOWN_FACTORS", ())
    filters = tree_of(tag="t3", q="u1")
    recording = RecordingTransaction(tx)
    page(OURS, filters, PagePosition(LIMIT, offset, order_by=order_by), recording)

    in_order = [step for step in recording.recorded if '"keyed"' in step.sql]
    assert in_order
    for step in in_order:
        assert OF_MATCHES in step.plan, step
        assert any("TEMP B-TREE FOR ORDER BY" in line for line in step.plan), step


@each(
    "filters",
    {
        "search": tree_of(q="u1"),
        "scan": tree_of('email:"1@"'),
        "set operations": tree_of("tags:t3 OR tags:t4"),
    },
)
@each("with_tags", {"by status": False, "by tag": True})
def test_matches_are_counted_by_group_with_a_lookup_of_each(
    tx: Transaction, filters: Any, with_tags: bool
) -> None:
    recording = RecordingTransaction(tx)
    count_groups(OURS, filters, recording, with_tags=with_tags)

    *_, step = recording.recorded
    lookups = [line for line in step.plan if line.startswith("SEARCH counted")]
    expected = [
        "SEARCH counted USING PRIMARY KEY (account_id=? AND id=?)",
        "SEARCH counted_link USING PRIMARY KEY (account_id=? AND subscriber_id=?)",
    ]
    assert lookups == expected[: 1 + with_tags], step


@each_order
def test_total_is_counted_behind_the_first_page_of_a_scan(
    tx: Transaction, descending: bool
) -> None:
    filters = tree_of('email:"1@"')
    recording = RecordingTransaction(tx)
    found = page(OURS, filters, PagePosition(LIMIT, descending=descending), recording)

    _, total = [step for step in recording.recorded if "LIKE" in step.sql]
    assert found.total == ROWS // 10
    assert searches(total) == [f"account_id=? AND id{'<' if descending else '>'}?"]


@each("kind", [DataType.TEXT, DataType.NUMBER])
@each_order
def test_two_custom_fields_are_compared_in_the_order_of_ids(
    tx: Transaction, kind: DataType, descending: bool
) -> None:
    filters = tree_of("customFields.city < customFields.town", {"city": kind, "town": kind})
    recording = RecordingTransaction(tx)
    page(OURS, filters, PagePosition(LIMIT, descending=descending), recording)
    count_matches(OURS, filters, recording)

    for step in [it for it in recording.recorded if '"second"' in it.sql]:
        values = [line for line in step.plan if line.startswith(("SEARCH value", "SEARCH second"))]
        assert "COVERING INDEX customvalue_account_id_key" in values[0], step
        assert values[1].startswith("SEARCH second"), step
        assert not [line for line in step.plan if "TEMP B-TREE" in line], step


@each_order
def test_unfiltered_page_by_offset_is_cheap_at_every_offset(
    tx: Transaction, descending: bool
) -> None:
    def cost(offset: int) -> int:
        found = steps(tx, EVERYONE, PagePosition(LIMIT, offset, descending=descending))
        return sum(step.machine_steps for step in found)

    costs = [cost(offset) for offset in range(0, ROWS, 7 * LIMIT)]

    # Reading past all subscribers takes at least one step per subscriber.
    assert max(costs) < costs[0] + ROWS // 2, costs


@each_order
@pytest.mark.parametrize(
    "bounds", [{}, {"first_id": 0}, {"end_id": ROWS - 1}], ids=["alone", "first id", "end id"]
)
def test_page_of_a_rare_status_takes_few_steps(
    tx: Transaction, ids: list[str], descending: bool, bounds: dict[str, int]
) -> None:
    filters = tree_of(status=Status.COMPLAINED, **{name: ids[at] for name, at in bounds.items()})

    (step,) = steps(tx, filters, PagePosition(LIMIT, descending=descending))

    # Reading all subscribers takes at least one step per subscriber.
    assert step.machine_steps < ROWS + 20 * ROWS // RARE
