"""Invalid gRPC requests, health, reflection, deadlines and unexpected errors."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import apsw
import grpc
import pytest
from aiohttp import web
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from roster.v1 import subscribers_pb2
from roster.v1 import tags_pb2 as pb
from rosterd.http_gateway.app import Gateway
from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.server.app import SERVICES, App
from rosterd.server.config import Settings
from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import hash_secret, make_secret
from rosterd.server.features.tags.service import TagService
from rosterd.server.features.webhooks.egress.client import Client
from rosterd.server.features.webhooks.egress.policy import EgressPolicy
from rosterd.server.rpc.interceptors import deadlines
from rosterd.server.rpc.messages import MAX_MESSAGE_BYTES
from rosterd.server.security.encryption import KEY_BYTES, Encryption
from rosterd.server.serving.grpc_options import core_options
from rosterd.server.serving.ports import GATEWAY_OPTIONS
from rosterd.server.storage.sqlite.database import SqliteDatabase

from ..conftest import FRONTS, Account
from ..fronts import Front, GrpcFront, HttpFront, Response, error_response, health_stub


def call(account: Account, rpc: str, request: Any, **options: Any) -> Any:
    """Makes a call with the key of an account and options of the grpcio client."""
    assert isinstance(account.front, GrpcFront)
    metadata = [("authorization", f"Bearer {account.key}"), *options.pop("metadata", ())]
    return account.front.stub(rpc)(request, metadata=metadata, **{"timeout": 20, **options})


def error_of(code: grpc.StatusCode, make_call: Callable[[], Any]) -> grpc.RpcError:
    """Makes a call, expects this status code, and returns the error."""
    with pytest.raises(grpc.RpcError) as caught:
        make_call()
    assert caught.value.code() is code, caught.value
    return caught.value


def tags_of(account: Account) -> list[str]:
    return [tag["name"] for tag in account.ok("ListTags")["tags"]]


def test_message_over_four_mebibytes_is_rejected_without_effect(grpc_account: Account) -> None:
    request = pb.CreateTagRequest(name="vip", description="x" * MAX_MESSAGE_BYTES)

    error_of(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: call(grpc_account, "CreateTag", request))

    assert MAX_MESSAGE_BYTES == 4 * 1024 * 1024
    assert tags_of(grpc_account) == []


@pytest.mark.parametrize(
    "method",
    [
        "/roster.v1.TagService/Nothing",
        "/roster.v1.Nothing/GetTag",
        "/grpc.health.v1.Health/List",
        "/grpc.health.v1.Health/Nothing",
        "/nothing.Nothing/Nothing",
        "nothing",
    ],
)
def test_unknown_method_is_unimplemented_with_a_reason(grpc_front: GrpcFront, method: str) -> None:
    error = error_of(
        grpc.StatusCode.UNIMPLEMENTED,
        lambda: grpc_front.channel.unary_unary(method)(
            b"", timeout=20, metadata=[("x-request-id", "abc")]
        ),
    )

    response = error_response(error)
    assert (response.status, response.code) == (501, "MethodNotImplemented")
    assert response.body["error"]["requestId"] == "abc"
    assert ("x-request-id", "abc") in error.trailing_metadata()


@pytest.mark.parametrize("sent", [b"\xff\xff\xff", b"\x0a\x01\xff"], ids=["no message", "no UTF-8"])
def test_malformed_message_is_invalid_and_the_error_contains_no_class_name(
    grpc_account: Account, grpc_front: GrpcFront, sent: bytes
) -> None:
    stub = grpc_front.channel.unary_unary("/roster.v1.TagService/CreateTag")
    metadata = [("authorization", f"Bearer {grpc_account.key}")]

    with pytest.raises(grpc.RpcError) as caught:
        stub(sent, metadata=metadata, timeout=20)

    assert "class" not in (caught.value.details() or "")
    assert "Error" not in (caught.value.details() or "")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


# A field 1000 with the value 1.
UNKNOWN = b"\xc0\x3e\x01"


def bulk_with_unknown_field() -> bytes:
    row = subscribers_pb2.BulkSubscriber(email="b@b.io").SerializeToString() + UNKNOWN
    first = subscribers_pb2.BulkSubscriber(email="a@b.io")
    request = subscribers_pb2.BulkCreateSubscribersRequest(subscribers=[first])
    return request.SerializeToString() + b"\x0a" + bytes([len(row)]) + row


@pytest.mark.parametrize(
    ("rpc", "kind", "sent", "path"),
    [
        ("TagService/CreateTag", "unary_unary", b"\x0a\x01a" + UNKNOWN, "1000"),
        ("SubscriberService/ListSubscribers", "unary_unary", UNKNOWN, "1000"),
        ("SubscriberService/ExportSubscribers", "unary_stream", UNKNOWN, "1000"),
        ("SubscriberService/ImportSubscribers", "stream_stream", UNKNOWN, "1000"),
        (
            "SubscriberService/BulkCreateSubscribers",
            *("unary_unary", bulk_with_unknown_field(), "subscribers[1].1000"),
        ),
    ],
    ids=["create", "list", "export", "import", "row of a bulk"],
)
def test_request_with_an_unknown_field_is_rejected_and_not_ignored(
    grpc_front: GrpcFront, grpc_account: Account, rpc: str, kind: str, sent: bytes, path: str
) -> None:
    method = getattr(grpc_front.channel, kind)(f"/roster.v1.{rpc}")
    request = iter([sent]) if kind.startswith("stream") else sent
    metadata = [("authorization", f"Bearer {grpc_account.key}")]

    error = error_of(
        grpc.StatusCode.UNIMPLEMENTED,
        lambda: list(method(request, metadata=metadata, timeout=20)),
    )

    response = error_response(error)
    assert (response.code, response.violations) == (
        "FieldNotImplemented",
        [(path, "UNKNOWN_FIELD")],
    )
    tags, subscribers = grpc_account.ok("ListTags"), grpc_account.ok("ListSubscribers")
    assert (tags["total"], subscribers["total"]) == (0, 0)


def test_other_encodings_of_a_request_are_accepted(
    grpc_front: GrpcFront, grpc_account: Account
) -> None:
    stub = grpc_front.channel.unary_unary("/roster.v1.TagService/CreateTag")
    # The last value of a field applies.
    twice = b"".join(pb.CreateTagRequest(name=name).SerializeToString() for name in ("a", "b"))

    stub(twice, metadata=[("authorization", f"Bearer {grpc_account.key}")], timeout=20)

    assert tags_of(grpc_account) == ["b"]


@contextmanager
def write_lock(database: Path) -> Iterator[None]:
    """Holds the database's write lock, as another program would."""
    connection = apsw.Connection(str(database))
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def test_call_whose_deadline_passes_in_the_queue_has_no_effect(
    grpc_account: Account,
) -> None:
    assert isinstance(grpc_account.front, GrpcFront)
    metadata = [("authorization", f"Bearer {grpc_account.key}")]
    with write_lock(grpc_account.service.database):
        first = grpc_account.front.stub("CreateTag").future(
            pb.CreateTagRequest(name="first"), metadata=metadata, timeout=20
        )
        tags_of(grpc_account)  # after this response, the writer is busy with the first
        late = pb.CreateTagRequest(name="late")
        error_of(
            grpc.StatusCode.DEADLINE_EXCEEDED,
            lambda: call(grpc_account, "CreateTag", late, timeout=0.3),
        )
    first.result()
    grpc_account.ok("CreateTag", name="last")  # the queue is empty until here

    assert tags_of(grpc_account) == ["first", "last"]


