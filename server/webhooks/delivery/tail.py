"""Follows the attempts of accounts as they end, for callers who stay on the line.

Whoever follows asks again and again: soon after something has ended, and every second
where nothing does, which costs next to nothing. So it hears of what every process has
done, on whichever database, and goes on by itself after a while in which the database
could not be had.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial

from ...accounts.store import has_key
from ...caller import Caller
from ...errors import Unauthorized, Unavailable
from ...storage.database import Database
from ...storage.transaction import Transaction
from ..endpoints.store_reading import find
from .store_tail import TailBatch, TailRecord, attempts_after, last_position

# Seconds between two looks: twice as long each time that nothing has ended, up to the last.
MIN_PAUSE, MAX_PAUSE = 0.05, 1.0


class Tails:
    """Those who follow, as long as the service serves them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stopping = asyncio.Event()

    def serve(self, *, serving: bool) -> None:
        """Lets callers follow, or ends all who do."""
        if serving:
            self._stopping.clear()
        else:
            self._stopping.set()

    async def begin(self, caller: Caller, webhook_id: str) -> int:
        """Returns the place from which attempts are followed, at one webhook if one is named.

        Raises WebhookNotFound.
        """
        return await self._database.read(partial(_begin, caller.account_id, webhook_id))

    async def follow(
        self, caller: Caller, webhook_id: str, position: int
    ) -> AsyncIterator[TailRecord]:
        """Yields the attempts that end after a place, at one webhook if one is named.

        Raises Unauthorized once the caller's key has ended, and Unavailable when the service
        stops.
        """
        pause = MIN_PAUSE
        while True:
            batch = TailBatch([], position)
            with suppress(Unavailable):
                batch = await self._database.read(
                    partial(_next_batch, caller, webhook_id, position)
                )
            for record in batch.records:
                yield record
            position = batch.position
            pause = MIN_PAUSE if batch.records else min(2 * pause, MAX_PAUSE)
            await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        if self._stopping.is_set():
            raise Unavailable


def _begin(account_id: str, webhook_id: str, tx: Transaction) -> int:
    if webhook_id:
        find(account_id, webhook_id, tx)
    return last_position(account_id, tx)


def _next_batch(caller: Caller, webhook_id: str, position: int, tx: Transaction) -> TailBatch:
    if not has_key(caller.account_id, caller.key_id, tx):
        raise Unauthorized
    return attempts_after(caller.account_id, webhook_id, position, tx)
