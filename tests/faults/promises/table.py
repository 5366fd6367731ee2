"""All promises that hold under faults, and how often each is tried.

A promise is a function that tries so many times and returns figures, and what these have to
be; a new one is a row here. A run that acknowledged nothing would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from . import (
    broken_lines,
    checkpoints,
    deliveries,
    io_errors,
    isolation,
    kills,
    made_up,
    overload,
    power_cuts,
    restarts,
    soak,
    stopping,
)
from .checker import Figures, broken
from .lines import PLACES

SOME = {"acknowledged": 1}


@dataclass(frozen=True)
class Promise:
    """What is tried, how often in a short run and in a full one, and what has to come of it.

    What is tried 0 times is left out.
    """

    name: str
    run: Callable[[int], Figures]
    short: int
    full: int
    at_most: Figures
    at_least: Figures = field(default_factory=dict)

    def rounds(self, *, full: bool) -> int:
        """Returns how often it is tried."""
        return self.full if full else self.short

    def broken(self, figures: Figures) -> list[str]:
        """Returns the names of the figures that are not what they have to be."""
        few = [name for name, least in self.at_least.items() if figures.get(name, 0) < least]
        return [*broken(figures, self.at_most), *few]


PROMISES = (
    Promise("P1 kill -9", kills.run, 40, 500, kills.AT_MOST, SOME),
    Promise("P1 on PostgreSQL", restarts.run, 8, 200, restarts.AT_MOST, SOME),
    Promise("P2 power cuts", power_cuts.run, 100, 1000, power_cuts.AT_MOST, SOME),
    Promise("P2 failing disk", io_errors.run, 20, io_errors.PLACES, io_errors.AT_MOST, SOME),
    Promise(
        "P2 checkpoints",
        checkpoints.run,
        3,
        checkpoints.PLACES,
        checkpoints.AT_MOST,
        checkpoints.AT_LEAST,
    ),
    Promise(
        "lines to PostgreSQL", broken_lines.to_database, 100, PLACES, broken_lines.AT_MOST, SOME
    ),
    Promise("lines to a server", broken_lines.to_server, 100, PLACES, broken_lines.AT_MOST, SOME),
    Promise("P3 deliveries", deliveries.run, 20, 200, deliveries.AT_MOST, SOME),
    Promise("P3 on PostgreSQL", deliveries.on_postgres, 8, 200, deliveries.AT_MOST, SOME),
    Promise("P4 stopping", stopping.run, 8, 50, stopping.AT_MOST, SOME),
    # Rounds are seconds here. It is tried where nothing else runs, so not in a short run.
    Promise("P5 overload", overload.run, 0, 60, overload.AT_MOST, overload.AT_LEAST),
    Promise("P6 strangers", isolation.run, 20, 500, isolation.AT_MOST),
    # Rounds are seconds.
    Promise("soak", soak.run, 60, 1200, soak.AT_MOST, soak.AT_LEAST),
    Promise("P7 made up", made_up.run, 5, 2000, made_up.AT_MOST),
)
