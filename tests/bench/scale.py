"""`make bench-scale`: measures growing tables, filters, calls and deliveries on both databases.

Tables of every size are open at the same time and measured in turns, so that other load of the
machine affects all of them. Each measurement is one unit of work with its commit, through the
executor of the database, as in a service.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.query.plan import PagePosition, plan_of
from rosterd.server.features.subscribers.query.store_pages import read_page
from rosterd.server.features.subscribers.query.tree import EVERYONE
from rosterd.server.features.subscribers.rules import NewSubscriber
from rosterd.server.features.subscribers.store import SubscriberStore
from rosterd.server.features.suppressions.store import Suppressions
from rosterd.server.security.encryption import Encryption
from rosterd.server.storage.database import Database
from rosterd.server.storage.databases import database_at
from rosterd.server.values.database_url import parse_database_url
from rosterd.server.values.emails import Email

from .. import reaper
from ..postgres import running
from ..storage.helpers import profile
from . import scale_calls, scale_deliveries, scale_filters
from .measurement import unique_numbers
from .scale_fill import ACCOUNT, fill

SIZES = (0, 10_000, 100_000, 1_000_000)
LIMIT = 100
FIRST, LAST, CREATE, BULK = "first page of 100", "last page of 100", "create", "bulk of 100"
# Operations that are measured in turns, and their repetitions.
TURNS = {(FIRST, LAST): 80, (CREATE,): 150, (BULK,): 50}
# The first runs of each operation fill caches and do not count.
WARMUP = 10
# Upper bounds of the ratios.
AT_MOST = {LAST: 2.0, CREATE: 1.5, BULK: 1.5}

# Milliseconds by operation, one number per size.
Costs = dict[str, list[float]]
Work = Callable[[Database, int], Awaitable[Any]]

_STORE = SubscriberStore(Suppressions(Encryption(bytes(32))))


def _new() -> NewSubscriber:
    number = next(unique_numbers)
    # Distributed like the existing addresses, and different from all of them.
    email = f"{number * 2654435761 % 2**32:08x}.{number}@example.com"
    address, tags = Email(email, email), {"newsletter": "newsletter"}
    return NewSubscriber(address, profile("Ada", "Lovelace"), Status.CONFIRMED, tags, {})


def _page(database: Database, offset: int) -> Awaitable[Any]:
    return read_page(database, ACCOUNT, plan_of(EVERYONE), PagePosition(LIMIT, offset))


def _create(database: Database, _: int) -> Awaitable[Any]:
    new = _new()
    return database.write(lambda tx: _STORE.create(ACCOUNT, new, tx))


def _bulk(database: Database, _: int) -> Awaitable[Any]:
    rows = {index: _new() for index in range(100)}
    return database.write(lambda tx: _STORE.create_many(ACCOUNT, rows, tx))


WORK: dict[str, Work] = {
    FIRST: lambda database, _: _page(database, 0),
    LAST: lambda database, size: _page(database, max(size - LIMIT, 0)),
    CREATE: _create,
    BULK: _bulk,
}


async def measured(urls: list[str]) -> Costs:
    """Measures databases of every size in turns, and returns the medians."""
    databases = [database_at(parse_database_url(url), 2) for url in urls]
    for database in databases:
        await database.open()
    costs: Costs = {}
    for names, repetitions in TURNS.items():
        costs |= await _medians(names, repetitions, databases)
    for database in databases:
        await database.close()
    return costs


async def _medians(names: Sequence[str], repetitions: int, databases: Sequence[Database]) -> Costs:
    times: dict[str, list[list[float]]] = {name: [[] for _ in databases] for name in names}
    for _ in range(WARMUP + repetitions):
        for index, database in enumerate(databases):
            for name in names:
                done = WORK[name](database, SIZES[index])
                started = time.perf_counter()
                await done
                times[name][index].append((time.perf_counter() - started) * 1000)
    return {name: [statistics.median(values[WARMUP:]) for values in times[name]] for name in names}


def ratio(name: str, costs: Costs) -> float:
    """Returns the cost on the largest table relative to its first page or to an empty table."""
    baseline = costs[FIRST][-1] if name == LAST else costs[name][0]
    return costs[name][-1] / baseline


@contextmanager
def stores() -> Iterator[dict[str, list[str]]]:
    """Creates the tables, and yields their URLs by the name of the database."""
    with tempfile.TemporaryDirectory(dir=".") as folder, running() as server:
        urls = {
            "SQLite": [f"sqlite:///{folder}/{size}.db" for size in SIZES],
            "PostgreSQL": [server.new_database("TEMPLATE template0") for _ in SIZES],
        }
        for own in urls.values():
            for url, size in zip(own, SIZES, strict=True):
                fill(url, size)
        server.run("CHECKPOINT")
        yield urls


def main() -> None:
    reaper.start()
    table = Table("ms, on", *(f"{size:,}" for size in SIZES), "ratio", "target", box=None)
    with stores() as urls:
        costs = {kind: asyncio.run(measured(own)) for kind, own in urls.items()}
    for kind, own in costs.items():
        for name, values in own.items():
            ratio_cells = (
                [f"{ratio(name, own):.2f}", f"{AT_MOST[name]} or less"] if name in AT_MOST else []
            )
            table.add_row(f"{kind}: {name}", *(f"{value:.2f}" for value in values), *ratio_cells)
    Console(highlight=False).print(table)
    with scale_filters.filled() as filled:
        scale_filters.measure(filled)
        scale_calls.measure(filled)
    scale_deliveries.main()


if __name__ == "__main__":
    main()
