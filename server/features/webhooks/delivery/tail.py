"""Streams the attempts of an account as they finish.

A stream polls the database: soon after an attempt has finished, and every second while none
does. So it returns the attempts of all processes on either database, and continues after the
database was not available.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial

from ....rpc.caller import Caller
from ....rpc.errors import Unavailable
from ....storage.database import Database
from ....storage.transaction import Transaction
from ...sessions.store import check_credential
from ..endpoints.store_reading import find
from .store_deliveries import TailBatch, TailRecord, attempts_after, last_position

# Attempts that are read at a time.
MAX_BATCH = 100
# Seconds between polls. Doubled after each poll without a new attempt, up to the maximum.
MIN_PAUSE, MAX_PAUSE = 0.05, 1.0


class Tails:
    """Streams of finished attempts, which end when the service stops."""

    def __init__(
        self, database: Database, *, max_pause: float = MAX_PAUSE, max_batch: int = MAX_BATCH
    ) -> None:
        self._database = database
        self._max_pause = max_pause
        self._max_batch = max_batch
        self._stopping = asyncio.Event()

    def serve(self, *, serving: bool) -> None:
        """Allows streams, or ends all of them."""
        if serving:
            self._stopping.clear()
        else:
            self._stopping.set()

    async def start(self, caller: Caller, webhook_id: str) -> int:
        """Returns the current position. Raises WebhookNotFound if `webhook_id` does not exist."""
        return await self._database.read(partial(_start, caller.account_id, webhook_id))

    async def follow(
        self, caller: Caller, webhook_id: str, position: int
    ) -> AsyncIterator[TailRecord]:
        """Yields the attempts after a position, of one webhook unless `webhook_id` is empty.

        Raises Unauthorized when the caller's key is revoked or expires, and Unavailable when
        the service stops.
        """
        pause = MIN_PAUSE
        while True:
            batch = TailBatch([], position)
            with suppress(Unavailable):
                batch = await self._database.read(
                    partial(_next_batch, caller, webhook_id, position, self._max_batch)
                )
            for record in batch.records:
                yield record
            position = batch.position
            pause = MIN_PAUSE if batch.records else min(2 * pause, self._max_pause)
            await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        if self._stopping.is_set():
            raise Unavailable


def _start(account_id: str, webhook_id: str, tx: Transaction) -> int:
    if webhook_id:
        find(account_id, webhook_id, tx)
    return last_position(account_id, tx)


def _next_batch(
    caller: Caller, webhook_id: str, position: int, limit: int, tx: Transaction
) -> TailBatch:
    check_credential(caller.account_id, caller.actor.id, tx)
    return attempts_after(caller.account_id, webhook_id, position, limit, tx)
