"""Lists all promises under faults, with their repetitions and bounds.

A promise is a function that runs its scenario a number of times and returns results. A new
promise is a new row here. The lower bounds exclude runs that acknowledged nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

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


PROMISES = (
    Promise("P1 kill -9", kills.run, 40, 500, kills.AT_MOST, ACKNOWLEDGED),
    Promise("P1 on PostgreSQL", restarts.run, 8, 200, restarts.AT_MOST, ACKNOWLEDGED),
    Promise("P2 power cuts", power_cuts.run, 100, 1000, power_cuts.AT_MOST, ACKNOWLEDGED),
    Promise(
        "P2 failing disk", io_errors.run, 20, io_errors.POSITIONS, io_errors.AT_MOST, ACKNOWLEDGED
    ),
    Promise(
        "P2 checkpoints",
        checkpoints.run,
        3,
        checkpoints.POSITIONS,
        checkpoints.AT_MOST,
        checkpoints.AT_LEAST,
    ),
    Promise(
        "connection breaks to PostgreSQL",
        connection_breaks.to_database,
        100,
        POSITIONS,
        connection_breaks.AT_MOST,
        ACKNOWLEDGED,
    ),
    Promise(
        "connection breaks to a server",
        connection_breaks.to_server,
        100,
        POSITIONS,
        connection_breaks.AT_MOST,
        ACKNOWLEDGED,
    ),
    Promise("P3 deliveries", on_sqlite(deliveries.run), 20, 200, deliveries.AT_MOST, ACKNOWLEDGED),
    Promise(
        "P3 on PostgreSQL", on_postgres(deliveries.run), 8, 200, deliveries.AT_MOST, ACKNOWLEDGED
    ),
    Promise("P4 stopping", stopping.run, 8, 50, stopping.AT_MOST, ACKNOWLEDGED),
    # Repetitions are seconds. It needs an idle machine, so a short run skips it.
    Promise("P5 overload", overload.run, 0, 60, overload.AT_MOST, overload.AT_LEAST),
    Promise("P6 cross-tenant isolation", isolation.run, 20, 500, isolation.AT_MOST),
    # Repetitions are seconds.
    Promise("soak", soak.run, 60, 1200, soak.AT_MOST, soak.AT_LEAST),
    Promise(
        "P8 abandoned queries",
        on_sqlite(abandoned.run),
        10,
        200,
        abandoned.AT_MOST,
        abandoned.AT_LEAST,
    ),
    Promise(
        "P8 on PostgreSQL",
        on_postgres(abandoned.run),
        10,
        200,
        abandoned.AT_MOST,
        abandoned.AT_LEAST,
    ),
    Promise("P9 consent", on_sqlite(consent.run), 100, 10_000, consent.AT_MOST, consent.AT_LEAST),
    Promise(
        "P9 on PostgreSQL", on_postgres(consent.run), 100, 10_000, consent.AT_MOST, consent.AT_LEAST
    ),
    Promise("P10 nodes of Citus", nodes.run, 4, 100, nodes.AT_MOST, nodes.AT_LEAST, nodes.needs),
    Promise(
        "P11 operations",
        on_sqlite(operations.run),
        20,
        200,
        operations.AT_MOST,
        operations.AT_LEAST,
    ),
    Promise(
        "P11 on PostgreSQL",
        on_postgres(operations.run),
        8,
        200,
        operations.AT_MOST,
        operations.AT_LEAST,
    ),
    Promise(
        "P11 imports", on_sqlite(import_jobs.run), 6, 50, import_jobs.AT_MOST, import_jobs.AT_LEAST
    ),
    Promise(
        "P11 imports on PostgreSQL",
        on_postgres(import_jobs.run),
        4,
        50,
        import_jobs.AT_MOST,
        import_jobs.AT_LEAST,
    ),
    Promise("P11 exports", on_sqlite(exports.run), 8, 50, exports.AT_MOST, exports.AT_LEAST),
    Promise(
        "P11 exports on PostgreSQL",
        on_postgres(exports.run),
        4,
        50,
        exports.AT_MOST,
        exports.AT_LEAST,
    ),
    # Repetitions are the seconds of each turn.
    Promise(
        "P12 hostile clients", on_sqlite(hostile.run), 5, 30, hostile.AT_MOST, hostile.AT_LEAST
    ),
    Promise(
        "P12 on PostgreSQL", on_postgres(hostile.run), 5, 30, hostile.AT_MOST, hostile.AT_LEAST
    ),
    Promise(
        "P13 versions",
        versions.run,
        6,
        100,
        versions.AT_MOST,
        versions.AT_LEAST,
        versions.needs,
    ),
    # Repetitions are requests for each operation.
    Promise("P7 property-based requests", property_based.run, 5, 2000, property_based.AT_MOST),
)
