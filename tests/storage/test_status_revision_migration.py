"""The migration that adds the revision of the status to stored subscribers."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playhouse.migrations import Runner

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres import connection
from rosterd.server.storage.sqlite.file import connect, prepare

from .helpers import OURS

BEFORE = "0015_index_of_domains"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_stored_subscribers_have_no_status_revision_until_their_status_changes(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path}/roster.db"
        database: Any = connect(tmp_path / "roster.db")
        prepare(database)
    else:
        url = request.getfixturevalue("postgres").new_database()
        database = connection.connect(url)
    with closing(database):
        Runner(database, str(migrations.DIRECTORY)).up(BEFORE)
        database.execute_sql(
            "INSERT INTO subscriber (account_id, id, email, email_key, first_name, last_name,"
            " status, created_at, revision)"
            f" VALUES ('{OURS}', '1', 'a@b.io', 'a@b.io', '', '', 1, 1, 1000)"
        )
        if kind == "postgres":
            database.commit()

    with unit_of_work(url) as tx:
        before = find(OURS, "1", tx)
        after = change_status(OURS, "1", Status.BOUNCED, tx, by_admin=False)
        stored = find(OURS, "1", tx)

    assert (before.revision, before.status_revision) == (1000, 0)
    assert after.status_revision == after.revision > before.revision
    assert stored == after
