"""Both databases beside each other: whatever is done is done on both, and is the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine
from playhouse.apsw_ext import APSWDatabase
from playhouse.postgres_ext import Psycopg3Database
from ulid import ULID

from server.clock import system_clock
from server.errors import RosterError
from server.ids import Ids
from server.storage.postgres.transaction import WriteTransaction, undo
from server.storage.sqlite import file
from server.storage.transaction import Transaction

from .helpers import OURS, field

NOW = 1_767_323_045_006
Work = Callable[[Transaction], Any]


class SameIds(Ids):
    """Ids that are the same on both databases."""

    def __init__(self) -> None:
        super().__init__(system_clock)
        self._numbers = count(NOW << 80)

    def take(self, number: int) -> list[str]:
        return [str(ULID.from_int(next(self._numbers))) for _ in range(number)]


class Both(RuleBasedStateMachine):
    """Does the same on both, a savepoint each, and compares what comes of it."""

    sqlite: APSWDatabase
    postgres: Psycopg3Database

    def open(self) -> None:
        """Begins a transaction on each, in which nothing stays."""
        self.sqlite.execute_sql("BEGIN IMMEDIATE")
        self.both: list[Transaction] = [
            Transaction(self.sqlite, file.DIALECT, system_clock, SameIds()),
            WriteTransaction(self.postgres, system_clock, SameIds()),
        ]
        for tx in self.both:
            tx.now = NOW
            field(OURS, tx, "city")

    def teardown(self) -> None:
        self.sqlite.rollback()
        undo(self.postgres)

    def same(self, work: Work) -> Any:
        """Does the work on both and returns what both gave: a result, or the error."""
        (one, accounts_to_notify), other = (self._one(tx, work) for tx in self.both)
        assert (one, accounts_to_notify) == other
        return one

    def _one(self, tx: Transaction, work: Work) -> tuple[Any, set[str]]:
        """Returns what the work gives, and of whom there is news."""
        tx.accounts_to_notify = set()
        tx._database.execute_sql("SAVEPOINT step")
        try:
            return work(tx), tx.accounts_to_notify
        except RosterError as error:
            tx._database.execute_sql("ROLLBACK TO SAVEPOINT step")
            # What it had learnt may not be so.
            tx.cache.clear()
            return (type(error).__name__, list(error.details)), set()
