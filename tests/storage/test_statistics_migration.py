"""The migration that counts the stored subscribers by status and tag."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playhouse.migrations import Runner

from rosterd.server.features.statistics.rules import STATUS, TAG
from rosterd.server.features.statistics.store import flows, totals
from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres import connection
from rosterd.server.storage.sqlite.file import connect, prepare

from .helpers import OURS, THEIRS

BEFORE = "0006_consent_and_history"
STATUSES = {OURS: (1, 2, 2), THEIRS: (3,)}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with the previous schema, and subscribers with one tag of two accounts."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path}/roster.db"
        database: Any = connect(tmp_path / "roster.db")
        prepare(database)
    else:
        address = request.getfixturevalue("postgres").new_database()
        database = connection.connect(address)
    with closing(database):
        Runner(database, str(migrations.DIRECTORY)).up(BEFORE)
        for account, statuses in STATUSES.items():
            database.execute_sql(
                "INSERT INTO tag (account_id, id, name, name_key, description, created_at)"
                f" VALUES ('{account}', 'vip', 'vip', 'vip', '', 1)"
            )
            for number, status in enumerate(statuses):
                email = f"{number}@example.com"
                database.execute_sql(
                    "INSERT INTO subscriber (account_id, id, email, email_key, first_name,"
                    f" last_name, status, created_at) VALUES ('{account}', '{number}', '{email}',"
                    f" '{email}', '', '', {status}, 1)"
                )
                database.execute_sql(
                    "INSERT INTO subscriber_tag (account_id, subscriber_id, tag_id)"
                    f" VALUES ('{account}', '{number}', 'vip')"
                )
        if request.param == "postgres":
            database.commit()
    return address


def test_stored_subscribers_are_counted(url: str) -> None:
    with unit_of_work(url) as tx:
        assert totals(OURS, STATUS, tx) == {"1": 1, "2": 2}
        assert totals(OURS, TAG, tx) == {"vip:1": 1, "vip:2": 2}
        assert totals(THEIRS, STATUS, tx) == {"3": 1}
        assert flows(OURS, 1, 100_000, tx) == {}
