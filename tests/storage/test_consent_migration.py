"""The migration that adds revisions, times, consent and history to stored subscribers."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playhouse.migrations import Runner

from rosterd.server.features.events.store_subscriber import events_about
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres import connection
from rosterd.server.storage.sqlite.file import connect, prepare

from .helpers import OURS, THEIRS, select

BEFORE = "0005_international_domains"
COLUMNS = "account_id, id, email, email_key, first_name, last_name, status, created_at"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with the previous schema and subscribers of two accounts."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path}/roster.db"
        database: Any = connect(tmp_path / "roster.db")
        prepare(database)
    else:
        address = request.getfixturevalue("postgres").new_database()
        database = connection.connect(address)
    with closing(database):
        Runner(database, str(migrations.DIRECTORY)).up(BEFORE)
        for account in (OURS, THEIRS):
            for number in range(3):
                email = f"{number}@example.com"
                database.execute_sql(
                    f"INSERT INTO subscriber ({COLUMNS}) VALUES"
                    f" ('{account}', '{number}', '{email}', '{email}', '', '', 1, {1000 + number})"
                )
            for kind, key in (("subscriber.created", "subscriber"), ("tag.created", "tag")):
                database.execute_sql(
                    "INSERT INTO event (account_id, sequence, id, kind, envelope, created_at)"
                    f" VALUES ('{account}', {len(kind)}, '{kind}', '{kind}', '"
                    f'{{"id": "x", "data": {{"{key}": {{"id": "1"}}}}}}'
                    "', 1)"
                )
        if request.param == "postgres":
            database.commit()
    return address


def test_stored_subscribers_get_a_revision_and_no_past(url: str) -> None:
    with unit_of_work(url) as tx:
        rows = [find(account, str(n), tx) for account in (OURS, THEIRS) for n in range(3)]

    assert [row.revision for row in rows] == [1_000_000, 1_001_000, 1_002_000] * 2
    assert {row[7:13] for row in rows} == {(None,) * 6}


def test_stored_events_belong_to_their_subscriber(url: str) -> None:
    with unit_of_work(url) as tx:
        found = [
            event.id for account in (OURS, THEIRS) for event in events_about(account, "1", 0, tx)
        ]

    assert found == ["subscriber.created"] * 2


def test_stored_subscribers_can_be_changed(url: str) -> None:
    with unit_of_work(url) as tx:
        row = change_status(OURS, "1", Status.UNSUBSCRIBED, tx, by_admin=False)
        history = select("SELECT account_id, subscriber_id, changes FROM subscriber_history", tx)

    assert (row.revision, row.unsubscribed_at) == (tx.now * 1000, tx.now)
    assert history == [(OURS, "1", '{"from":"UNCONFIRMED","to":"UNSUBSCRIBED"}')]
