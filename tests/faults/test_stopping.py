"""SIGTERM while there is much to do: what runs is finished, and nothing that was told is lost."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from roster.v1 import tags_pb2 as pb
from roster.v1 import tags_pb2_grpc

from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..load import Client, Load, Sent, create
from ..parts import listens, wait_until
from ..processes import Service, start

ROUNDS, CLIENTS = 3, 6


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    running = start(tmp_path, ROSTER_LOG_LEVEL="warning")
    yield running
    running.stop(signal.SIGKILL)


def emails(service: Service, account: Account) -> set[str]:
    """Returns the addresses of an account, as the file itself has them."""
    with service.unit_of_work() as tx:
        rows = tx._database.execute_sql(
            "SELECT email FROM subscriber WHERE account_id = ?", (account.id,)
        )
        return {email for (email,) in rows}


def look(client: Client, turn: int) -> Sent:
    """Reads a page."""
    return client.ask("GET", "/api/subscribers?limit=5")


def test_nothing_that_was_sent_fails_when_a_busy_service_is_stopped(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        (folder := tmp_path / str(number)).mkdir()
        service = start(folder, ROSTER_LOG_LEVEL="error")
        account = new_account(service, HttpFront("http", service.http))

        with Load([service.http], account.key).running(*[create] * CLIENTS, look, look) as load:
            load.wait_for_more(100)
            asked = time.monotonic()
            assert service.stop() == 0

        # Those that are sent later find it there as well, if they come soon enough.
        assert [sent for sent in load.failed() if sent.began < asked] == []
        assert set(load.taken()) == emails(service, account)
        assert service.traces() == []


def test_no_call_over_grpc_in_flight_fails_when_a_busy_service_is_stopped(
    service: Service,
) -> None:
    account = new_account(service, HttpFront("http", service.http))
    metadata = [("authorization", f"Bearer {account.key}")]
    with closing(grpc.insecure_channel(service.grpc)) as channel:
        create = tags_pb2_grpc.TagServiceStub(channel).CreateTag
        with service.unit_of_work():
            # They wait for the lock, and thus run when the service is asked to stop.
            calls: list[Any] = [
                create.future(pb.CreateTagRequest(name=f"tag{n}"), metadata=metadata, timeout=20)
                for n in range(100)
            ]
            grpc.channel_ready_future(channel).result(timeout=20)
            account.ok("ListTags")
            service.process.send_signal(signal.SIGTERM)
        assert {call.code() for call in calls} == {grpc.StatusCode.OK}

    assert service.ended() == 0


def test_whoever_follows_its_health_hears_of_the_end_and_is_let_go(service: Service) -> None:
    with closing(grpc.insecure_channel(service.grpc)) as channel:
        watch = HealthStub(channel).Watch(HealthCheckRequest())
        assert next(watch).status is HealthCheckResponse.SERVING

        service.process.send_signal(signal.SIGTERM)

        assert next(watch).status is HealthCheckResponse.NOT_SERVING
        with pytest.raises(grpc.RpcError, match="The service is stopping"):
            next(watch)
    assert service.ended() == 0


def half_a_request(service: Service) -> socket.socket:
    """Begins a request whose body does not come, which is waited for."""
    host, _, port = service.http.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    head = "POST /api/tags HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: 20\r\n\r\n{{".encode())
    return connection


def test_second_signal_ends_at_once_and_loses_nothing_that_was_acknowledged(
    service: Service,
) -> None:
    account = new_account(service, HttpFront("http", service.http))
    with closing(half_a_request(service)):
        account.ok("CreateSubscriber", email="ada@example.com")
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not listens(service.http), "it still listens")
        assert service.process.poll() is None

        assert service.stop(signal.SIGINT) == 1

    assert emails(service, account) == {"ada@example.com"}
    log = service.log.read_text()
    assert "what was acknowledged is stored" in log
    # What it was in the midst of: a request whose body did not come.
    assert "SheddingConnection._handle_request > RequestHandler._handle_request" in log
    assert "> message_of >" in log
