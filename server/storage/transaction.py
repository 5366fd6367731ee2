"""A transaction as the stores see it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from peewee import Database

from ..clock import Clock
from ..ids import Ids
from .statements import Dialect, Statement


class Transaction:
    """One unit of work: statements to run, the moment it happens at, and fresh ids.

    `now` stands still for the whole transaction (milliseconds since 1970).
    `statements` counts what was run; a test holds pages and bulks to fixed numbers.
    `accounts_to_notify` are the accounts of which others are told once the transaction stands.

    `cache` is what stores may remember from one transaction to the next, so as not
    to ask again: what can change only by another transaction of the same database object.
    Where other processes write as well, nothing is remembered.
    """

    __slots__ = (
        "_database",
        "_dialect",
        "_ids",
        "accounts_to_notify",
        "cache",
        "now",
        "statements",
    )

    def __init__(
        self,
        database: Database,
        dialect: Dialect,
        clock: Clock,
        ids: Ids,
        cache: set[Hashable] | None = None,
    ) -> None:
        self._database = database
        self._dialect = dialect
        self._ids = ids
        self.now = clock()
        self.statements = 0
        self.accounts_to_notify: set[str] = set()
        self.cache: set[Hashable] = set() if cache is None else cache

    def new_id(self) -> str:
        """Returns an id greater than any before."""
        return self._ids.next()

    def new_ids(self, count: int) -> list[str]:
        """Returns so many ids, each greater than any before."""
        return self._ids.take(count)

    def all(self, statement: Statement, **values: Any) -> list[tuple[Any, ...]]:
        """Runs a statement and returns every row of its answer."""
        return self._execute(statement, values).fetchall()  # type: ignore[no-any-return]

    def one(self, statement: Statement, **values: Any) -> tuple[Any, ...] | None:
        """Runs a statement and returns the first row of its answer, or None without one."""
        return self._execute(statement, values).fetchone()  # type: ignore[no-any-return]

    def run(self, statement: Statement, **values: Any) -> int:
        """Runs a statement and returns how many rows it changed."""
        return self._database.rows_affected(self._execute(statement, values))  # type: ignore[no-any-return]

    def ping(self) -> None:
        """Asks the database for nothing but a sign of life."""
        self._database.execute_sql("SELECT 1")

    def _execute(self, statement: Statement, values: Mapping[str, Any]) -> Any:
        self.statements += 1
        prepared = statement.prepared(self._dialect, self._database)
        return self._database.execute_sql(prepared.sql, prepared.arguments(values))
