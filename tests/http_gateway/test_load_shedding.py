"""Rejection of requests by an overloaded gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from .client import Client, ReceivedResponse
from .serving import OPTIONS, gateway_to, run
from .stream_service import message

HEAD = b"POST /unary HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
ONE = HEAD + b"%b\r\n{}"
WHOLE = ONE % b""
GIVE = b"GET /list HTTP/1.1\r\nHost: x\r\n\r\n"


class OverloadedGateway:
    """A gateway that accepts one call at a time. Calls run until `release`."""

    def __init__(self, runner: web.ServerRunner, gate: asyncio.Event) -> None:
        self.runner, self._gate = runner, gate
        self.started = asyncio.Semaphore(0)

    async def occupy(self) -> Client:
        """Makes a call that uses the whole capacity, and returns its client."""
        client = await self.client()
        await client.raw(WHOLE)
        await self.started.acquire()
        return client

    async def client(self) -> Client:
        return await Client.to(self.runner)

    def release(self) -> None:
        self._gate.set()


@asynccontextmanager
async def overloaded(
    kind: str = "in-process", resumed_per_second: int = 200
) -> AsyncIterator[OverloadedGateway]:
    options = replace(OPTIONS, max_calls=1, resumed_per_second=resumed_per_second)
    gate = asyncio.Event()

    async def unary(_request: Any, _context: Any) -> Any:
        gateway.started.release()
        await gate.wait()
        return message("Total", total=1)

    async def send_notes(_request: Any, _context: Any) -> AsyncIterator[Any]:
        yield message("NotesReply", notes=[message("Note", text="a")])
        await gate.wait()
        yield message("NotesReply", notes=[message("Note", text="b")])

    async with gateway_to(kind, options=options, Unary=unary, List=send_notes) as runner:
        gateway = OverloadedGateway(runner, gate)
        yield gateway


async def send_request(client: Client, request: bytes) -> ReceivedResponse:
    await client.raw(request)
    return await client.response()


IN_PIECES = [
    pytest.param([WHOLE], id="whole"),
    pytest.param([WHOLE[:-2], b"{}"], id="delayed body"),
    pytest.param([WHOLE[:20], WHOLE[20:]], id="head in pieces"),
]


@pytest.mark.parametrize("pieces", IN_PIECES)
def test_rejected_request_gets_retry_after(pieces: list[bytes]) -> None:
    async def main() -> None:
        async with overloaded() as gateway:
            await gateway.occupy()
            client = await gateway.client()
            for piece in pieces:
                await client.raw(piece)
                await asyncio.sleep(0.01)
            got = await client.response()

            assert (got.status, got.headers["retry-after"]) == (503, "1")
            error = json.loads(got.body)["error"]
            assert (error["code"], error["requestId"]) == (
                "Unavailable",
                got.headers["x-request-id"],
            )
            assert "connection" not in got.headers

    run(main())


def test_rejected_client_is_served_on_the_same_connection_later() -> None:
    async def main() -> None:
        async with overloaded("in-process") as gateway:
            first = await gateway.occupy()
            client = await gateway.client()
            assert (await send_request(client, WHOLE)).status == 503
            gateway.release()
            assert (await first.response()).status == 200
            assert (await send_request(client, WHOLE)).status == 200
            assert (await send_request(first, WHOLE)).status == 200

    run(main())


def test_pages_are_never_rejected() -> None:
    async def main() -> None:
        async with overloaded() as gateway:
            await gateway.occupy()
            client = await gateway.client()
            health = await send_request(client, b"GET /healthz?now HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (health.status, health.body) == (200, b'{"status":"ok"}\n')

    run(main())


def test_open_streams_do_not_count_but_new_streams_are_rejected() -> None:
    async def main() -> None:
        async with overloaded() as gateway:
            streaming = await gateway.client()
            await streaming.raw(GIVE)
            await streaming.head()
            assert b"a" in await streaming.chunk()
            await gateway.occupy()
            assert (await send_request(await gateway.client(), GIVE)).status == 503
            gateway.release()
            assert b"b" in await streaming.chunk()

    run(main())


@pytest.mark.parametrize(
    ("request_", "has_body"),
    [
        (ONE % b"Connection: close\r\n", True),
        (WHOLE.replace(b"1.1", b"1.0"), True),
        (WHOLE.replace(b"POST", b"HEAD"), False),
    ],
    ids=["Connection: close", "HTTP/1.0", "HEAD"],
)
def test_rejection_is_framed_for_its_request(request_: bytes, has_body: bool) -> None:
    async def main() -> None:
        async with overloaded() as gateway:
            await gateway.occupy()
            client = await gateway.client()
            await client.raw(request_)
            got = await client.response(has_body=has_body)
            assert got.status in {503, 405}
            if has_body:
                assert got.headers["connection"] == "close"
                assert await client.is_closed()

    run(main())


def test_rejection_keeps_the_start_of_the_next_request() -> None:
    async def main() -> list[int]:
        async with overloaded() as gateway:
            await gateway.occupy()
            client = await gateway.client()
            await client.raw(WHOLE + WHOLE[:20])
            first = await client.response()
            await client.raw(WHOLE[20:])
            return [first.status, (await client.response()).status]

    assert run(main()) == [503] * 2


def test_clients_that_retry_immediately_are_read_one_after_another() -> None:
    read_from: list[int] = []

    async def hammer(client: Client, number: int) -> None:
        while True:
            assert (await send_request(client, WHOLE)).status == 503
            read_from.append(number)

    async def main() -> None:
        async with overloaded(resumed_per_second=100) as gateway:
            await gateway.occupy()
            connected = [await gateway.client() for _ in range(20)]
            clients = [
                asyncio.create_task(hammer(*item))
                for item in zip(connected, range(20), strict=True)
            ]
            while len(read_from) < 60:  # noqa: ASYNC110 - the clients have no event
                await asyncio.sleep(0.01)
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)

    run(main())
    rounds = [sorted(read_from[at : at + 20]) for at in (0, 20, 40)]
    assert rounds == [list(range(20))] * 3


def test_disconnected_clients_free_their_capacity() -> None:
    async def main() -> None:
        async with overloaded() as gateway:
            for _ in range(3):
                (await gateway.occupy()).disconnect()
                await asyncio.sleep(0.05)
            gateway.release()
            assert (await send_request(await gateway.client(), WHOLE)).status == 200

    run(main())


def test_draining_gateway_is_not_ready_and_closes_connections_after_their_response() -> None:
    async def main() -> None:
        async with overloaded() as gateway:
            gateway.release()
            client = await gateway.client()
            assert (await send_request(client, WHOLE)).status == 200
            server: Any = gateway.runner.server
            server.load.is_draining = True

            got = await send_request(client, WHOLE)
            assert (got.status, got.headers["connection"]) == (200, "close")
            assert await client.is_closed()
            ready = await send_request(
                await gateway.client(), b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
            )
            assert (ready.status, ready.headers["connection"]) == (503, "close")

    run(main())
