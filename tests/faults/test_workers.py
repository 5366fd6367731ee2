"""Several processes behind the same ports: `roster serve --processes N`."""

from __future__ import annotations

import http.client
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import grpc
import psutil
import pytest
from grpc_health.v1 import health_pb2

from rosterd.server.serving.console import ExitCode

from ..cli.commands import FREE, error_line, roster
from ..components import child_processes, is_alive, wait_until
from ..conftest import new_account
from ..fronts import HttpFront, health_stub
from ..load import Load, create, stored
from ..postgres import Postgres
from ..processes import Service, start

# Without the warning about fsync on the test server.
ERROR_LOG_SETTINGS = {**FREE, "ROSTER_LOG_LEVEL": "error"}
COUNT = 2
# The kernel distributes connections at random. With so many, each worker has one.
CLIENTS = 16


def serve(postgres: Postgres, folder: Path, **settings: str) -> Service:
    """Starts workers on a new database of the server."""
    return start(
        folder,
        **{
            "ROSTER_DATABASE_URL": postgres.new_roster(),
            "ROSTER_SECRET_KEY": postgres.secret_key,
            "ROSTER_LOG_LEVEL": "error",
            "ROSTER_PROCESSES": str(COUNT),
            **settings,
        },
    )


@pytest.fixture(scope="module")
def workers_service(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service with two workers."""
    service = serve(postgres, tmp_path_factory.mktemp("workers_service"))
    yield service
    assert service.stop() == 0
    assert service.traces() == []


def descriptors(process: int) -> int:
    """Returns the number of open file descriptors of a process."""
    return len(os.listdir(f"/proc/{process}/fd"))


def listening_workers(process: int) -> list[int]:
    """Returns the ids of the child processes that accept connections."""
    return [
        worker
        for worker in child_processes(process)
        if any(
            net_connection.status == psutil.CONN_LISTEN
            for net_connection in psutil.Process(worker).net_connections("tcp")
        )
    ]


def test_start_is_printed_once_with_one_first_key(workers_service: Service) -> None:
    text = "".join(workers_service.printed)

    assert text.count("is serving") == 1
    assert f"in {COUNT} processes" in text
    front = HttpFront("http", workers_service.http)
    assert front.call("ListApiKeys", workers_service.first_key, {}).body["total"] == 1


def test_workers_are_rejected_on_sqlite_with_the_reason(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/roster.db"

    done = roster("serve", "--processes", "2", ROSTER_DATABASE_URL=url, **FREE)

    line = error_line(done, ExitCode.USAGE)
    assert "--processes must be 1 with SQLite" in line
    assert "one process" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "workers"), [("ROSTER_HTTP_ADDRESS", "2"), ("ROSTER_GRPC_ADDRESS", "1")]
)
def test_ports_of_workers_are_not_shared_with_another_service(
    workers_service: Service, postgres: Postgres, name: str, workers: str
) -> None:
    address = workers_service.http if "HTTP" in name else workers_service.grpc
    settings = {**ERROR_LOG_SETTINGS, name: address, "ROSTER_PROCESSES": workers}
    settings |= {"ROSTER_DATABASE_URL": workers_service.database_url}
    settings |= {"ROSTER_SECRET_KEY": postgres.secret_key}

    line = error_line(roster("serve", **settings), ExitCode.PORT_IN_USE)

    assert address in line


@pytest.mark.verify
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are not listed here")
def test_connections_to_both_ports_are_distributed_among_all_workers(
    workers_service: Service,
) -> None:
    with ExitStack() as stack:
        for port in ("http", "grpc"):
            before = {
                worker: descriptors(worker)
                for worker in child_processes(workers_service.process.pid)
            }
            for number in range(40):
                if port == "http":
                    connection = stack.enter_context(
                        closing(http.client.HTTPConnection(workers_service.http, timeout=20))
                    )
                    connection.request("GET", "/healthz")
                    assert connection.getresponse().read()
                else:
                    # Each channel has its own connection.
                    options = [("grpc.use_local_subchannel_pool", 1), ("number", number)]
                    channel = stack.enter_context(
                        grpc.insecure_channel(workers_service.grpc, options)
                    )
                    stub = health_stub(channel)
                    stub.Check(health_pb2.HealthCheckRequest(), timeout=20)
            after = {worker: descriptors(worker) for worker in before}
            assert len(after) == COUNT
            assert [worker for worker in after if after[worker] <= before[worker]] == []


@pytest.mark.verify
def test_killed_worker_is_replaced_and_fails_only_its_requests_in_progress(
    workers_service: Service,
) -> None:
    account = new_account(workers_service, HttpFront("http", workers_service.http))
    before = child_processes(workers_service.process.pid)

    with Load([workers_service.http], account.key).running(*[create] * CLIENTS) as load:
        load.wait_for_more(50)
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: not is_alive(before[0]), "nothing was killed")
        dead = time.monotonic()
        load.wait_for_more(50)
        wait_until(
            lambda: len(listening_workers(workers_service.process.pid)) == COUNT,
            "nothing was replaced",
        )
        load.wait_for_more(50)

    assert len(set(child_processes(workers_service.process.pid)) - set(before)) == 1
    failed = load.failed()
    assert {item.status for item in failed} <= {0}
    assert [item for item in failed if item.began > dead] == []
    # Connections of the other workers stay open.
    assert len({item.client for item in failed}) < CLIENTS
    found = stored(workers_service.database_url, account.id)
    assert set(load.acknowledged()) <= set(found) <= {exchange.email for exchange in load.exchanges}


@pytest.mark.verify
def test_workers_end_with_their_parent_process(postgres: Postgres, tmp_path: Path) -> None:
    service = serve(postgres, tmp_path, ROSTER_PROCESSES="2")
    workers = child_processes(service.process.pid)

    service.stop(signal.SIGKILL)

    wait_until(lambda: not any(map(is_alive, workers)), "workers are left")
    assert service.traces() == []
