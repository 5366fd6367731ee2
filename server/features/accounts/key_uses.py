"""Stores the days on which API keys are used.

Calls do not wait for it: Authenticate adds a key when it looks it up and the stored day is over,
and a periodic task stores the added keys. If a write fails, the next lookups add its keys again.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from functools import partial

from ...rpc import caller
from ...rpc.errors import Internal, Unavailable
from ...storage.database import Database
from . import store_keys

log = logging.getLogger(__name__)


class KeyUses:
    """The keys whose use is not stored yet."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # The IDs of keys by account and start of the day.
        self._keys: defaultdict[tuple[str, int], set[str]] = defaultdict(set)

    def add(self, account_id: str, key_id: str, day: int) -> None:
        self._keys[account_id, day].add(key_id)

    async def store(self) -> int:
        """Stores the added keys, and returns the number of changed ones."""
        changed = 0
        while self._keys:
            (account_id, day), key_ids = self._keys.popitem()
            caller.enter_account(account_id)
            record = partial(store_keys.record_use, account_id, key_ids, day)
            try:
                changed += await self._database.write(record)
            except (Unavailable, Internal):
                log.warning("use of API keys not stored: database not available")
                break
        return changed
