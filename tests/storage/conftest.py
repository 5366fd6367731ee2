"""A database for each test of the stores, of either kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from playhouse.postgres_ext import Psycopg3Database

from server.cli.beside import bring_up_to_date, unit_of_work
from server.clock import system_clock
from server.ids import Ids
from server.storage.postgres_link import connect
from server.storage.postgres_transaction import Writing, undo
from server.storage.transaction import Transaction

from ..postgres import Postgres

STORES = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def postgres_link(postgres: Postgres) -> Iterator[Psycopg3Database]:
    """A connection to a database of the current schema, in which nothing stays."""
    url = postgres.new_database()
    bring_up_to_date(url)
    with closing(connect(url)) as database:
        yield database


@contextmanager
def fresh(request: pytest.FixtureRequest, folder: Path) -> Iterator[Transaction]:
    """A transaction on a database without data: a file, or a server, where it is undone."""
    if request.param == "sqlite":
        with unit_of_work(f"sqlite:///{folder}/roster.db") as transaction:
            yield transaction
        return
    database = request.getfixturevalue("postgres_link")
    yield Writing(database, system_clock, Ids(system_clock))
    undo(database)


@pytest.fixture(params=STORES)
def tx(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Transaction]:
    """A transaction on a database without data, of each kind in turn."""
    with fresh(request, tmp_path) as transaction:
        yield transaction
