"""Filter expressions as set operations on both databases: merges in the order of an index."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from rosterd.server.features.custom_fields.store import types
from rosterd.server.features.subscribers.query import plan, store_pages
from rosterd.server.features.subscribers.query.plan import PagePosition
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.transaction import Transaction

from ..cases import each
from .filters import create_people
from .helpers import (
    OURS,
    page,
    statements_of,
    tree_of,
)
from .recording import RecordingTransaction, Step

MERGED = (
    "tags:vip AND tags:news",
    "tags:vip AND NOT tags:news",
    "tags:vip AND (status=CONFIRMED OR tags:news)",
    "tags:vip OR tags:news OR customFields.plan=pro",
    "NOT tags:vip AND NOT customFields.score > 1",
    "customFields.plan=pro AND customFields.active=true AND NOT status=CONFIRMED",
    "customFields.plan != pro AND customFields.born > 2024-01-01",
    "(firstName=Ada OR lastName=Ada) AND NOT tags:vip",
    "tags:vip OR NOT customFields.plan=pro OR tags:news",
)
# Their totals follow from statistics.
COUNTED = (
    "NOT tags:vip",
    "tags:vip AND status=CONFIRMED",
    "tags:vip AND NOT status=CONFIRMED",
    "tags:vip OR status=CONFIRMED",
    "NOT (tags:vip AND (status=CONFIRMED OR status=BOUNCED))",
)


_TOTAL = 'SELECT SUM("t1"."total") FROM "subscriber_bucket"'


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordingTransaction]:
    """A read-only transaction on a SQLite file."""
    with unit_of_work(f"sqlite:///{tmp_path_factory.mktemp('sets')}/roster.db") as tx:
        create_people(300, Random(3), tx)
        yield RecordingTransaction(tx)


@pytest.fixture(autouse=True)
def _no_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few subscribers are enough for these tests."""
    monkeypatch.setattr(plan, "MAX_LOOKED_UP", 0)


def steps(recording: RecordingTransaction, text: str, position: PagePosition) -> list[Step]:
    filters = tree_of(text, types(OURS, recording))
    recording.recorded.clear()
    page(OURS, filters, position, recording)
    # The number of all subscribers decides whether the matches are counted in halves.
    return [step for step in recording.recorded if not step.sql.startswith(_TOTAL)]


@each("text", MERGED)
@pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
def test_set_operations_are_merged_without_sorting(
    recording: RecordingTransaction, text: str, descending: bool
) -> None:
    *_, rows, total = steps(recording, text, PagePosition(1, descending=descending))

    for step in (rows, total):
        lines = [line for line in step.plan if "TEMP B-TREE" in line]
        assert lines == [], step
        assert any("MERGE" in line for line in step.plan), step
    of_values = [line for step in (rows, total) for line in step.plan if "customvalue_" in line]
    assert bool(of_values) == ("customFields" in text)
    assert all("COVERING INDEX" in line for line in of_values), of_values


@each("text", COUNTED)
def test_totals_of_one_tag_and_statuses_read_statistics_only(
    recording: RecordingTransaction, text: str
) -> None:
    *totals, _ = steps(recording, text, PagePosition(5))

    assert totals
    for step in totals:
        assert 'FROM "statistic"' in step.sql
        assert '"subscriber' not in step.sql


def test_page_of_an_expression_takes_five_statements_and_one_for_each_name(
    tx: Transaction,
) -> None:
    create_people(50, Random(3), tx)

    for text in (*MERGED, *COUNTED):
        filters = tree_of(text, types(OURS, tx))
        for position in (PagePosition(5), PagePosition(5, after=OURS)):
            count = statements_of(tx, partial(page, OURS, filters, position, tx))
            assert count <= 5 + text.count("Name"), text


def test_last_page_of_an_expression_is_read_without_counting_matches(
    recording: RecordingTransaction,
) -> None:
    text = "customFields.plan=pro OR tags:news"
    *_, whole = steps(recording, text, PagePosition(300))
    matches = steps(recording, text, PagePosition(1))[-1]

    assert "LIMIT" in whole.sql
    assert "COUNT" in matches.sql


