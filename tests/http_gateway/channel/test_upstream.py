"""Retries, deadlines and fast failures of the network channel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from grpc import StatusCode, aio

from roster.client.repeats import methods, takes_key
from rosterd.http_gateway.channel.upstream import (
    CALL_SECONDS,
    STREAM_SECONDS,
    UpstreamChannel,
    service_config,
)
from rosterd.http_gateway.channel.version_skew import VersionSkew
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import POLICY

from ...components import free_port
from ...stubs.authority import Authority

GET = "/roster.v1.TagService/GetTag"
CREATE = "/roster.v1.TagService/CreateTag"
DELETE = "/roster.v1.TagService/DeleteTag"
EXPORT = "/roster.v1.SubscriberService/ExportSubscribers"
KEY = (("idempotency-key", "once"),)


def retried_methods(*, keyed: bool) -> set[str]:
    """Returns the names of the rpcs that are retried."""
    takes_key = POLICY.idempotency.takes_key if keyed else lambda _: False
    (entry,) = json.loads(service_config(SERVICES, takes_key))["methodConfig"]
    return {name["method"] for name in entry["name"]}


def test_reads_updates_and_calls_with_an_idempotency_key_are_retried() -> None:
    always, with_key = retried_methods(keyed=False), retried_methods(keyed=True)

    assert {"GetTag", "ListSubscribers", "UpdateTag", "RenderMergeTags"} <= always
    assert {"CreateTag", "FollowLink", "SignUp", "StartImport"} <= with_key - always
    assert with_key - always == {method.name for method in methods() if takes_key(method)}
    once = {"DeleteTag", "DeleteWebhook", "RevokeApiKey", "ImportSubscribers", "ImportSuppressions"}
    assert not once & with_key


class FailingServer(aio.ServerInterceptor):
    """Fails all calls with UNAVAILABLE and records them."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.peers: list[str] = []
        self.remaining: float | None = None

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        if not details.method.startswith("/roster."):
            return await continuation(details)
        self.calls.append(details.method)

        async def fail(_request: Any, context: Any) -> Any:
            self.peers.append(context.peer())
            self.remaining = context.time_remaining()
            await context.abort(StatusCode.UNAVAILABLE, "no")

        async def fail_stream(request: Any, context: Any) -> AsyncIterator[Any]:
            await fail(request, context)
            yield request

        if details.method == EXPORT:
            return grpc.unary_stream_rpc_method_handler(fail_stream)
        return grpc.unary_unary_rpc_method_handler(fail)


def calls_to_failing_server(method: str, *metadata: Any, **options: Any) -> FailingServer:
    """Calls a failing server once with each metadata, and returns the calls that it received."""
    failing = FailingServer()
    asyncio.run(call(failing, method, *metadata or ((),), **options))
    return failing


async def call(failing: FailingServer, method: str, *each: Any, **options: Any) -> None:
    server = aio.server(interceptors=[failing])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with UpstreamChannel(f"ipv4:127.0.0.1:{port}", SERVICES, POLICY.idempotency) as channel:
        kind = channel.unary_stream if method == EXPORT else channel.unary_unary
        calls = kind(method, empty_pb2.Empty.SerializeToString, empty_pb2.Empty.FromString)
        for metadata in each:
            pending = calls(empty_pb2.Empty(), metadata=metadata, **options)
            with pytest.raises(aio.AioRpcError) as error:
                await (anext(aiter(pending)) if method == EXPORT else pending)
            assert error.value.code() is StatusCode.UNAVAILABLE
    await server.stop(0)


@pytest.mark.parametrize(
    ("method", "metadata", "attempts"),
    [(GET, (), 3), (CREATE, KEY, 3), (CREATE, (), 1), (DELETE, (), 1), (DELETE, KEY, 1)],
)
def test_call_is_retried_if_that_is_safe(method: str, metadata: Any, attempts: int) -> None:
    assert calls_to_failing_server(method, metadata).calls == [method] * attempts


