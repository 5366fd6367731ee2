"""The migrations of stored rows, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pytest
from playhouse.migrations import Runner

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.events import store_reading as events
from rosterd.server.features.events.store import has_webhooks
from rosterd.server.features.events.store_subscriber import events_about
from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations.store import event_key
from rosterd.server.features.operations.store_steps import Selection, Steps
from rosterd.server.features.statistics.rules import STATUS, TAG
from rosterd.server.features.statistics.store import flows, tag_totals, totals
from rosterd.server.features.subscribers.counters.store_pages import total
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.rules import search_keys
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.features.subscribers.value_keys import value_keys
from rosterd.server.features.webhooks.delivery import store_deliveries as deliveries
from rosterd.server.features.webhooks.delivery.store_queue import Queue, lock
from rosterd.server.features.webhooks.delivery.store_replays import ReplayStore
from rosterd.server.rpc.idempotency import store as idempotency
from rosterd.server.rpc.paging import Page
from rosterd.server.storage import backfill, schema_version
from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.databases import finish_backfills, unit_of_work
from rosterd.server.storage.postgres import connection
from rosterd.server.storage.sqlite.file import connect, prepare

from .filters import FIELDS
from .helpers import OURS, SUPPRESSIONS, THEIRS, select

# A table, and the values of a row by column.
Row = tuple[str, dict[str, Any]]
# Returns the URL of a database with the schema of a migration and these rows.
Stored = Callable[[str, Iterable[Row]], str]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.verify)])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Stored:
    def store(before: str, rows: Iterable[Row]) -> str:
        if request.param == "sqlite":
            address = f"sqlite:///{tmp_path}/roster.db"
            database: Any = connect(tmp_path / "roster.db")
            prepare(database)
        else:
            address = request.getfixturevalue("postgres").new_database()
            database = connection.connect(address)
        with closing(database):
            schema_version.create_table(database)
            Runner(database, str(migrations.DIRECTORY)).up(before)
            for table, values in rows:
                marks = ", ".join([database.param] * len(values))
                text = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"
                database.execute_sql(text, tuple(values.values()))
            if request.param == "postgres":
                database.commit()
        return address

    return store


def subscriber(account_id: str, number: int, status: int = 1, **others: Any) -> Row:
    email, names = f"{number}@x.de", {"first_name": "Ada", "last_name": "", "created_at": 1}
    key = {"account_id": account_id, "id": f"{number:02}", "email": email, "email_key": email}
    return "subscriber", key | names | {"status": status} | others


def tagged(account_id: str, statuses: Iterable[int]) -> list[Row]:
    """Returns a tag, and subscribers that have it."""
    key = {"account_id": account_id, "id": "vip", "name": "vip", "name_key": "vip"}
    rows: list[Row] = [("tag", {**key, "description": "", "created_at": 1})]
    for number, status in enumerate(statuses):
        rows.append(subscriber(account_id, number, status))
        link = {"account_id": account_id, "subscriber_id": f"{number:02}", "tag_id": "vip"}
        rows.append(("subscriber_tag", link))
    return rows


def test_accounts_that_share_an_address_are_kept_and_new_ones_rejected(stored: Stored) -> None:
    emails = {
        "01A": "Ada@Example.com",
        "01B": "ada@example.com",
        "01C": "bob@bücher.de",
        "01D": "bob@xn--bcher-kva.de",
        "01E": "not an address",
    }
    rows = [
        ("account", {"id": id_, "email": email, "email_verified": True, "created_at": 1})
        for id_, email in emails.items()
    ]
    url = stored("0003_events_webhooks", rows)

    with unit_of_work(url) as tx:
        assert {row.id: row.email for row in accounts.list_accounts(tx)} == emails
    for email, oldest in {"ADA@example.com": "01A", "bob@bücher.de": "01C"}.items():
        with pytest.raises(accounts.AccountExists) as refused, unit_of_work(url) as tx:
            accounts.create_account(email, tx, verified=True)
        assert refused.value.account_id == oldest


def test_stored_subscribers_are_counted_by_status_and_tag(stored: Stored) -> None:
    url = stored("0006_consent_and_history", [*tagged(OURS, (1, 2, 2)), *tagged(THEIRS, (3,))])

    with unit_of_work(url) as tx:
        assert totals(OURS, STATUS, tx) == {"1": 1, "2": 2}
        assert totals(OURS, TAG, tx) == {"vip:1": 1, "vip:2": 2}
        assert totals(THEIRS, STATUS, tx) == {"3": 1}
        assert flows(OURS, 1, 100_000, tx) == {}


def test_total_of_a_tag_is_divided_by_status(stored: Stored) -> None:
    total = {"account_id": OURS, "day": 0, "name": "tag:vip", "total": 3}
    url = stored("0009_account_branding", [*tagged(OURS, (1, 2, 2)), ("statistic", total)])

    with unit_of_work(url) as tx:
        assert totals(OURS, TAG, tx) == {"vip:1": 1, "vip:2": 2}
        assert tag_totals(OURS, tx) == {"vip": 3}


def test_stored_values_get_the_keys_of_new_ones(stored: Stored) -> None:
    values = [(key, value) for key, (_, values) in FIELDS.items() for value in values]
    rows: list[Row] = [subscriber(OURS, number, name_key="ada") for number in range(len(values))]
    for key, (data_type, _) in FIELDS.items():
        names = {"account_id": OURS, "id": key, "key": key, "label": key, "label_key": key}
        others = {"data_type": int(data_type), "fallback": "", "created_at": 1, "updated_at": 1}
        rows.append(("custom_field", names | others))
    for number, (key, value) in enumerate(values):
        of_one = {"account_id": OURS, "subscriber_id": f"{number:02}", "key": key}
        rows.append(("custom_value", {**of_one, "value": orjson.dumps(value).decode()}))
    url = stored("0009_account_branding", rows)

    with unit_of_work(url) as tx:
        text = "SELECT subscriber_id, key, text_key, number_key FROM custom_value ORDER BY 1"
        found = select(text, tx)
    assert found == [(f"{n:02}", key, *value_keys(value)) for n, (key, value) in enumerate(values)]
    assert {DataType(data_type) for data_type, _ in FIELDS.values()} == set(DataType)


def test_stored_subscribers_get_a_revision_and_keep_their_events(stored: Stored) -> None:
    rows = []
    for account in (OURS, THEIRS):
        rows += [subscriber(account, number, created_at=1000 + number) for number in range(3)]
        for sequence, key in enumerate(("subscriber", "tag")):
            envelope = orjson.dumps({"id": "x", "data": {key: {"id": "01"}}}).decode()
            kind = f"{key}.created"
            event = {"id": kind, "kind": kind, "envelope": envelope, "created_at": 1}
            rows.append(("event", {"account_id": account, "sequence": sequence, **event}))
    url = stored("0005_international_domains", rows)

    with unit_of_work(url) as tx:
        found = [find(account, f"{n:02}", tx) for account in (OURS, THEIRS) for n in range(3)]
        assert [row.revision for row in found] == [1_000_000, 1_001_000, 1_002_000] * 2
        assert {row[7:13] for row in found} == {(None,) * 6}
        for account in (OURS, THEIRS):
            events = events_about(account, "01", 0, tx)
            assert [event.id for event in events] == ["subscriber.created"]
        row = change_status(OURS, "01", Status.UNSUBSCRIBED, tx, by_admin=False)
        history = select("SELECT account_id, subscriber_id, changes FROM subscriber_history", tx)
    assert (row.revision, row.unsubscribed_at) == (tx.now * 1000, tx.now)
    assert history == [(OURS, "01", '{"from":"UNCONFIRMED","to":"UNSUBSCRIBED"}')]


def test_stored_subscribers_have_no_status_revision_until_their_status_changes(
    stored: Stored,
) -> None:
    url = stored("0015_index_of_domains", [subscriber(OURS, 1, revision=1000)])

    with unit_of_work(url) as tx:
        before = find(OURS, "01", tx)
        after = change_status(OURS, "01", Status.BOUNCED, tx, by_admin=False)
        assert find(OURS, "01", tx) == after
    assert (before.revision, before.status_revision) == (1000, 0)
    assert after.status_revision == after.revision > before.revision


def test_rows_of_renamed_tables_and_columns_are_kept(stored: Stored) -> None:
    attempted = {"delivery_id": "01", "number": 1, "place": 3, "webhook_id": "01", "started_at": 5}
    response = {"http_status": 503, "error": "answered 503", "answer": "busy"}
    tables: dict[str, dict[str, Any]] = {
        "kept_answer": {"key": "a", "fingerprint": "b", "answer": b"c", "created_at": 1 << 50},
        "subscriber_block": {"level": 2, "first_id": "", "total": 7},
        "event_stream": {"sequence": 2, "webhooks": 1},
        "event": {"sequence": 2, "id": "evt_1", "kind": "tag.created", "envelope": "{}"},
        "webhook": {"id": "01", "url": "", "description": "", "event_types": "[]"},
        "delivery_queue": {"expanded": 2, "attempts": 3},
        "delivery": {"id": "01", "webhook_id": "01", "sequence": 2, "event_id": "evt_1"},
        "delivery_attempt": attempted | response | {"milliseconds": 84},
    }
    tables["event"]["created_at"] = 1
    tables["webhook"] |= {"enabled": False, "disabled_reason": 0, "secret": b"", "failures": 0}
    tables["webhook"] |= {"after_sequence": 0, "paused_until": 0, "created_at": 1, "updated_at": 1}
    tables["delivery"] |= {"kind": "tag.created", "replay_id": "", "status": 1, "attempts": 1}
    tables["delivery"] |= {"step": 1, "fence": 1, "created_at": 1}
    rows = [(table, {"account_id": OURS, **values}) for table, values in tables.items()]
    url = stored("0020_changed_and_unchanged", rows)

    with unit_of_work(url) as tx:
        assert idempotency.find(OURS, "a", tx) == idempotency.StoredResponseRow("b", b"c")
        assert total(OURS, tx) == 7
        assert has_webhooks(OURS, tx)
        assert lock(OURS, tx) == Queue(2, None, 3, last_sequence=2)
        created = events.Filter(event_types=("tag.created",))
        (event,), _, _ = events.page(OURS, created, Page(1, 20), tx, descending=False)
        assert event.id == "evt_1"
        ((delivered, attempt),) = deliveries.attempts_after(OURS, "", 2, 1, tx).records
        assert delivered.event_type == "tag.created"
        assert attempt == deliveries.AttemptRow(1, 5, 84, 503, "answered 503", "busy", None, None)


def test_running_replays_become_operations_that_continue(stored: Stored) -> None:
    numbers = {"after_sequence": 7, "until_sequence": 9, "created_at": 5}
    replay = {"account_id": OURS, "id": "01R", "webhook_id": "01W", "only_failed": True, **numbers}
    row = ("webhook_replay", {**replay, "event_types": '["tag.*"]'})
    url = stored("0020_changed_and_unchanged", [row])

    with unit_of_work(url) as tx:
        (operation,) = operations.running(OURS, tx)
        selection = Steps(SUPPRESSIONS, ReplayStore()).select_next(OURS, "", 100, tx)
    assert selection == Selection("01R", [event_key(8), event_key(9)], is_last=True)
    shown = operation.as_json()
    assert (shown["type"], shown["state"], shown["total"]) == ("WEBHOOK_REPLAY", "RUNNING", 2)
    assert shown["replay"] == {
        "webhookId": "01W",
        "eventTypes": ["tag.*"],
        "onlyFailed": True,
        "deliveries": 0,
    }
    assert "actor" not in shown


def people_with_one_name(account_id: str) -> list[Row]:
    """Returns people as they were stored: the key of an only name is that of both names."""
    names = [("", "Zuse"), ("Ada", "Love"), ("", ""), ("", "Noether"), ("", "Curie"), ("Al", " ")]
    rows = []
    for number, (first, last) in enumerate(names):
        name_key, last_name_key = search_keys(first, last)
        keys = {"name_key": name_key, "last_name_key": last_name_key if first else None}
        rows.append(subscriber(account_id, number, first_name=first, last_name=last, **keys))
    return rows


def test_an_only_name_gets_its_key_in_chunks_that_can_be_interrupted(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 2)
    people = [*people_with_one_name(OURS), *people_with_one_name(THEIRS)]
    url = stored("0028_names_of_actors", people)
    before, after = [None, "love", *[None] * 4], ["zuse", "love", None, "noether", "curie", None]

    def keys() -> list[list[str | None]]:
        text = "SELECT last_name_key FROM subscriber ORDER BY account_id, id"
        with unit_of_work(url) as tx:
            found = [key for (key,) in select(text, tx)]
        return [found[:6], found[6:]]

    def change_interrupted_chunk() -> None:
        with unit_of_work(url) as tx:
            assert backfill.advance(tx.raw(), migrations.DIRECTORY) is not None
            raise KeyboardInterrupt

    assert keys() == [before, before]
    assert [chunk.done for chunk in islice(finish_backfills(url), 2)] == [2, 4]
    with pytest.raises(KeyboardInterrupt):
        change_interrupted_chunk()
    assert keys() == [[*after[:5], None], before]

    assert [chunk.done for chunk in finish_backfills(url)] == [6, 8, 10, 10]

    assert keys() == [after, after]
    assert list(finish_backfills(url)) == []
