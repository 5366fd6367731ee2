"""Tests processes whose database is being opened or migrated: they are alive, and not ready."""

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
from grpc_health.v1 import health_pb2
from grpc_status import rpc_status

from roster.v1 import subscribers_pb2, subscribers_pb2_grpc, tags_pb2, tags_pb2_grpc
from rosterd.server.app import SERVICES
from rosterd.server.serving.console import ExitCode

from ...cli.commands import FREE, error_line, roster
from ...components import child_processes, running, status_of, wait_until, wait_until_ready
from ...fronts import health_stub
from ...postgres import Postgres
from ...processes import limited
from .locked_database import (
    LockedDatabase,
    StartingService,
    locked_file,
    locked_schema,
    starting,
    waits_for_lock,
)

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVING = health_pb2.HealthCheckResponse.SERVING
NAMES = ("", *(service.full_name for service in SERVICES))


@pytest.fixture(params=["sqlite", "postgresql"])
def locked(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path: Path
) -> Iterator[tuple[LockedDatabase, str]]:
    """A locked database, and the gateway channel to test with it."""
    on_sqlite = request.param == "sqlite"
    with locked_file(tmp_path) if on_sqlite else locked_schema(postgres) as database:
        yield database, "in-process" if on_sqlite else "grpc"


def assert_http_is_unavailable(service: StartingService) -> None:
    assert service.send("GET", "/healthz")[:2] == (200, {"status": "ok"})
    assert service.send("GET", "/readyz")[:2] == (503, {"status": "not serving"})
    calls = ("GET /api/tags", "DELETE /api/tags/x", "GET /api/subscribers/export", "POST /api/tags")
    for call in calls:
        status, body, headers = service.send(*call.split())
        assert (status, body["error"]["code"]) == (503, "Unavailable"), call
        assert body["error"]["message"].startswith("The service is starting.")
        assert body["error"]["requestId"] == headers["x-request-id"] == "abc"
        assert headers["retry-after"] == "1"


def assert_grpc_is_unavailable(channel: grpc.Channel) -> None:
    health = health_stub(channel)
    checks = (health_pb2.HealthCheckRequest(service=name) for name in NAMES)
    assert {health.Check(check, timeout=20).status for check in checks} == {NOT_SERVING}
    stub = tags_pb2_grpc.TagServiceStub(channel)
    export = subscribers_pb2_grpc.SubscriberServiceStub(channel).ExportSubscribers
    request = subscribers_pb2.ExportSubscribersRequest()
    for call in (
        lambda: stub.ListTags(tags_pb2.ListTagsRequest(), timeout=20),
        lambda: list(export(request, timeout=20)),
    ):
        with pytest.raises(grpc.RpcError) as raised:
            call()
        error: Any = raised.value
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        status = rpc_status.from_call(error)
        assert status is not None
        info = error_details_pb2.ErrorInfo()
        status.details[0].Unpack(info)
        assert (info.reason, info.domain) == ("UNAVAILABLE", "roster")
        assert dict(error.trailing_metadata())["grpc-retry-pushback-ms"] == "1000"


def test_connections_opened_during_the_migration_are_served_after_it(
    locked: tuple[LockedDatabase, str], tmp_path: Path
) -> None:
    database, kind = locked
    with (
        starting("serve", tmp_path, database, ROSTER_HTTP_CHANNEL=kind) as service,
        closing(grpc.insecure_channel(service.grpc)) as channel,
    ):
        watch = health_stub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status is NOT_SERVING
        assert_http_is_unavailable(service)
        assert_grpc_is_unavailable(channel)
        assert not service.has_printed()
        sock = service.connection.sock

        database.release()

        assert next(watch).status is SERVING
        watch.cancel()
        assert service.send("GET", "/readyz")[:2] == (200, {"status": "ok"})
        assert service.send("GET", "/api/tags")[1]["total"] == 0
        assert service.connection.sock is sock
        metadata = [("authorization", f"Bearer {service.key}")]
        stub = tags_pb2_grpc.TagServiceStub(channel)
        assert stub.ListTags(tags_pb2.ListTagsRequest(), metadata=metadata).total == 0
        assert wait_until_ready(service.component).http == service.http
        assert service.component.stop() == 0
        assert "Traceback" not in service.component.log.read_text()