def test_calls_with_idempotency_keys_use_a_separate_connection() -> None:
    # Two channels that watch the health of one connection can abort the process.
    once, *repeatedly = calls_to_failing_server(CREATE, (), KEY).peers

    assert len(repeatedly) == 3
    assert once not in repeatedly


# gRPC sends a deadline with few digits, rounded up.
ROUNDED_UP = 1.01


@pytest.mark.parametrize(("method", "seconds"), [(DELETE, CALL_SECONDS), (EXPORT, STREAM_SECONDS)])
def test_every_call_has_a_deadline(method: str, seconds: float) -> None:
    remaining = calls_to_failing_server(method).remaining

    assert remaining is not None
    assert 0 < remaining <= ROUNDED_UP * seconds


def test_deadline_set_by_the_caller_is_preserved() -> None:
    remaining = calls_to_failing_server(DELETE, timeout=5.0).remaining

    assert remaining is not None
    assert 0 < remaining <= ROUNDED_UP * 5


def test_call_fails_immediately_without_a_server() -> None:
    async def call_without_server() -> None:
        async with UpstreamChannel(
            f"127.0.0.1:{free_port()}", SERVICES, POLICY.idempotency
        ) as channel:
            await channel.unary_unary(DELETE, empty_pb2.Empty.SerializeToString)(empty_pb2.Empty())

    # A call that waits for a server fails at its deadline.
    with pytest.raises(aio.AioRpcError) as error:
        asyncio.run(call_without_server())
    assert error.value.code() is StatusCode.UNAVAILABLE


class EndsWhileCanceled(VersionSkew):
    """Its first call of reflection ends while it is canceled, and grpc.aio raises its status."""

    def __init__(self, channel: aio.Channel) -> None:
        super().__init__(lambda: channel, [])
        self.called = asyncio.Event()

    async def _read(self) -> frozenset[bytes]:
        self.called.set()
        try:
            return await asyncio.Future()
        except asyncio.CancelledError:
            raise aio.AioRpcError(StatusCode.INTERNAL, aio.Metadata(), aio.Metadata()) from None


def test_comparison_ends_if_its_call_ends_while_it_is_canceled() -> None:
    async def is_canceled() -> bool:
        server = aio.server()
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            comparison = EndsWhileCanceled(channel)
            following = asyncio.create_task(comparison.follow())
            await comparison.called.wait()
            following.cancel()
            await asyncio.wait([following], timeout=5)
            is_canceled = following.cancelled()
            following.cancel()
        await server.stop(0)
        return is_canceled

    assert asyncio.run(is_canceled())


async def echo_name(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
    """Responds to each request with the name in the certificate of the client."""
    async for _ in requests:
        (name,) = context.auth_context()["x509_common_name"]
        yield name


def test_new_calls_present_new_credentials_and_running_calls_continue() -> None:
    authority = Authority()
    certificate, key = authority.certify("server")

    def credentials(name: str) -> grpc.ChannelCredentials:
        own, own_key = authority.certify(name)
        return grpc.ssl_channel_credentials(authority.certificate, own_key, own)

    async def run() -> list[Any]:
        server = aio.server()
        handlers = {"Import": grpc.stream_stream_rpc_method_handler(echo_name)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", handlers),))
        accepted = grpc.ssl_server_credentials([(key, certificate)], authority.certificate, True)
        port = server.add_secure_port("127.0.0.1:0", accepted)
        await server.start()
        target, policy = f"ipv4:127.0.0.1:{port}", POLICY.idempotency
        async with UpstreamChannel(target, [], policy, credentials("old")) as channel:
            method = channel.stream_stream("/test/Import")
            running = method(None)
            await running.write(b"1")
            names = [await running.read()]

            channel.reconnect(credentials("new"))

            await running.write(b"2")
            names += [await running.read(), await anext(aiter(method(iter([b"3"]))))]
            await running.done_writing()
            names.append(await running.code())
        await server.stop(0)
        return names

    assert asyncio.run(run()) == [b"old", b"old", b"new", StatusCode.OK]
