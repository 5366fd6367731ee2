"""The migration that makes the email addresses of accounts unique."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playhouse.migrations import Runner

from rosterd.server.features.accounts import store
from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres import connection
from rosterd.server.storage.sqlite.file import connect, prepare

BEFORE = "0003_events_webhooks"
ACCOUNTS = [
    ("01A", "Ada@Example.com"),
    ("01B", "ada@example.com"),
    ("01C", "bob@bücher.de"),
    ("01D", "bob@xn--bcher-kva.de"),
    ("01E", "not an address"),
]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with the previous schema, with accounts that share addresses."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path}/roster.db"
        database: Any = connect(tmp_path / "roster.db")
        prepare(database)
    else:
        address = request.getfixturevalue("postgres").new_database()
        database = connection.connect(address)
    with closing(database):
        Runner(database, str(migrations.DIRECTORY)).up(BEFORE)
        for account_id, email in ACCOUNTS:
            text = f"INSERT INTO account VALUES ('{account_id}', '{email}', true, 1)"
            database.execute_sql(text)
        if request.param == "postgres":
            database.commit()
    return address


def test_migration_keeps_accounts_that_share_an_address(url: str) -> None:
    with unit_of_work(url) as tx:
        rows = store.list_accounts(tx)

    assert [(row.id, row.email) for row in rows] == ACCOUNTS


@pytest.mark.parametrize(
    ("email", "oldest"),
    [("ADA@example.com", "01A"), ("bob@bücher.de", "01C"), ("not an address", "01E")],
)
def test_new_account_with_an_existing_address_is_rejected(
    url: str, email: str, oldest: str
) -> None:
    with pytest.raises(store.AccountExists) as refused, unit_of_work(url) as tx:
        store.create_account(email, tx, verified=True)

    assert refused.value.account_id == oldest
