"""roster worker: a process of its own, which does what a service does beside its calls."""

from __future__ import annotations

import signal
import subprocess
import sys

import psycopg
import pytest

from server.accounts import store as accounts
from server.cli.beside import unit_of_work
from server.cli.output import ExitCode
from server.idempotency.store import KEPT_MILLISECONDS, Kept, keep

from ..postgres import Postgres
from ..processes import environment
from .test_commands import complaint, roster

# Runs the command line with rounds that follow each other at once.
HURRIES = """
from server.upkeep import upkeep
upkeep.PURGE_INTERVAL = 0.02
from server.cli import main
main()
"""


@pytest.fixture
def url(postgres: Postgres) -> str:
    """A database on a server with an answer whose time is over."""
    url = postgres.new_database()
    with unit_of_work(url) as tx:
        own = accounts.create_account("ada@example.com", tx, verified=True).id
        tx.now -= KEPT_MILLISECONDS
        keep(own, "key", Kept("fingerprint", b"answer"), tx)
    return url


def start(url: str) -> subprocess.Popen[str]:
    """Starts a worker, and returns once it works."""
    process = subprocess.Popen(
        [sys.executable, "-c", HURRIES, "worker", "--database-url", url],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert "looking after" in process.stdout.readline()
    return process


def test_workers_take_away_what_is_old_and_end_with_0(url: str) -> None:
    workers = [start(url), start(url)]
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            while connection.execute("SELECT * FROM kept_answer").fetchall():
                assert all(worker.poll() is None for worker in workers)
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        outputs = [worker.communicate(timeout=20) for worker in workers]

    assert [worker.returncode for worker in workers] == [0, 0]
    logs = "".join(log for _, log in outputs)
    assert logs.count("purge of kept answers") == logs.count('"rows":1') == 1
    assert "Traceback" not in logs


def test_file_is_refused_since_its_service_does_the_work(tmp_path: object) -> None:
    done = roster("worker", ROSTER_DATABASE_URL=f"sqlite:///{tmp_path}/roster.db")

    assert "its service" in complaint(done, ExitCode.DATABASE)
