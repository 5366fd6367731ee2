"""Migrations of a distributed database: new tables, columns and indexes, and interrupted ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rosterd.server.storage.citus.distribution import bring_up_to_date
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.databases import distributed
from rosterd.server.storage.migrate import DIRECTORY, pending
from rosterd.server.storage.postgres.connection import open_database

from ..conftest import new_account
from ..fronts import HttpFront
from ..processes import start
from .cluster import Cluster
from .distributed import ACCOUNTS, create_accounts, rows, undistributed

# Reads all shards in parallel before it alters them, and fills a new table that references them.
TRIAL = """
from peewee import SQL, CompositeKey, Model, TextField


class Subscriber(Model):
    account_id = TextField()
    id = TextField()
    email = TextField()
    phone = TextField(null=True)

    class Meta:
        table_name = "subscriber"
        primary_key = CompositeKey("account_id", "id")


Subscriber.add_index(Subscriber.account_id, Subscriber.phone, Subscriber.id, name="by_phone")


class Note(Model):
    account_id = TextField()
    id = TextField()
    subscriber_id = TextField()

    class Meta:
        table_name = "note"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "subscriber_id"), True),)
        constraints = [
            SQL(
                "FOREIGN KEY (account_id, subscriber_id)"
                " REFERENCES subscriber (account_id, id) ON DELETE CASCADE"
            ),
        ]
        without_rowid = True


def up(migrator, db):
    migrator.migrate(migrator.add_column("subscriber", "phone", TextField(null=True)))
    migrator.migrate(migrator.add_column("account", "title", TextField(null=True)))
    db.execute_sql("UPDATE account SET title = 'Dr'")
    db.execute_sql("INSERT INTO installation (name, value) VALUES ('trial', 'yes')")
    with db.bind_ctx([Subscriber, Note], bind_refs=False, bind_backrefs=False):
        keys = list(Subscriber.select(Subscriber.account_id, Subscriber.id).tuples())
        for account_id, subscriber_id in keys:
            Subscriber.update(phone="1").where(
                (Subscriber.account_id == account_id) & (Subscriber.id == subscriber_id)
            ).execute()
        db.create_tables([Subscriber])  # The table exists: this creates the index.
        db.create_tables([Note])
        for account_id, subscriber_id in keys:
            Note.insert(account_id=account_id, id="1", subscriber_id=subscriber_id).execute()
    db.execute_sql("DELETE FROM tag WHERE name = 'none'")
    migrator.migrate(migrator.add_column("tag", "color", TextField(null=True)))
    db.execute_sql("SELECT count(*) FROM account JOIN subscriber ON subscriber.id = account.id")
"""

INDEXES = "SELECT count(*) FROM pg_index WHERE indrelid = '%s'::regclass"

pytestmark = pytest.mark.verify


@pytest.fixture
def url(citus: Cluster) -> str:
    """A distributed database with data. Citus uses many connections even for small tables."""
    url = citus.new_roster()
    create_accounts(url)
    name = url.rpartition("/")[2]
    citus.run(f"ALTER DATABASE {name} SET citus.force_max_query_parallelization = on")
    return url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The migrations of this version and a trial migration."""
    folder = tmp_path / "migrations"
    shutil.copytree(DIRECTORY, folder)
    (folder / "9000_trial.py").write_text(TRIAL)
    return folder


def test_migration_adds_a_table_columns_indexes_and_rows(url: str, folder: Path) -> None:
    with open_database(url) as database:
        assert bring_up_to_date(database, folder) == ["9000_trial"]
        assert pending(database, folder) == []

    assert undistributed(url) == set()
    assert rows(url, "SELECT count(*), min(phone) FROM subscriber") == [(ACCOUNTS, "1")]
    assert rows(url, "SELECT count(*) FROM note JOIN subscriber USING (account_id)") == [
        (ACCOUNTS,)
    ]
    assert rows(url, "SELECT title FROM account") == [("Dr",)]
    assert rows(url, "SELECT value FROM installation WHERE name = 'trial'") == [("yes",)]
    ((count,),) = rows(url, INDEXES % "subscriber")
    on_shards = f"SELECT DISTINCT result FROM run_command_on_shards('subscriber', $${INDEXES}$$)"
    assert rows(url, on_shards) == [(str(count),)]
    rows(url, "DELETE FROM subscriber WHERE account_id = 'account-1'")
    assert rows(url, "SELECT count(*) FROM note") == [(ACCOUNTS - 1,)]


def test_failed_migration_of_a_distributed_database_leaves_no_changes(
    url: str, folder: Path
) -> None:
    broken = folder / "9000_trial.py"
    broken.write_text(TRIAL + "    db.execute_sql('SELECT 1 / 0')\n")
    with open_database(url) as database, pytest.raises(StorageError, match="division by zero"):
        bring_up_to_date(database, folder)
    assert undistributed(url) == set()
    assert rows(url, "SELECT to_regclass('note')") == [(None,)]

    broken.write_text(TRIAL)
    with open_database(url) as database:
        assert bring_up_to_date(database, folder) == ["9000_trial"]


@pytest.fixture
def old_url(citus: Cluster, tmp_path: Path) -> str:
    """A database that was distributed with the first two migrations, and has data."""
    url = citus.new_database()
    (folder := tmp_path / "first").mkdir()
    for file in sorted(DIRECTORY.glob("0*.py"))[:2]:
        shutil.copy(file, folder)
    with open_database(url) as database:
        assert len(bring_up_to_date(database, folder)) == 2
    list(distributed(url))
    return url


def uses(citus: Cluster, url: str, folder: Path) -> None:
    """Starts a service on a database, and creates a subscriber with events through it."""
    service = start(folder, ROSTER_DATABASE_URL=url, ROSTER_SECRET_KEY=citus.secret_key)
    try:
        account = new_account(service, HttpFront("http", service.http))
        account.ok("CreateWebhook", url="http://127.0.0.1:9/", enabled=False)
        account.ok("CreateSubscriber", email="a@example.com", tags=["vip"])
        (subscriber,) = account.ok("ListSubscribers")["subscribers"]
        account.ok("DeleteSubscriber", id=subscriber["id"])
    finally:
        service.stop()


def test_service_distributes_the_tables_of_its_migrations(
    citus: Cluster, old_url: str, tmp_path: Path
) -> None:
    uses(citus, old_url, tmp_path)

    assert undistributed(old_url) == set()
