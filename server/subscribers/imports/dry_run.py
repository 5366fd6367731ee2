"""Runs an import without storing anything.

Each transaction of the import is run and rolled back, so that its results are those of the
import. The addresses of created subscribers are stored, because a later row can have the same
address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from ...storage.database import Database
from ...storage.transaction import Transaction
from ..fields import Status
from ..row_writer import CONFLICT, SKIPPED, OnConflict, Outcome, Result, RowWriter
from ..rules import NewSubscriber, Validated, is_stricter
from .store_seen import SeenAddresses


class _RolledBack(Exception):
    """Rolls back a transaction, and returns its results."""

    def __init__(self, results: list[Result]) -> None:
        super().__init__()
        self.results = results


class DryRun:
    """Runs the transactions of one import. `prepare` runs at the start of each."""

    def __init__(
        self,
        database: Database,
        writer: RowWriter,
        on_conflict: OnConflict,
        prepare: Callable[[Transaction], None],
    ) -> None:
        self._database = database
        self._writer = writer
        self._on_conflict = on_conflict
        self._prepare = prepare
        self._seen = SeenAddresses()
        self._running = asyncio.Lock()

    async def run(self, rows: Sequence[Validated]) -> list[Result]:
        """Returns the results of rows. Subscribers that are not stored have no ID."""
        async with self._running:
            return await self._run(rows)

    async def _run(self, rows: Sequence[Validated]) -> list[Result]:
        repeated = await asyncio.to_thread(self._repeated, rows)
        others = [row for number, row in enumerate(rows) if number not in repeated]
        stored = await self._rolled_back(others)
        await asyncio.to_thread(self._keep, others, stored)
        created = {result.subscriber_id for result in stored if result.outcome is Outcome.CREATED}
        results = iter(stored)
        return [
            _without_id(repeated.get(number) or next(results), created)
            for number in range(len(rows))
        ]

    async def _rolled_back(self, rows: Sequence[Validated]) -> list[Result]:
        def work(tx: Transaction) -> None:
            self._prepare(tx)
            raise _RolledBack(self._writer.store_rows(rows, tx))

        try:
            await self._database.write(work)
        except _RolledBack as rolled_back:
            return rolled_back.results
        raise AssertionError

    def _repeated(self, rows: Sequence[Validated]) -> dict[int, Result]:
        """Returns the results of rows with the address of an earlier transaction, by index."""
        return {
            number: self._repeat(row)
            for number, row in enumerate(rows)
            if isinstance(row, NewSubscriber) and self._seen.status(row.email.key) is not None
        }

    def _keep(self, rows: Sequence[Validated], results: Sequence[Result]) -> None:
        """Keeps the addresses that a transaction created, with their statuses."""
        statuses: dict[str, Status] = {}
        for row, result in zip(rows, results, strict=True):
            if not isinstance(row, NewSubscriber):
                continue
            updates = result.outcome is Outcome.UPDATED and row.has_status
            if result.outcome is Outcome.CREATED or (
                row.email.key in statuses and updates and not result.status_kept
            ):
                statuses[row.email.key] = row.status
        self._seen.add(statuses.items())

    def _repeat(self, row: NewSubscriber) -> Result:
        """Returns the result of a row with the address of an earlier one."""
        if self._on_conflict is OnConflict.FAIL:
            return CONFLICT
        if self._on_conflict is OnConflict.SKIP:
            return SKIPPED
        before = self._seen.status(row.email.key)
        if not row.has_status or before is None or row.status == before:
            return Result(Outcome.UPDATED)
        takes_status = is_stricter(row.status, before)
        if takes_status:
            self._seen.add([(row.email.key, row.status)])
        return Result(Outcome.UPDATED, status_kept=not takes_status)


def _without_id(result: Result, subscriber_ids: Collection[str]) -> Result:
    return result._replace(subscriber_id="") if result.subscriber_id in subscriber_ids else result
