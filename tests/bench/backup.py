"""`python -m tests.bench.backup`: what a backup costs those who write meanwhile.

Eight clients create subscribers, each waiting for its commit, in a database of 200,000. In
turns they are left alone and a backup is made beside them, in a thread of the same process
as a service makes it. Told is how long the median, the hundredth and the last of them waited.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from server.emails import Email
from server.encryption import Encryption
from server.storage.backups.create import back_up
from server.storage.sqlite.database import SqliteDatabase
from server.subscribers.rules import NewSubscriber, Status
from server.subscribers.store import SubscriberStore
from server.suppressions.store import Suppressions

from .measuring import ROUNDS, SECONDS, numbers
from .scale_fill import ACCOUNT, fill

SUBSCRIBERS, CLIENTS = 200_000, 8
_STORE = SubscriberStore(Suppressions(Encryption(bytes(32))))


async def _create(database: SqliteDatabase, ended: asyncio.Event, waits: list[float]) -> None:
    """Creates one after the other, and notes the milliseconds that each took."""
    while not ended.is_set():
        # Spread over the index like those that are there.
        number = next(numbers)
        email = f"{number * 2654435761 % 2**32:08x}.{number}@example.com"
        address, tags = Email(email, email), {"newsletter": "newsletter"}
        new = NewSubscriber(address, "Ada", "Lovelace", Status.CONFIRMED, tags, {})
        began = time.perf_counter()
        await database.write(lambda tx, new=new: _STORE.create(ACCOUNT, new, tx))
        waits.append(1000 * (time.perf_counter() - began))


async def measured(path: Path) -> dict[str, list[list[float]]]:
    """Returns what the clients waited in each turn, left alone and beside a backup."""
    database = SqliteDatabase(path)
    found: dict[str, list[list[float]]] = {"alone": [], "beside a backup": []}
    await database.open()
    for number in range(ROUNDS):
        for name, turns in found.items():
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
    return found


def main() -> None:
    table = Table("creating", "a second", "median ms", "99 of 100", "worst", box=None)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "roster.db"
        fill(f"sqlite:///{path}", SUBSCRIBERS)
        for name, turns in asyncio.run(measured(path)).items():
            waits = sorted(wait for run_cycle in turns for wait in run_cycle)
            rate = CLIENTS * 1000 / statistics.mean(waits)
            quantiles = (waits[len(waits) // 2], waits[len(waits) * 99 // 100], waits[-1])
            table.add_row(name, f"{rate:,.0f}", *(f"{each:.1f}" for each in quantiles))
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
