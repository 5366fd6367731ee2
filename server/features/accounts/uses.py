"""Stores when API keys and sessions were last used.

Calls do not wait for it: Authenticate adds a key or session when it looks it up and the stored time
is old, and a periodic task stores the added ones. If a write fails, the next lookups add its IDs
again.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection
from functools import partial

from ...rpc import caller
from ...rpc.errors import Internal, Unavailable
from ...storage.database import Database
from ...storage.transaction import Transaction

log = logging.getLogger(__name__)

# Stores the time of use of some IDs of an account, and returns how many changed.
Record = Callable[[str, Collection[str], int, Transaction], int]


class Uses:
    """The uses that are not stored yet."""

    def __init__(self, database: Database, record: Record) -> None:
        self._database = database
        self._record = record
        # The IDs by account and time.
        self._ids: defaultdict[tuple[str, int], set[str]] = defaultdict(set)

    def add(self, account_id: str, used_id: str, time: int) -> None:
        self._ids[account_id, time].add(used_id)

    async def store(self) -> int:
        """Stores the added uses, and returns the number of changed keys or sessions."""
        changed = 0
        while self._ids:
            (account_id, time), ids = self._ids.popitem()
            caller.enter_account(account_id)
            try:
                changed += await self._database.write(partial(self._record, account_id, ids, time))
            except (Unavailable, Internal):
                log.warning("use of API keys or sessions not stored: database not available")
                break
        return changed