@pytest.mark.verify
def test_gateway_is_not_ready_until_its_server_has_migrated(
    postgres: Postgres, tmp_path: Path
) -> None:
    with (
        locked_schema(postgres) as database,
        starting("serve-grpc", tmp_path, database) as server,
        running("serve-http", tmp_path, ROSTER_UPSTREAM=server.grpc) as gateway,
    ):
        assert status_of(gateway.http, "/healthz") == 200
        assert status_of(gateway.http, "/readyz") == 503
        assert status_of(gateway.http, "/api/tags") == 503

        database.release()

        wait_until(lambda: status_of(gateway.http, "/readyz") == 200, "the gateway is not ready")
        assert status_of(gateway.http, "/api/tags") == 401
        assert wait_until_ready(server.component).stop() == 0


def assert_not_migrated(database: LockedDatabase) -> None:
    url = database.settings["ROSTER_DATABASE_URL"]
    path = url.removeprefix("sqlite:///")
    if path != url:
        with closing(apsw.Connection(path)) as connection:
            assert list(connection.execute("SELECT name FROM sqlite_master")) == []
        return
    with psycopg.connect(url) as session:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        assert session.execute(query).fetchall() == []


@pytest.mark.verify
def test_sigterm_during_the_start_exits_with_0_and_migrates_nothing(
    locked: tuple[LockedDatabase, str], tmp_path: Path
) -> None:
    database, _ = locked
    with starting("serve", tmp_path, database) as service:
        assert service.send("GET", "/readyz")[0] == 503
        service.component.process.send_signal(signal.SIGTERM)
        assert service.component.process.stdout is not None
        with limited(service.component.process):
            assert service.component.process.stdout.read() == ""
        assert service.component.process.wait(timeout=60) == service.component.stop() == 0
        assert service.component.log.read_text() == ""

    database.release()
    assert_not_migrated(database)


def test_start_on_a_locked_file_fails_with_the_reason(tmp_path: Path) -> None:
    with locked_file(tmp_path) as database:
        done = roster("serve", **{**FREE, **database.settings, "ROSTER_LOG_LEVEL": "error"})

    assert "is locked by another program" in error_line(done, ExitCode.DATABASE)


@pytest.mark.verify
def test_other_workers_start_after_the_first_has_migrated(
    postgres: Postgres, tmp_path: Path
) -> None:
    with (
        locked_schema(postgres) as database,
        starting("serve", tmp_path, database, ROSTER_PROCESSES="2") as service,
    ):
        assert_http_is_unavailable(service)
        assert len(child_processes(service.component.process.pid)) == 1

        database.release()

        assert "in 2 processes" in "".join(wait_until_ready(service.component).printed)
        assert service.send("GET", "/readyz")[0] == 200
        assert service.component.stop() == 0


@pytest.mark.verify
def test_starting_worker_accepts_no_connections(postgres: Postgres, tmp_path: Path) -> None:
    settings = {
        "ROSTER_DATABASE_URL": (url := postgres.new_database()),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_PROCESSES": "2",
    }
    with running("serve", tmp_path, **settings) as service, psycopg.connect(url) as locking:
        # A worker reads this table first when it starts.
        locking.execute("LOCK TABLE schema_migration")
        killed, _ = child_processes(service.process.pid)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: waits_for_lock(url), "no worker was started")

        # If it listened, it would receive half of the connections.
        assert {status_of(service.http, "/readyz") for _ in range(40)} == {200}
        locking.rollback()
        wait_until(lambda: not waits_for_lock(url), "the worker still waits")
