"""Lists all promises under faults, with their repetitions and bounds.

A promise is a function that runs its scenario a number of times and returns results. A new
promise is a new row here. The lower bounds exclude runs that acknowledged nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType

from . import (
    abandoned,
    checkpoints,
    connection_breaks,
    consent,
    deliveries,
    exports,
    hostile,
    import_jobs,
    io_errors,
    isolation,
    kills,
    nodes,
    operations,
    overload,
    power_cuts,
    property_based,
    restarts,
    soak,
    stopping,
    versions,
)
from .breaking_proxy import POSITIONS
from .checker import Results, broken
from .databases import on_postgres, on_sqlite

ACKNOWLEDGED = {"acknowledged": 1}


@dataclass(frozen=True)
class Promise:
    """A scenario, its repetitions in a short and in a full run, and the bounds of its results.

    A promise with 0 repetitions is skipped.
    """

    name: str
    run: Callable[[int], Results]
    short: int
    full: int
    at_most: Results
    at_least: Results = field(default_factory=dict)
    # Returns what is missing to run it, or an empty text.
    needs: Callable[[], str] = str

    def repetitions(self, *, full: bool) -> int:
        return self.full if full else self.short

    def broken(self, results: Results) -> list[str]:
        """Returns the names of the results that are out of bounds."""
        few = [name for name, least in self.at_least.items() if results.get(name, 0) < least]
        return [*broken(results, self.at_most), *few]


def promise(
    name: str,
    module: ModuleType,
    short: int,
    full: int,
    *,
    run: Callable[[int], Results] | None = None,
) -> Promise:
    """Returns the promise of a module, which declares its bounds and what it needs.

    If it declares no lower bounds, something must have been acknowledged.
    """
    at_least = getattr(module, "AT_LEAST", ACKNOWLEDGED)
    needs = getattr(module, "needs", str)
    return Promise(name, run or module.run, short, full, module.AT_MOST, at_least, needs)


def on_both(
    name: str, module: ModuleType, short: int, on_postgresql: int, full: int, *, other: str = ""
) -> tuple[Promise, Promise]:
    """Returns a promise on SQLite, and on PostgreSQL with other repetitions in a short run."""
    other = other or f"{name.partition(' ')[0]} on PostgreSQL"
    return (
        promise(name, module, short, full, run=on_sqlite(module.run)),
        promise(other, module, on_postgresql, full, run=on_postgres(module.run)),
    )


PROMISES = (
    promise("P1 kill -9", kills, 40, 500),
    promise("P1 on PostgreSQL", restarts, 8, 200),
    promise("P2 power cuts", power_cuts, 100, 1000),
    promise("P2 failing disk", io_errors, 20, io_errors.POSITIONS),
    promise("P2 checkpoints", checkpoints, 3, checkpoints.POSITIONS),
    promise(
        "connection breaks to PostgreSQL",
        connection_breaks,
        100,
        POSITIONS,
        run=connection_breaks.to_database,
    ),
    promise(
        "connection breaks to a server",
        connection_breaks,
        100,
        POSITIONS,
        run=connection_breaks.to_server,
    ),
    *on_both("P3 deliveries", deliveries, 20, 8, 200),
    promise("P4 stopping", stopping, 8, 50),
    # Repetitions are seconds. It needs an idle machine, so a short run skips it.
    promise("P5 overload", overload, 0, 60),
    promise("P6 cross-tenant isolation", isolation, 20, 500),
    # Repetitions are seconds.
    promise("soak", soak, 60, 1200),
    *on_both("P8 abandoned queries", abandoned, 10, 10, 200),
    *on_both("P9 consent", consent, 100, 100, 10_000),
    promise("P10 nodes of Citus", nodes, 4, 100),
    *on_both("P11 operations", operations, 20, 8, 200),
    *on_both("P11 imports", import_jobs, 6, 4, 50, other="P11 imports on PostgreSQL"),
    *on_both("P11 exports", exports, 8, 4, 50, other="P11 exports on PostgreSQL"),
    # Repetitions are the seconds of each turn.
    *on_both("P12 hostile clients", hostile, 5, 5, 30),
    promise("P13 versions", versions, 6, 100),
    # Repetitions are requests for each operation.
    promise("P7 property-based requests", property_based, 5, 2000),
)
