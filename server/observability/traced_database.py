"""A database whose transactions have spans: how long each waited, and what it took then."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from ..errors import Internal, RosterError, Unavailable
from ..storage.database import Database, Result, Work
from ..storage.transaction import Transaction
from .tracing import Tracing, fail


class TracedDatabase:
    """Hands everything on to a database. See `Database` for what the methods promise."""

    def __init__(self, database: Database, system: str, tracing: Tracing) -> None:
        self._database = database
        self._system = system
        self._tracing = tracing
        self.alone = database.alone

    def listen(self, listener: Callable[[Collection[str]], None]) -> None:
        self._database.listen(listener)

    async def open(self) -> None:
        await self._database.open()

    async def read(self, work: Work[Result]) -> Result:
        return await self._traced("read", self._database.read, work)  # type: ignore[no-any-return]

    async def lookup(self, work: Work[Result]) -> Result:
        return await self._traced("read", self._database.lookup, work)  # type: ignore[no-any-return]

    async def write(self, work: Work[Result]) -> Result:
        return await self._traced("write", self._database.write, work)  # type: ignore[no-any-return]

    async def close(self) -> None:
        await self._database.close()

    async def _traced(self, kind: str, run: Any, work: Work[Any]) -> Any:
        span = self._tracing.transaction(kind, self._system)

        def noted(tx: Transaction) -> Any:
            span.add_event("begun")
            try:
                return work(tx)
            finally:
                span.set_attribute("roster.statements", tx.statements)

        try:
            return await run(noted)
        except BaseException as error:
            # What the caller has done wrong is no failure of the database.
            if not isinstance(error, RosterError) or isinstance(error, Internal | Unavailable):
                fail(span, type(error).__name__)
            raise
        finally:
            span.end()
