"""The migration that makes international domains searchable."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playhouse.migrations import Runner

from rosterd.server.features.subscribers.query.store_pages import page_without_total
from rosterd.server.features.subscribers.query.store_plan import PagePosition, plan_of
from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres import connection
from rosterd.server.storage.sqlite.file import connect, prepare

from .helpers import tree_of

BEFORE = "0004_unique_account_emails"
ADDRESSES = ["user@example.com", "user@xn--bcher-kva.de", "xn--user@example.com"]
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
        for account in ("A", "B"):
            for number, email in enumerate(ADDRESSES):
                database.execute_sql(
                    f"INSERT INTO subscriber ({COLUMNS})"
                    f" VALUES ('{account}', '{number}', '{email}', '{email}', '', '', 1, 1)"
                )
        if request.param == "postgres":
            database.commit()
    return address


@pytest.mark.parametrize("account", ["A", "B"])
def test_search_finds_domains_stored_before_the_migration(url: str, account: str) -> None:
    with unit_of_work(url) as tx:
        found = {
            q: [
                row.email
                for row in page_without_total(account, plan_of(tree_of(q=q)), PagePosition(10), tx)
            ]
            for q in ("user@", "user@bü", "user@xn", "xn--user@e", "user@ü")
        }

    assert found == {
        "user@": ADDRESSES[:2],
        "user@bü": ADDRESSES[1:2],
        "user@xn": ADDRESSES[1:2],
        "xn--user@e": ADDRESSES[2:],
        "user@ü": [],
    }
