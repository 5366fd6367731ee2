"""Runs the same operations on both databases and compares the results."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine
from playhouse.apsw_ext import APSWDatabase
from playhouse.postgres_ext import Psycopg3Database
from ulid import ULID

from rosterd.server.rpc.errors import RosterError
from rosterd.server.storage.postgres.transaction import WriteTransaction, undo
from rosterd.server.storage.sqlite import file
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.clock import system_clock
from rosterd.server.values.ids import Ids

from .helpers import OURS, field

NOW = 1_767_323_045_006
Work = Callable[[Transaction], Any]


class SequentialIds(Ids):
    """Ids that are equal on both databases."""

    def __init__(self) -> None:
        super().__init__(system_clock)
        self._numbers = count(NOW << 80)

    def take(self, number: int) -> list[str]:
        return [str(ULID.from_int(next(self._numbers))) for _ in range(number)]


class DatabaseComparison(RuleBasedStateMachine):
    """Runs each operation on both databases, in a savepoint, and compares the results."""

    sqlite: APSWDatabase
    postgres: Psycopg3Database

    def open(self) -> None:
        """Begins a transaction on each database. It is rolled back at the end."""
        self.sqlite.execute_sql("BEGIN IMMEDIATE")
        self.both: list[Transaction] = [
            Transaction(self.sqlite, file.DIALECT, system_clock, SequentialIds()),
            WriteTransaction(self.postgres, system_clock, SequentialIds()),
        ]
        for tx in self.both:
            tx.now = NOW
            field(OURS, tx, "city")

    def teardown(self) -> None:
        self.sqlite.rollback()
        undo(self.postgres)

    def same(self, work: Work) -> Any:
        """Runs the work on both databases and returns the result or error, which must be equal."""
        (one, accounts_to_notify), other = (self._one(tx, work) for tx in self.both)
        assert (one, accounts_to_notify) == other
        return one

    def _one(self, tx: Transaction, work: Work) -> tuple[Any, set[str]]:
        """Returns the result or error of the work, and the accounts to notify."""
        tx.accounts_to_notify = set()
        tx._database.execute_sql("SAVEPOINT step")
        try:
            return work(tx), tx.accounts_to_notify
        except RosterError as error:
            tx._database.execute_sql("ROLLBACK TO SAVEPOINT step")
            # The cache may contain rolled-back rows.
            tx.cache.clear()
            return (type(error).__name__, list(error.details)), set()
