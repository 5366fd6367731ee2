"""Distinguishes the transactions of operations from those of calls."""

from __future__ import annotations

from typing import Any

from ...storage.database import Database, Result, Run, SurroundedDatabase, Work


class OperationDatabase(SurroundedDatabase):
    """The database of the runner of operations and of jobs."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._own = 0

    @classmethod
    def of(cls, database: Database) -> OperationDatabase:
        """Returns a database, which may be an object of this class already."""
        return database if isinstance(database, cls) else cls(database)

    @property
    def transactions_of_others(self) -> int:
        """The number of units of work of others that have begun.

        Those of operations count until they end.
        """
        return self.transactions - self._own

    async def around(self, kind: str, run: Run[Result]) -> Result:  # noqa: ARG002 - of the base class
        count = 0

        def counted(work: Work[Any]) -> Work[Any]:
            nonlocal count
            count += 1
            return work

        try:
            return await run(counted)
        finally:
            self._own += count
