"""A process that opens and migrates its database: alive, not ready, and in no way to be lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import grpc
import psycopg
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from roster.v1 import subscribers_pb2, subscribers_pb2_grpc, tags_pb2, tags_pb2_grpc

from server.app import SERVICES
from server.console import ExitCode

from ..cli.test_commands import FREE, complaint, roster
from ..parts import ready, running, status_of, wait_until, workers_of
from ..postgres import Postgres
from ..processes import limited
from .waiting import Held, Waiting, held_file, held_schema, waiting, waits_for_lock

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVING = health_pb2.HealthCheckResponse.SERVING
NAMES = ("", *(service.full_name for service in SERVICES))


@pytest.fixture(params=["sqlite", "postgresql"])
def held(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path: Path
) -> Iterator[tuple[Held, str]]:
    """A database that is held, and the channel of a gateway to try with it."""
    on_sqlite = request.param == "sqlite"
    with held_file(tmp_path) if on_sqlite else held_schema(postgres) as database:
        yield database, "in-process" if on_sqlite else "grpc"


def assert_http_refuses(service: Waiting) -> None:
    """Probes are answered as ever; calls by the error that says when to come again."""
    assert service.ask("GET", "/healthz")[:2] == (200, {"status": "ok"})
    assert service.ask("GET", "/readyz")[:2] == (503, {"status": "not serving"})
    calls = ("GET /api/tags", "DELETE /api/tags/x", "GET /api/subscribers/export", "POST /api/tags")
    for call in calls:
        status, body, headers = service.ask(*call.split())
        assert (status, body["error"]["code"]) == (503, "Unavailable"), call
        assert body["error"]["message"].startswith("The service is starting.")
        assert body["error"]["requestId"] == headers["x-request-id"] == "me"
        assert headers["retry-after"] == "1"


def assert_grpc_refuses(channel: grpc.Channel) -> None:
    """Health says that nothing is served; calls fail with the details of every other error."""
    health = health_pb2_grpc.HealthStub(channel)
    checks = (health_pb2.HealthCheckRequest(service=name) for name in NAMES)
    assert {health.Check(check, timeout=20).status for check in checks} == {NOT_SERVING}
    stub = tags_pb2_grpc.TagServiceStub(channel)
    export = subscribers_pb2_grpc.SubscriberServiceStub(channel).ExportSubscribers
    request = subscribers_pb2.ExportSubscribersRequest()
    for call in (
        lambda: stub.ListTags(tags_pb2.ListTagsRequest(), timeout=20),
        lambda: list(export(request, timeout=20)),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            call()
        error: Any = refused.value
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        status = rpc_status.from_call(error)
        assert status is not None
        info = error_details_pb2.ErrorInfo()
        status.details[0].Unpack(info)
        assert (info.reason, info.domain) == ("UNAVAILABLE", "roster")
        assert dict(error.trailing_metadata())["grpc-retry-pushback-ms"] == "1000"


def test_ports_answer_while_the_database_is_migrated_and_the_same_connections_are_served_then(
    held: tuple[Held, str], tmp_path: Path
) -> None:
    database, kind = held
    with (
        waiting("serve", tmp_path, database, ROSTER_HTTP_CHANNEL=kind) as service,
        closing(grpc.insecure_channel(service.grpc)) as channel,
    ):
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status is NOT_SERVING
        assert_http_refuses(service)
        assert_grpc_refuses(channel)
        assert not service.says_that_it_serves()
        socket = service.connection.sock

        database.release()

        assert next(watch).status is SERVING
        watch.cancel()
        assert service.ask("GET", "/readyz")[:2] == (200, {"status": "ok"})
        assert service.ask("GET", "/api/tags")[1]["total"] == 0
        assert service.connection.sock is socket
        metadata = [("authorization", f"Bearer {service.key}")]
        stub = tags_pb2_grpc.TagServiceStub(channel)
        assert stub.ListTags(tags_pb2.ListTagsRequest(), metadata=metadata).total == 0
        assert ready(service.part).http == service.http
        assert service.part.stop() == 0
        assert "Traceback" not in service.part.log.read_text()


def test_migration_that_takes_long_is_told_in_the_log(postgres: Postgres, tmp_path: Path) -> None:
    told = "not ready: the database is still being opened or migrated"
    with (
        held_schema(postgres) as database,
        waiting("serve", tmp_path, database, ROSTER_LOG_LEVEL="warning") as service,
    ):
        wait_until(lambda: told in service.part.log.read_text(), "nothing is told")


def test_gateway_is_not_ready_until_the_server_behind_it_has_migrated(
    postgres: Postgres, tmp_path: Path
) -> None:
    with (
        held_schema(postgres) as database,
        waiting("server", tmp_path, database) as server,
        running("gateway", tmp_path, ROSTER_UPSTREAM=server.grpc) as gateway,
    ):
        assert status_of(gateway.http, "/healthz") == 200
        assert status_of(gateway.http, "/readyz") == 503
        assert status_of(gateway.http, "/api/tags") == 503

        database.release()

        wait_until(lambda: status_of(gateway.http, "/readyz") == 200, "it is not ready")
        assert status_of(gateway.http, "/api/tags") == 401
        assert ready(server.part).stop() == 0


# Where it comes to nothing


def assert_nothing_was_migrated(held: Held) -> None:
    """The database is as empty as it was."""
    url = held.settings["ROSTER_DATABASE_URL"]
    path = url.removeprefix("sqlite:///")
    if path != url:
        with closing(apsw.Connection(path)) as connection:
            assert list(connection.execute("SELECT name FROM sqlite_master")) == []
        return
    with psycopg.connect(url) as database:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        assert database.execute(query).fetchall() == []


def test_sigterm_meanwhile_ends_with_0_and_nothing_migrated(
    held: tuple[Held, str], tmp_path: Path
) -> None:
    database, _ = held
    with waiting("serve", tmp_path, database) as service:
        assert service.ask("GET", "/readyz")[0] == 503
        service.part.process.send_signal(signal.SIGTERM)
        assert service.part.process.stdout is not None
        with limited(service.part.process):
            assert service.part.process.stdout.read() == ""
        assert service.part.process.wait(timeout=20) == service.part.stop() == 0
        assert service.part.log.read_text() == ""

    database.release()
    assert_nothing_was_migrated(database)


@pytest.mark.parametrize("command", ["server", "worker"])
def test_sigterm_meanwhile_ends_the_session_that_waits_on_a_server(
    postgres: Postgres, tmp_path: Path, command: str
) -> None:
    with held_schema(postgres) as database:
        url = database.settings["ROSTER_DATABASE_URL"]
        with waiting(command, tmp_path, database) as service:
            wait_until(lambda: waits_for_lock(url), "nobody waits")
            assert service.part.stop() == 0
        assert not waits_for_lock(url)


def test_file_that_stays_locked_ends_the_start_with_the_reason(tmp_path: Path) -> None:
    with held_file(tmp_path) as database:
        done = roster("serve", **{**FREE, **database.settings, "ROSTER_LOG_LEVEL": "error"})

    assert "is locked by another program" in complaint(done, ExitCode.DATABASE)


# Several processes


def test_first_worker_listens_while_it_migrates_and_the_rest_follow(
    postgres: Postgres, tmp_path: Path
) -> None:
    with (
        held_schema(postgres) as database,
        waiting("serve", tmp_path, database, ROSTER_WORKERS="2") as service,
    ):
        assert_http_refuses(service)
        assert len(workers_of(service.part.process.pid)) == 1

        database.release()

        assert "in 2 processes" in "".join(ready(service.part).printed)
        assert service.ask("GET", "/readyz")[0] == 200
        assert service.part.stop() == 0


def test_workers_that_are_stopped_while_the_first_waits_end_with_0(
    postgres: Postgres, tmp_path: Path
) -> None:
    with (
        held_schema(postgres) as database,
        waiting("serve", tmp_path, database, ROSTER_WORKERS="2") as service,
    ):
        assert service.part.stop() == 0
        assert service.part.log.read_text() == ""


def test_worker_that_cannot_serve_yet_takes_no_connection_from_one_that_can(
    postgres: Postgres, tmp_path: Path
) -> None:
    settings = {
        "ROSTER_DATABASE_URL": (url := postgres.new_database()),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_WORKERS": "2",
    }
    with running("serve", tmp_path, **settings) as service, psycopg.connect(url) as locking:
        # Whoever starts looks here first.
        locking.execute("LOCK TABLE schema_migration")
        killed, _ = workers_of(service.process.pid)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: waits_for_lock(url), "none starts in its place")

        # The system would deal out every other one to it.
        assert {status_of(service.http, "/readyz") for _ in range(40)} == {200}
        locking.rollback()
        wait_until(lambda: not waits_for_lock(url), "it still waits")