@each(
    "text",
    (
        "email.domain=example.com AND status=CONFIRMED",
        "confirmedAt > 2020-01-01 OR NOT status=CONFIRMED",
        'firstName=Ada AND (lastName="A*" OR status=CONFIRMED)',
    ),
)
def test_status_is_checked_by_a_scan_for_other_conditions(
    recording: RecordingTransaction, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_CANDIDATES", 0)
    *_, rows, total = steps(recording, text, PagePosition(1))

    for step in (rows, total):
        lines = [line for line in step.plan if "subscriber_account_id_status_id" in line]
        assert lines == [], step
        assert not any("MERGE" in line for line in step.plan), step


OF_ADDRESSES = ('email="ada*" AND status=CONFIRMED', 'email="ada*" AND tags:vip')
ADDRESS_INDEX = "subscriber_account_id_email_key"


@each("text", ('email="ada*"', *OF_ADDRESSES))
def test_few_addresses_with_a_prefix_are_found_by_their_index(
    recording: RecordingTransaction, text: str
) -> None:
    *_, ids, rows = steps(recording, text, PagePosition(1))

    assert any(ADDRESS_INDEX in line for line in ids.plan), ids
    assert any("USING PRIMARY KEY (account_id=? AND id=?)" in line for line in rows.plan), rows


@each(
    ("text", "index"),
    (
        ("email.domain=example.com", "domain"),
        ('email.domain="ex*" AND firstName=Ada AND tags:vip', "domain"),
        ('email.domain="bü*"', "email_unicode"),
    ),
)
def test_few_addresses_with_a_domain_are_found_by_their_index(
    recording: RecordingTransaction, text: str, index: str
) -> None:
    *_, ids, rows = steps(recording, text, PagePosition(1))

    assert any(f"COVERING INDEX subscriber_by_{index} " in line for line in ids.plan), ids
    assert any("USING PRIMARY KEY (account_id=? AND id=?)" in line for line in rows.plan), rows


@pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
def test_page_of_a_common_domain_reads_the_index_of_domains_in_order(
    recording: RecordingTransaction, descending: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_CANDIDATES", 0)
    position = PagePosition(1, descending=descending)
    *_, ids, _ = steps(recording, "email.domain=example.com", position)

    index = "COVERING INDEX subscriber_by_domain (account_id=? AND <expr>=?)"
    assert any(index in line for line in ids.plan), ids
    assert not any("TEMP B-TREE" in line for line in ids.plan), ids


@each(
    "text",
    (
        "email.domain=example.com",
        "NOT email.domain=example.com",
        'email.domain="ex*"',
        "email.domain=example.com AND tags:vip",
        "email.domain=example.com OR email.domain=example.org",
    ),
)
def test_total_of_a_common_domain_does_not_read_the_row_of_each_subscriber(
    recording: RecordingTransaction, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_CANDIDATES", 0)
    *_, total = steps(recording, text, PagePosition(1))

    # SQLite reads the row for each entry of an index of an expression, even if it contains all.
    assert "COUNT" in total.sql
    assert not any("subscriber_by_domain" in line for line in total.plan), total


def test_few_addresses_with_a_domain_are_not_counted_in_halves(
    recording: RecordingTransaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_pages, "MIN_DIVIDED", 2)
    position = PagePosition(1, after="0" * 26)
    found = steps(recording, "email.domain=example.com AND tags:vip", position)

    assert len([step for step in found if 'AS "ids"' in step.sql]) == 1, found


@each(
    "text",
    ('email.domain="ex*"', 'email.domain="bü*"', 'email.domain:"x"', 'email:"a"', 'name:"a"'),
)
def test_many_subscribers_with_a_part_of_a_text_are_scanned_in_order(
    recording: RecordingTransaction, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_CANDIDATES", 0)
    *_, ids, total = steps(recording, text, PagePosition(1))

    assert any("COVERING INDEX subscriber_by_id" in line for line in ids.plan), ids
    # The total is not read in order.
    assert any("COVERING INDEX" in line for line in total.plan), total


def test_required_name_is_counted_before_domains_that_are_not_required(
    recording: RecordingTransaction,
) -> None:
    others = " AND ".join(f"email.domain != {number}.example" for number in range(3))
    *_, ids, _ = steps(recording, f"{others} AND firstName=Ada", PagePosition(1))

    assert any("subscriber_by_name" in line for line in ids.plan), ids


@each("text", OF_ADDRESSES)
def test_many_addresses_with_a_prefix_are_scanned_in_order(
    recording: RecordingTransaction, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_CANDIDATES", 0)
    *_, rows, total = steps(recording, text, PagePosition(1))

    for step in (rows, total):
        assert not any(ADDRESS_INDEX in line for line in step.plan), step


def test_first_match_of_a_merge_does_not_read_all_operands(tmp_path: Path) -> None:
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db") as tx:
        create_people(1_000, Random(4), tx)
        recording = RecordingTransaction(tx)
        text = "customFields.active=true AND NOT tags:vip"
        first, total = steps(recording, text, PagePosition(2))

    assert first.machine_steps < total.machine_steps // 4


def test_conditions_are_looked_up_for_few_subscribers_of_a_tag(
    recording: RecordingTransaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "tags:vip AND customFields.plan:* AND NOT customFields.score > 1"
    *_, merged = steps(recording, text, PagePosition(1))
    monkeypatch.setattr(plan, "MAX_LOOKED_UP", 1_000)
    size, looked_up = steps(recording, text, PagePosition(5))

    assert any("MERGE" in line for line in merged.plan)
    assert size.machine_steps < 100
    assert not any("MERGE" in line for line in looked_up.plan)
    tags = [line for line in looked_up.plan if "subscribertag" in line]
    assert any("(account_id=? AND tag_id=?)" in line for line in tags)
    # The tags of the subscribers of the page are read too.
    assert all("tag_id=?)" in line or "subscriber_id=?)" in line for line in tags)
