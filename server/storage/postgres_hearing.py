"""What processes on one PostgreSQL database tell each other: of which accounts there is news.

A notification is sent with the commit of the transaction that made the news, so whoever
hears it finds what it is about. It is lost where nobody listens at that moment, and on a
cluster where another node commits: it makes things quick, and nothing relies on it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import psycopg

from .news import News
from .postgres_link import parameters
from .postgres_transaction import CHANNEL

log = logging.getLogger(__name__)

# How long, in seconds, before a connection that was lost is made again.
PAUSE_SECONDS = 1.0


async def hear_others(url: str, news: News) -> None:
    """Passes on what is told, until it is cancelled; what breaks is mended."""
    while True:
        try:
            await _hear(parameters(url), news)
        except (psycopg.Error, OSError) as error:
            log.warning("news of other processes cannot be heard: %s", error)
        await asyncio.sleep(PAUSE_SECONDS)


async def _hear(options: dict[str, Any], news: News) -> None:
    connection = await psycopg.AsyncConnection.connect(**options, autocommit=True)
    async with connection:
        await connection.execute(f"LISTEN {CHANNEL}")
        async for notice in connection.notifies():
            news.tell([notice.payload])
