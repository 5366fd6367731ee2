"""Adds a span to each transaction: its queue delay, duration and number of statements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..rpc.errors import Internal, RosterError, Unavailable
from ..storage.database import Database, NodeResults, Result, Work
from ..storage.transaction import Transaction

if TYPE_CHECKING:
    from .tracing import Tracing


class TracedDatabase:
    """Wraps a database. `Database` documents the methods."""

    def __init__(self, database: Database, system: str, tracing: Tracing) -> None:
        self._database = database
        self._system = system
        self._tracing = tracing
        self.alone = database.alone

    @property
    def transactions(self) -> int:
        return self._database.transactions

    def listen(self, listener: Callable[[Collection[str]], None]) -> None:
        self._database.listen(listener)

    async def open(self) -> None:
        await self._database.open()

    async def read(self, work: Work[Result]) -> Result:
        return await self._traced("read", lambda traced: self._database.read(traced(work)))

    async def read_parts(self, works: Sequence[Work[Result]]) -> list[Result]:
        read = self._database.read_parts
        return await self._traced("read", lambda traced: read([*map(traced, works)]))

    async def read_nodes(self, work: Work[Result]) -> NodeResults[Result]:
        return await self._traced("read", lambda traced: self._database.read_nodes(traced(work)))

    async def write(self, work: Work[Result]) -> Result:
        return await self._traced("write", lambda traced: self._database.write(traced(work)))

    async def close(self) -> None:
        await self._database.close()

    async def _traced(
        self, kind: str, run: Callable[[Callable[[Work[Any]], Work[Any]]], Awaitable[Result]]
    ) -> Result:
        span = self._tracing.transaction(kind, self._system)
        try:
            return await run(lambda work: partial(_run_in, span, work))
        except BaseException as error:
            # A client error is not a failure of the database.
            if not isinstance(error, RosterError) or isinstance(error, Internal | Unavailable):
                self._tracing.fail(span, type(error).__name__)
            raise
        finally:
            span.end()


def _run_in(span: Any, work: Work[Result], tx: Transaction) -> Result:
    span.add_event("begun")
    try:
        return work(tx)
    finally:
        span.set_attribute("roster.statements", tx.statements)
