"""A database of each type for each test of the stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from playhouse.postgres_ext import Psycopg3Database

from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres.connection import connect
from rosterd.server.storage.postgres.transaction import WriteTransaction, undo
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.clock import system_clock
from rosterd.server.values.ids import Ids

from ..memory import copied
from ..postgres import Postgres

STORES = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def postgres_connection(postgres: Postgres) -> Iterator[Psycopg3Database]:
    """A connection to a migrated database. Each test rolls back its changes."""
    with closing(connect(postgres.new_roster())) as database:
        yield database


@contextmanager
def fresh(request: pytest.FixtureRequest) -> Iterator[Transaction]:
    """A transaction on an empty database: a copied file, or a server that rolls it back."""
    if request.param == "sqlite":
        with (
            copied(request.getfixturevalue("empty_file")) as path,
            unit_of_work(f"sqlite:///{path}") as transaction,
        ):
            yield transaction
        return
    database = request.getfixturevalue("postgres_connection")
    yield WriteTransaction(database, system_clock, Ids(system_clock))
    undo(database)


@pytest.fixture(params=STORES)
def tx(request: pytest.FixtureRequest) -> Iterator[Transaction]:
    """A transaction on an empty database of each type."""
    with fresh(request) as transaction:
        yield transaction


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{request.getfixturevalue('new_file')}"
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.new_roster()
