"""`python -m tests.bench.backup`: measures how a backup slows down concurrent writes.

Eight clients create subscribers in a database of 200,000, each waiting for its commit. They
run alternately alone and during a backup in a thread of the same process, as in a service.
The output is the median, the 99th percentile and the maximum of their latencies.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.rules import NewSubscriber
from rosterd.server.features.subscribers.store import SubscriberStore
from rosterd.server.features.suppressions.store import Suppressions
from rosterd.server.security.encryption import Encryption
from rosterd.server.storage.backups.create import back_up
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.values.emails import Email

from ..storage.helpers import profile
from .measurement import REPETITIONS, SECONDS, unique_numbers
from .scale_fill import ACCOUNT, fill

SUBSCRIBERS, CLIENTS = 200_000, 8
_STORE = SubscriberStore(Suppressions(Encryption(bytes(32))))


async def _create(database: SqliteDatabase, ended: asyncio.Event, latencies: list[float]) -> None:
    """Creates subscribers one after another, and records each latency in milliseconds."""
    while not ended.is_set():
        # Distributed over the index like the existing addresses.
        number = next(unique_numbers)
        email = f"{number * 2654435761 % 2**32:08x}.{number}@example.com"
        address, tags = Email(email, email), {"newsletter": "newsletter"}
        new = NewSubscriber(address, profile("Ada", "Lovelace"), Status.CONFIRMED, tags, {})
        began = time.perf_counter()
        await database.write(lambda tx, new=new: _STORE.create(ACCOUNT, new, tx))
        latencies.append(1000 * (time.perf_counter() - began))


async def measured(path: Path) -> dict[str, list[list[float]]]:
    """Returns the latencies of each run, alone and during a backup."""
    database = SqliteDatabase(path)
    results: dict[str, list[list[float]]] = {"alone": [], "during a backup": []}
    await database.open()
    for number in range(REPETITIONS):
        for name, turns in results.items():
            turns.append([])
            ended = asyncio.Event()
            clients = [_create(database, ended, turns[-1]) for _ in range(CLIENTS)]
            running = asyncio.gather(*clients)
            if name == "alone":
                await asyncio.sleep(SECONDS)
            else:
                target = path.with_name(f"{number}.backup")
                await asyncio.to_thread(back_up, path, target, lambda *_: None)
            ended.set()
            await running
    await database.close()
    return results


def main() -> None:
    table = Table("creates", "per second", "median ms", "99th percentile", "maximum", box=None)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "roster.db"
        fill(f"sqlite:///{path}", SUBSCRIBERS)
        for name, turns in asyncio.run(measured(path)).items():
            latencies = sorted(wait for turn in turns for wait in turn)
            rate = CLIENTS * 1000 / statistics.mean(latencies)
            quantiles = (
                latencies[len(latencies) // 2],
                latencies[len(latencies) * 99 // 100],
                latencies[-1],
            )
            table.add_row(name, f"{rate:,.0f}", *(f"{quantile:.1f}" for quantile in quantiles))
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
