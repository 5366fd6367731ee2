"""The cluster that tests start: its nodes can fail, and its processes end with the tests."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from ..components import is_alive, wait_until
from ..processes import limited
from .cluster import Cluster

ROOT = Path(__file__).parents[2]
COUNT = "SELECT count(*) FROM counted"

pytestmark = pytest.mark.verify


@pytest.fixture
def url(citus: Cluster) -> str:
    """A database with one distributed table of 100 rows."""
    url = citus.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE counted (number int)")
        connection.execute("SELECT create_distributed_table('counted', 'number')")
        connection.execute("INSERT INTO counted SELECT generate_series(1, 100)")
    return url


def test_node_that_stops_or_freezes_serves_again_afterwards(citus: Cluster, url: str) -> None:
    worker = citus.workers[0]
    with psycopg.connect(url, autocommit=True) as connection:
        worker.stop()
        with pytest.raises(psycopg.Error):
            connection.execute(COUNT)
        worker.start()
        assert connection.execute(COUNT).fetchone() == (100,)

        worker.freeze()
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            psycopg.connect(worker.url(), connect_timeout=2)
        worker.thaw()
        assert connection.execute(COUNT).fetchone() == (100,)


# A test process with a cluster that has a suspended worker node.
STARTS = """
from tests import reaper
from tests.citus.cluster import installation, running
reaper.start()
with running(installation()) as cluster:
    cluster.workers[0].freeze()
    print(*[node.pid for node in cluster.nodes], flush=True)
    input()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_cluster_ends_with_the_process_that_started_it(
    citus: Cluster, number: signal.Signals
) -> None:
    command = [sys.executable, "-c", STARTS]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process, limited(process):
        assert process.stdout is not None
        servers = [int(word) for word in process.stdout.readline().split()]
        assert len(servers) == 3
        assert all(map(is_alive, servers))

        process.send_signal(number)

    wait_until(lambda: not any(map(is_alive, servers)), "servers are left")


def test_cluster_for_manual_use_prints_its_url_and_ends_at_a_signal(citus: Cluster) -> None:
    command = [sys.executable, "-m", "tests.citus.cluster"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with process, limited(process):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with psycopg.connect(url) as connection:
            found = connection.execute("SELECT count(*) FROM citus_get_active_worker_nodes()")
            assert found.fetchone() == (2,)

        process.send_signal(signal.SIGINT)

        assert process.wait(timeout=60) == 0
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
