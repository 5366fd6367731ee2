"""HTTP statuses of gRPC errors, over both channels."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from aiohttp import web
from grpc import StatusCode, aio

from rosterd.http_gateway.app import Gateway

from .client import Client, ReceivedResponse, get, post
from .serving import OPTIONS, channel_to, register_handlers, run, running
from .stream_service import SERVICE, notes_reply


def error_of(got: ReceivedResponse) -> dict[str, Any]:
    """Returns the error of a response in the common format."""
    error: dict[str, Any] = json.loads(got.body)["error"]
    assert set(error) == {"code", "message", "details", "requestId"}
    assert error["requestId"] == got.headers["x-request-id"]
    return error


async def send(runner: web.ServerRunner, method: str, path: str) -> ReceivedResponse:
    if method == "GET":
        return await get(runner, path)
    kind = "application/json" if path == "/unary" else "application/x-ndjson"
    return await post(runner, path, b"{}\n", kind)


class StatusObserver:
    """An observer that records the status of each request."""

    trace = ()

    def __init__(self) -> None:
        self.received: list[int] = []
        self.has_seen = asyncio.Event()

    def start(self, *_: Any) -> StatusObserver:
        return self

    def set_route(self, *_: Any) -> None:
        """Ignored."""

    def set_page(self, *_: Any) -> None:
        """Ignored."""

    def end(self, status: int, *_: Any) -> None:
        self.received.append(status)
        self.has_seen.set()


@pytest.mark.parametrize(
    ("code", "status"), [(StatusCode.CANCELLED, 499), (StatusCode.UNAVAILABLE, 503)]
)
def test_observed_status_equals_the_sent_status(code: StatusCode, status: int) -> None:
    statuses = StatusObserver()

    async def unary(_request: Any, context: Any) -> Any:
        await context.abort(code)

    async def main() -> ReceivedResponse:
        async with channel_to(
            "in-process", register_handlers(SERVICE, {"Unary": unary})
        ) as channel:
            gateway = Gateway(channel, [SERVICE], OPTIONS, observer=statuses)
            async with running(gateway) as runner:
                return await send(runner, "POST", "/unary")

    assert (run(main()).status, statuses.received) == (status, [status])


def test_disconnected_client_is_observed_as_499() -> None:
    statuses = StatusObserver()
    started = asyncio.Event()

    async def unary(_request: Any, _context: Any) -> Any:
        started.set()
        await asyncio.Event().wait()

    async def main() -> None:
        async with channel_to(
            "in-process", register_handlers(SERVICE, {"Unary": unary})
        ) as channel:
            gateway = Gateway(channel, [SERVICE], OPTIONS, observer=statuses)
            async with running(gateway) as runner:
                client = await Client.to(runner)
                await client.begin("POST", "/unary")
                await client.send(b"{}")
                await client.finish()
                await started.wait()
                client.disconnect()
                await statuses.has_seen.wait()

    run(main())

    assert statuses.received == [499]


async def response_of(
    address: str, method: str, path: str, body: bytes = b"{}"
) -> ReceivedResponse:
    """Returns the response of a gateway over a channel with the default limits of gRPC."""
    async with (
        aio.insecure_channel(address) as channel,
        running(Gateway(channel, [SERVICE], OPTIONS)) as runner,
    ):
        if method == "GET":
            return await get(runner, path)
        kind = "application/json" if path == "/unary" else "application/x-ndjson"
        return await post(runner, path, body, kind)


@pytest.mark.parametrize(
    ("received", "returned", "status", "code"),
    [(2_000, 0, 413, "PayloadTooLarge"), (0, 5_000_000, 500, "Internal")],
    ids=["request", "response"],
)
def test_too_large_message_is_an_error_of_its_sender(
    received: int, returned: int, status: int, code: str
) -> None:
    async def unary(_request: bytes, _context: Any) -> bytes:
        return b"\x12" + bytes([*varint(returned)]) + bytes(returned)

    async def main() -> ReceivedResponse:
        server = aio.server(options=[("grpc.max_receive_message_length", 1_000)])
        handler = grpc.unary_unary_rpc_method_handler(unary)
        generic = grpc.method_handlers_generic_handler("example.Service", {"Unary": handler})
        server.add_generic_rpc_handlers((generic,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            body = json.dumps({"name": "x" * received}).encode()
            return await response_of(f"127.0.0.1:{port}", "POST", "/unary", body)
        finally:
            await server.stop(None)

    got = run(main())

    assert (got.status, error_of(got)["code"]) == (status, code)
    assert "too large" in error_of(got)["message"]


def varint(number: int) -> list[int]:
    """Encodes a number as a protobuf varint."""
    return [number & 0x7F | 0x80, *varint(number >> 7)] if number > 0x7F else [number]


def relay_to(port: int, writers: list[asyncio.StreamWriter]) -> Any:
    """Returns a handler that relays between a client and a port, and collects both writers."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", port)
        writers.extend((writer, forth))
        await asyncio.gather(copy(reader, forth), copy(back, writer), return_exceptions=True)

    return serve


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("POST", "/unary", 500, "unknown whether this request took effect"),
        ("POST", "/collect/x", 500, "unknown whether this request took effect"),
        ("GET", "/list", 503, "is unavailable"),
    ],
)
def test_lost_connection_is_an_unknown_outcome_for_changes_and_unavailable_for_reads(
    method: str, path: str, status: int, words: str
) -> None:
    writers: list[asyncio.StreamWriter] = []

    async def lose(*_: Any) -> Any:
        for writer in writers:
            writer.transport.abort()
        await asyncio.Event().wait()

    async def send_notes(_request: Any, _context: Any) -> AsyncIterator[Any]:
        await lose()
        yield notes_reply()

    async def main() -> ReceivedResponse:
        server = aio.server()
        register_handlers(SERVICE, {"Unary": lose, "Collect": lose, "List": send_notes})(server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        relay = await asyncio.start_server(relay_to(port, writers), "127.0.0.1", 0)
        host, relayed = relay.sockets[0].getsockname()
        try:
            return await response_of(f"{host}:{relayed}", method, path)
        finally:
            relay.close()
            await server.stop(None)

    got = run(main())

    assert got.status == status
    assert words in error_of(got)["message"]
