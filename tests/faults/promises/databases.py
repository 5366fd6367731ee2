"""Runs a scenario of a service on a new database."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from ...postgres import running
from .checker import Results

# Takes the repetitions, a folder of its own, and settings of the database.
Scenario = Callable[..., Results]


def on_sqlite(scenario: Scenario) -> Callable[[int], Results]:
    def run(repetitions: int) -> Results:
        with tempfile.TemporaryDirectory() as folder:
            return scenario(repetitions, Path(folder))

    return run


def on_postgres(scenario: Scenario) -> Callable[[int], Results]:
    def run(repetitions: int) -> Results:
        with tempfile.TemporaryDirectory() as folder, running() as postgres:
            return scenario(
                repetitions,
                Path(folder),
                ROSTER_DATABASE_URL=postgres.new_database(),
                ROSTER_SECRET_KEY=postgres.secret_key,
            )

    return run
