"""Adds a span to each transaction: its queue delay, duration and number of statements."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..rpc.errors import Internal, RosterError, Unavailable
from ..storage.database import Database, Result, Run, SurroundedDatabase, Work
from ..storage.transaction import Transaction

if TYPE_CHECKING:
    from .tracing import Tracing


class TracedDatabase(SurroundedDatabase):
    """A database whose transactions have spans, as parts of the current call."""

    def __init__(self, database: Database, system: str, tracing: Tracing) -> None:
        super().__init__(database)
        self._system = system
        self._tracing = tracing

    async def around(self, kind: str, run: Run[Result]) -> Result:
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
