"""The transaction that store functions run statements in."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from peewee import Database

from ..values.actors import Actor
from ..values.clock import Clock
from ..values.ids import Ids
from .statements import Dialect, Statement


class Change(NamedTuple):
    """A change of a resource for the audit log: its ID, and the resource as message or JSON."""

    resource_id: str = ""
    before: Any = None
    after: Any = None


class Transaction:
    """Runs statements in one transaction, with one timestamp and new IDs.

    `now` is the same during the whole transaction (milliseconds since 1970).
    `statements` is the number of statements run; tests limit it for pages and bulk requests.
    `actor` makes the changes; None is the service itself. `operation_id` is the operation that
    makes them, or empty. Listeners are notified of `accounts_to_notify` after the commit. The audit
    log records `changes` if the call is audited.

    `cache` keeps values between transactions. Only transactions of this process change them. It is
    empty if other processes can write.
    """

    __slots__ = (
        "_database",
        "_dialect",
        "_ids",
        "accounts_to_notify",
        "actor",
        "cache",
        "changes",
        "now",
        "operation_id",
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
        self.actor: Actor | None = None
        self.operation_id = ""
        self.accounts_to_notify: set[str] = set()
        self.changes: list[Change] = []
        self.cache: set[Hashable] = set() if cache is None else cache

    @property
    def database(self) -> Database:
        """The open database, for its schema. Reading it does not begin the transaction."""
        return self._database

    def new_id(self) -> str:
        return self._ids.next()

    def new_ids(self, count: int) -> list[str]:
        """Returns `count` ascending IDs."""
        return self._ids.take(count)

    def record_change(self, resource_id: str = "", before: Any = None, after: Any = None) -> None:
        """States a change for the audit log."""
        self.changes.append(Change(resource_id, before, after))

    def all(self, statement: Statement, **values: Any) -> list[tuple[Any, ...]]:
        """Runs a statement and returns all rows."""
        return self._execute(statement, values).fetchall()  # type: ignore[no-any-return]

    def one(self, statement: Statement, **values: Any) -> tuple[Any, ...] | None:
        """Runs a statement and returns the first row, or None if there is none."""
        return self._execute(statement, values).fetchone()  # type: ignore[no-any-return]

    def scalar(self, statement: Statement, **values: Any) -> Any:
        """Runs a statement and returns the first column of the first row, or None without rows."""
        row = self._execute(statement, values).fetchone()
        return None if row is None else row[0]

    def greatest(self, statement: Statement, **values: Any) -> Any:
        """Runs a statement and returns the greatest first column of all rows, or None."""
        rows = self._execute(statement, values).fetchall()
        return max((row[0] for row in rows if row[0] is not None), default=None)

    def run(self, statement: Statement, **values: Any) -> int:
        """Runs a statement and returns the number of changed rows."""
        return self._database.rows_affected(self._execute(statement, values))  # type: ignore[no-any-return]

    def insert(
        self, statement: Statement, stored: Statement, ids: Sequence[str], **values: Any
    ) -> Collection[str]:
        """Runs an `insert_all` of rows with new IDs, and returns the IDs of the inserted rows.

        `stored` selects those of the parameter `ids` that are stored. It runs only if the
        database counts inserted rows and skipped some. Otherwise the insert returns the IDs.
        """
        if not self._dialect.counts_inserted_rows:
            return {row_id for (row_id,) in self.all(statement, **values)}
        inserted = self.run(statement, **values)
        if inserted in (0, len(ids)):
            return set(ids) if inserted else ()
        account_id = values["account_id"]
        return {row_id for (row_id,) in self.all(stored, account_id=account_id, ids=ids)}

    def run_each(self, statement: Statement, values: Sequence[Mapping[str, Any]]) -> None:
        """Runs a statement once for each mapping, without its results."""
        for each in values:
            self._execute(statement, each)

    def raw(self) -> Database:
        """Begins the transaction, and returns the Peewee database, for statements as SQL text."""
        return self._database

    def ping(self) -> None:
        """Runs a minimal query, for a health check."""
        self.raw().execute_sql("SELECT 1")

    def _execute(self, statement: Statement, values: Mapping[str, Any]) -> Any:
        self.statements += 1
        prepared = statement.prepared(self._dialect, self._database)
        return self._database.execute_sql(prepared.sql, prepared.arguments(values))
