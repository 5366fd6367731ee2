"""Processes of a version that the database does not support anymore."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from rosterd.server.serving.console import ExitCode

from ..cli.commands import FREE, error_line, roster
from ..components import Component, launch
from ..postgres import Postgres
from ..processes import limited

RAISE = "UPDATE schema_version SET minimum_version = 9999"
TEXT = "The database requires a program of schema version 9999 or later"


@pytest.fixture
def settings(postgres: Postgres) -> dict[str, str]:
    """The settings of processes on a new database."""
    return {
        "ROSTER_DATABASE_URL": postgres.new_roster(),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        # Without the warning that the test server runs without fsync.
        "ROSTER_LOG_LEVEL": "error",
    }


def wait_for(component: Component, text: str) -> None:
    """Waits until a process prints a line with a text."""
    assert component.process.stdout is not None
    with limited(component.process):
        for line in component.process.stdout:
            component.printed.append(line)
            if text in line:
                return
    raise AssertionError(component.log.read_text())


@pytest.mark.parametrize(
    ("command", "workers", "text"),
    [
        ("serve", "1", "roster accounts list"),
        pytest.param("serve", "2", "accounts list", marks=pytest.mark.verify),
        pytest.param("worker", "1", "", marks=pytest.mark.verify),
    ],
    ids=["one process", "two processes", "background worker"],
)
def test_process_below_the_minimum_version_ends_and_is_not_started_again(
    settings: dict[str, str], tmp_path: Path, command: str, workers: str, text: str
) -> None:
    log = tmp_path / "log"
    component = launch(command, log, **settings, ROSTER_PROCESSES=workers)
    wait_for(component, text)

    with psycopg.connect(settings["ROSTER_DATABASE_URL"]) as connection:
        connection.execute(RAISE)

    component.process.wait(timeout=60)
    assert component.stop() == ExitCode.OUTDATED
    assert TEXT in log.read_text()
    assert TEXT in error_line(roster(command, **settings, **FREE), ExitCode.OUTDATED)
