"""Vacuums the tables that filters read, once many of their rows have changed.

A filter reads indexes only, except for rows on pages that PostgreSQL has not marked as visible to
all transactions: these are read too, row by row, which takes 3 to 8 times the CPU time
(`python -m tests.bench.scale_filters` measures vacuumed tables). Only VACUUM marks pages. The
server's autovacuum starts up to a minute after an import or an operation, takes long, and leaves
changes of up to a fifth of the rows.

Several processes can do this for one database. On a Citus cluster, autovacuum does it: only the
nodes count the changes of their shards.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..interruptible import InterruptedBy, interruptible
from ..shared_work import OneStatement
from ..transaction import Transaction
from .connection import open_database

log = logging.getLogger(__name__)

TABLES = ("subscriber", "subscriber_tag", "custom_value")
# Seconds between checks of the numbers of changes.
INTERVAL = 5.0
# A table is vacuumed if at least so many of its rows have changed, and this share of them.
MIN_ROWS, MIN_SHARE = 10_000, 0.02
# While more rows change within an interval, an import or operation is not finished.
MAX_RECENT = 1_000
# VACUUM ends after this time, with the pages marked that it has read. A migration waits for it.
MAX_SECONDS = 60
# VACUUM pauses, but less than autovacuum, which does not write 200 MB/s.
_SETTINGS = {
    "statement_timeout": f"{MAX_SECONDS}s",
    "vacuum_cost_delay": "2ms",
    "vacuum_cost_limit": "1000",
}
# The key of an advisory lock: arbitrary, but the same in all versions.
_VACUUM_LOCK = 2_604_331_907_785_120_931
_TRY_LOCK = "SELECT pg_try_advisory_lock(%s)"
_UNLOCK = "SELECT pg_advisory_unlock(%s)"
_NUMBERS = """
SELECT relname, n_ins_since_vacuum + n_dead_tup, n_live_tup, n_tup_ins + n_tup_upd + n_tup_del
FROM pg_stat_user_tables WHERE relid = ANY(%s::regclass[])
"""


class Numbers(NamedTuple):
    """Numbers of a table: of rows changed since it was vacuumed, of rows, and of all changes."""

    table: str
    not_vacuumed: int
    rows: int
    changes: int


class Vacuuming:
    """Finds the tables to vacuum, and vacuums them."""

    def __init__(self, url: str) -> None:
        self._url = url
        # The number of all changes at the previous check, and at the previous VACUUM.
        self._seen: dict[str, int] = {}
        self._vacuumed: dict[str, int] = {}
        # Tables that were not vacuumed in time, such as very large ones. autovacuum is not canceled
        # for them.
        self._failed: set[str] = set()

    async def run(self, read: Callable[[OneStatement[list[Numbers]]], Awaitable[Any]]) -> None:
        """Vacuums until this task is canceled. `read` runs a unit of work."""
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                due = self.due(await read(OneStatement(_numbers)))
            except Exception as error:  # noqa: BLE001 - the next check follows
                log.warning("tables to vacuum are not known: %s", error)
                continue
            for table in due:
                try:
                    await interruptible(partial(self._vacuum, table))
                except Exception as error:  # noqa: BLE001 - autovacuum follows
                    self._failed.add(table)
                    log.warning("%s was not vacuumed: %s", table, error)

    def due(self, numbers: Sequence[Numbers]) -> list[str]:
        """Returns the tables to vacuum.

        A long transaction can keep VACUUM from marking pages. Then it is not repeated without new
        changes.
        """
        found = []
        for table, not_vacuumed, rows, changes in numbers:
            recent = changes - self._seen.get(table, changes)
            self._seen[table] = changes
            vacuumed = self._vacuumed.get(table, 0)
            if changes < vacuumed:
                # The server crashed, and counts from 0.
                vacuumed = 0
            changed = min(not_vacuumed, changes - vacuumed)
            if recent <= MAX_RECENT and changed >= max(MIN_ROWS, MIN_SHARE * rows):
                self._vacuumed[table] = changes
                found.append(table)
        return found

    def _vacuum(self, table: str, interrupted_by: InterruptedBy) -> None:
        with open_database(self._url) as database:
            interrupted_by(database.connection().cancel_safe)
            for name, value in _SETTINGS.items():
                database.execute_sql(f"SET {name} = '{value}'")
            # Another process that vacuums now does the same. PostgreSQL cancels autovacuum, which
            # takes much longer, when this waits for it.
            if database.execute_sql(_TRY_LOCK, (_VACUUM_LOCK,)).fetchone() == (True,):
                skips = ", SKIP_LOCKED" if table in self._failed else ""
                try:
                    database.execute_sql(f"VACUUM (ANALYZE{skips}) {table}")
                finally:
                    # The end of the session releases it later, and the next table would be skipped.
                    database.execute_sql(_UNLOCK, (_VACUUM_LOCK,))


def _numbers(tx: Transaction) -> list[Numbers]:
    return [Numbers(*row) for row in tx.raw().execute_sql(_NUMBERS, [[*TABLES]]).fetchall()]
