"""Runs an import without storing anything.

Each transaction of the import is run and rolled back, so that its results are those of the
import. At its start, a transaction repeats the changes of earlier rows with the same addresses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ...storage.database import Database
from ...storage.transaction import Transaction
from ..subscribers.row_writer import Outcome, Result
from ..subscribers.rules import NewSubscriber, Validated, subscriber_of
from .store_seen import SeenRows

# Stores rows in a transaction.
StoreRows = Callable[[Sequence[Validated], Transaction], list[Result]]
Returned = TypeVar("Returned")


class _RolledBack(Exception):
    """Rolls back a transaction."""


async def rolled_back(database: Database, work: Callable[[Transaction], Returned]) -> Returned:
    """Returns the result of work in a transaction that is rolled back."""
    returned: list[Returned] = []

    def run(tx: Transaction) -> None:
        returned.append(work(tx))
        raise _RolledBack

    with suppress(_RolledBack):
        await database.write(run)
    return returned[-1]


class DryRun:
    """Runs the transactions of one import. `store_rows` stores the rows of one."""

    def __init__(self, database: Database, store_rows: StoreRows) -> None:
        self._database = database
        self._store_rows = store_rows
        self._seen = SeenRows()
        self._running = asyncio.Lock()

    async def run(self, rows: Sequence[Validated]) -> list[Result]:
        """Returns the results of rows. Subscribers that are not stored have no ID."""
        async with self._running:
            earlier = await asyncio.to_thread(self._seen.rows_of, rows)
            results = await rolled_back(
                self._database, partial(self._store_rows, [*earlier, *rows])
            )
            created = {
                result.subscriber_id for result in results if result.outcome is Outcome.CREATED
            }
            del results[: len(earlier)]
            await asyncio.to_thread(self._keep, earlier, rows, results)
        return [
            result._replace(subscriber_id="") if result.subscriber_id in created else result
            for result in results
        ]

    def _keep(
        self,
        earlier: Sequence[NewSubscriber],
        rows: Sequence[Validated],
        results: Sequence[Result],
    ) -> None:
        """Stores one row for each address, with the effect of all rows so far."""
        kept = {row.email.key: row for row in earlier}
        changed = {}
        for each, result in zip(rows, results, strict=True):
            row = subscriber_of(each)
            if row is None:
                continue
            key, row = row.email.key, _stored_part(row, result.dropped)
            if result.outcome is Outcome.CREATED:
                changed[key] = kept[key] = row
            elif result.outcome is Outcome.UPDATED:
                changed[key] = kept[key] = _with_update(kept.get(key), row, result)
        self._seen.add(changed.values())


def _stored_part(row: NewSubscriber, dropped: Collection[str]) -> NewSubscriber:
    """Returns a row without the tags and values that were dropped."""
    if not dropped:
        return row
    has_values = "customFields" not in dropped
    values = {
        key: value
        for key, value in row.values.items()
        if has_values and f"customFields.{key}" not in dropped
    }
    return row._replace(tags={} if "tags" in dropped else row.tags, values=values)


def _with_update(before: NewSubscriber | None, row: NewSubscriber, result: Result) -> NewSubscriber:
    """Returns one row with the effect of two: `row` updated the subscriber of `before`."""
    takes_status = row.has_status and not result.status_kept
    if before is None:
        return row._replace(has_status=takes_status)
    if takes_status:
        before = before._replace(status=row.status, has_status=True)
    return before._replace(tags={**before.tags, **row.tags}, values={**before.values, **row.values})