@pytest.mark.parametrize("name", ["", *(service.full_name for service in SERVICES)])
def test_health_reports_every_service_as_serving_without_a_key(
    grpc_front: GrpcFront, name: str
) -> None:
    stub = health_stub(grpc_front.channel)

    reply = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=20)

    assert reply.status == health_pb2.HealthCheckResponse.SERVING


def reflect(front: GrpcFront, service: str, **request: str) -> Any:
    """Calls reflection. Both versions have the same messages."""
    stub = front.channel.stream_stream(
        f"/{service}/ServerReflectionInfo",
        reflection_pb2.ServerReflectionRequest.SerializeToString,
        reflection_pb2.ServerReflectionResponse.FromString,
    )
    message = reflection_pb2.ServerReflectionRequest(**request)
    (reply,) = stub(iter([message]), timeout=20)
    return reply


@pytest.mark.parametrize("protocol", ["grpc-v1", "grpc-v1alpha"])
def test_client_without_protos_calls_an_operation_by_reflection(
    grpc_account: Account, protocol: str
) -> None:
    grpc_account.ok("CreateTag", name="vip")
    buf = str(Path(sys.executable).parent / "buf")

    done = subprocess.run(
        [
            *(buf, "curl", "--protocol", "grpc", "--http2-prior-knowledge"),
            *("--reflect", "--reflect-protocol", protocol, "-d", "{}"),
            *("-H", f"authorization: Bearer {grpc_account.key}"),
            f"http://{grpc_account.service.grpc}/roster.v1.TagService/ListTags",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert [tag["name"] for tag in json.loads(done.stdout)["tags"]] == ["vip"]


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[dict[str, Front], str]]:
    """Runs the services in this process. Yields their fronts and an API key."""
    database = SqliteDatabase(folder / "roster.db")
    await database.open()
    encryption = Encryption(bytes(KEY_BYTES))
    unlimited = Settings({"signup_rate_limit": "off"})
    app = App(unlimited, database, encryption, Client(EgressPolicy()))
    app.accept_calls()
    secret = make_secret()

    def create(tx: Any) -> None:
        account = store.create_account("owner@example.com", tx, verified=True)
        store_keys.create_key(account.id, "test", "admin", hash_secret(secret), tx)

    await database.write(create)
    server = app.grpc_server(core_options())
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    fronts: dict[str, Front] = {"grpc": GrpcFront(address)}
    runners = []
    over_grpc = grpc.aio.insecure_channel(address)
    channels = {
        "http": InProcessChannel(app.register, app.interceptors),
        "http-over-grpc": over_grpc,
    }
    for name, channel in channels.items():
        runner = web.ServerRunner(Gateway(channel, SERVICES, GATEWAY_OPTIONS).server())
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        fronts[name] = HttpFront(name, f"{host}:{port}")
        runners.append(runner)
    try:
        yield fronts, secret
    finally:
        fronts["grpc"].channel.close()  # type: ignore[attr-defined]
        for runner in runners:
            await runner.cleanup()
        await over_grpc.close()
        await server.stop(None)
        await database.close()


def responses_of_handler(
    monkeypatch: pytest.MonkeyPatch, folder: Path, handler: Any, calls: int = 1
) -> list[Response]:
    """Returns the responses of each front to ListTags with another handler."""
    monkeypatch.setattr(TagService, "ListTags", handler)

    async def main() -> list[Response]:
        async with serving(folder) as (fronts, key):
            return [
                await asyncio.to_thread(fronts[name].call, "ListTags", key, {})
                for name in FRONTS
                for _ in range(calls)
            ]

    return asyncio.run(main())


class UnexpectedError(Exception):
    pass


def test_unexpected_error_is_described_only_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    kinds = [UnexpectedError, TimeoutError, LookupError, StopAsyncIteration, grpc.RpcError]
    raised = kinds * len(FRONTS)
    remaining = iter(raised)

    async def list_tags(self: TagService, request: Any, context: Any) -> Any:
        raise next(remaining)("SELECT rose FROM /etc/garden")

    responses = responses_of_handler(monkeypatch, tmp_path, list_tags, calls=len(kinds))

    records = [record for record in caplog.records if record.levelno >= logging.ERROR]
    for response, record, kind in zip(responses, records, raised, strict=True):
        assert (response.status, response.code) == (500, "Internal"), kind
        assert response.body["error"]["details"] == []
        for secret in ("rose", "garden", kind.__name__, "Traceback"):
            assert secret not in str(response.body)
        assert vars(record)["requestId"] == response.body["error"]["requestId"] != ""
        logged = caplog.handler.format(record)
        for text in ("SELECT rose FROM /etc/garden", kind.__name__, "Traceback", "list_tags"):
            assert text in logged, kind


def test_long_deadline_is_reduced_to_the_server_maximum(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(deadlines, "DEADLINE_SECONDS", 0.05)
    cancelled = []

    async def list_tags(self: TagService, request: Any, context: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    responses = responses_of_handler(monkeypatch, tmp_path, list_tags)

    expected = (504, "DeadlineExceeded")
    assert [(response.status, response.code) for response in responses] == [expected] * len(FRONTS)
    assert cancelled == [True] * len(FRONTS)
