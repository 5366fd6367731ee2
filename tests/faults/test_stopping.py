"""SIGTERM under load: running calls finish, and no acknowledged write is lost."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from roster.v1 import tags_pb2 as pb
from roster.v1 import tags_pb2_grpc

from ..components import accepts_connections, wait_until
from ..conftest import Account, new_account
from ..fronts import HttpFront, health_stub
from ..postgres import Postgres
from ..processes import Service, start
from ..storage.helpers import select


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[Service]:
    """Runs a service that ends with the block at the latest."""
    running = start(folder, **options)
    try:
        yield running
    finally:
        running.stop(signal.SIGKILL)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path, ROSTER_LOG_LEVEL="warning") as running:
        yield running


def emails(service: Service, account: Account) -> set[str]:
    """Returns the addresses of an account from the database file."""
    with service.unit_of_work() as tx:
        rows = select(f"SELECT email FROM subscriber WHERE account_id = '{account.id}'", tx)
        return {email for (email,) in rows}


def test_stop_under_load_fails_no_grpc_call_in_progress(service: Service) -> None:
    account = new_account(service, HttpFront("http", service.http))
    metadata = [("authorization", f"Bearer {account.key}")]
    with closing(grpc.insecure_channel(service.grpc)) as channel:
        create = tags_pb2_grpc.TagServiceStub(channel).CreateTag
        with service.unit_of_work():
            # The calls wait for the lock, so that they are in progress during SIGTERM.
            calls: list[Any] = [
                create.future(pb.CreateTagRequest(name=f"tag{n}"), metadata=metadata, timeout=20)
                for n in range(100)
            ]
            grpc.channel_ready_future(channel).result(timeout=20)
            account.ok("ListTags")
            service.process.send_signal(signal.SIGTERM)
        assert {call.code() for call in calls} == {grpc.StatusCode.OK}

    assert service.ended() == 0


def test_health_watch_receives_not_serving_and_ends(service: Service) -> None:
    with closing(grpc.insecure_channel(service.grpc)) as channel:
        watch = health_stub(channel).Watch(HealthCheckRequest())
        assert next(watch).status is HealthCheckResponse.SERVING

        service.process.send_signal(signal.SIGTERM)

        assert next(watch).status is HealthCheckResponse.NOT_SERVING
        with pytest.raises(grpc.RpcError, match="The service is stopping"):
            next(watch)
    assert service.ended() == 0


BODY = b'{"name": "unfinished"}'


def send_incomplete_request(service: Service, key: str = "") -> socket.socket:
    """Sends a request without the rest of its body, which the service waits for."""
    host, _, port = service.http.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    head = "POST /api/tags HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += f"X-API-Key: {key}\r\n" if key else ""
    head += "Expect: 100-continue\r\n"
    connection.sendall(f"{head}Content-Length: {len(BODY)}\r\n\r\n".encode())
    assert connection.recv(65_536).startswith(b"HTTP/1.1 100")
    connection.sendall(BODY[:1])
    return connection


def complete_request(request: socket.socket) -> bytes:
    """Sends the rest of a request, and returns the beginning of its response."""
    request.sendall(BODY[1:])
    return request.recv(65_536)


def test_second_signal_kills_immediately_and_loses_no_acknowledged_write(service: Service) -> None:
    account = new_account(service, HttpFront("http", service.http))
    with closing(send_incomplete_request(service)):
        account.ok("CreateSubscriber", email="ada@example.com")
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not accepts_connections(service.http), "it still listens")
        assert service.process.poll() is None

        # A signal shortly after SIGTERM is ignored.
        wait_until(lambda: is_ended_by_sigint(service), "it does not end")
        assert service.ended() == 1

    assert emails(service, account) == {"ada@example.com"}
    log = service.log.read_text()
    assert "acknowledged writes are stored" in log
    # The log names the task in progress: a request whose body did not arrive.
    assert "RequestHandler._handle_request" in log
    assert "> message_of >" in log


def is_ended_by_sigint(service: Service) -> bool:
    """Sends SIGINT and returns whether the process has ended."""
    service.process.send_signal(signal.SIGINT)
    return service.process.poll() is not None


@pytest.mark.parametrize(
    "repeat",
    [
        pytest.param([signal.SIGTERM, signal.SIGTERM], marks=pytest.mark.verify),
        [signal.SIGINT, signal.SIGINT, signal.SIGTERM],
        pytest.param([signal.SIGTERM, signal.SIGHUP], marks=pytest.mark.verify),
    ],
    ids=["timeout", "make", "service manager"],
)
def test_signals_in_quick_succession_count_as_one(
    service: Service, repeat: list[signal.Signals]
) -> None:
    account = new_account(service, HttpFront("http", service.http))
    with closing(send_incomplete_request(service, account.key)) as request:
        account.ok("ListTags")
        for number in repeat:
            service.process.send_signal(number)

        wait_until(lambda: not accepts_connections(service.http), "it still listens")
        assert complete_request(request).startswith(b"HTTP/1.1 201")

    assert service.ended() == 0
    assert service.traces() == []


# Runs the command line with a new controlling terminal.
RUN_ON_TERMINAL = """
import fcntl, os, signal, termios
from rosterd.server.cli import main
# Tests can run under nohup.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
fcntl.ioctl(os.open("{terminal}", os.O_RDWR), termios.TIOCSCTTY, 0)
main()
"""


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.verify)])
def test_closed_terminal_stops_the_service_and_each_process_logs_its_end(
    postgres: Postgres, tmp_path: Path, workers: str
) -> None:
    ours, theirs = os.openpty()
    settings = {
        "ROSTER_DATABASE_URL": postgres.new_roster(),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_PROCESSES": workers,
    }
    code = RUN_ON_TERMINAL.format(terminal=os.ttyname(theirs))
    with serving(tmp_path, code=code, **settings) as service:
        os.close(theirs)
        account = new_account(service, HttpFront("http", service.http))
        with closing(send_incomplete_request(service, account.key)) as request:
            account.ok("ListTags")
            os.close(ours)

            wait_until(lambda: not accepts_connections(service.http), "it still listens")
            # A shell forwards SIGHUP to its children.
            service.process.send_signal(signal.SIGHUP)
            assert complete_request(request).startswith(b"HTTP/1.1 201")

        assert service.ended() == 0
        assert service.traces() == []
        messages = [json.loads(line)["message"] for line in service.log.read_text().splitlines()]
        # The supervisor of several processes is one more.
        stopped = {"1": 1, "2": 3}[workers]
        assert (messages.count("stopped"), messages[-1]) == (stopped, "stopped")
