"""A gateway that has too much to do: whom it refuses, how, and when it listens again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from .client import Client, Got
from .made import message
from .serving import OPTIONS, gateway_to, run

HEAD = b"POST /once HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
ONE = HEAD + b"%b\r\n{}"
WHOLE = ONE % b""
GIVE = b"GET /give HTTP/1.1\r\nHost: x\r\n\r\n"


class Busy:
    """A gateway that has room for one call, which runs until it is let go."""

    def __init__(self, runner: web.ServerRunner, gate: asyncio.Event) -> None:
        self.runner, self._gate = runner, gate
        self.begun = asyncio.Semaphore(0)

    async def occupy(self) -> Client:
        """Makes the call that there is room for, and returns who waits for its answer."""
        client = await self.client()
        await client.raw(WHOLE)
        await self.begun.acquire()
        return client

    async def client(self) -> Client:
        return await Client.to(self.runner)

    def release(self) -> None:
        self._gate.set()


@asynccontextmanager
async def busy(kind: str = "in-process", resumed_per_second: int = 200) -> AsyncIterator[Busy]:
    options = replace(OPTIONS, max_calls=1, resumed_per_second=resumed_per_second)
    gate = asyncio.Event()

    async def once(request: Any, context: Any) -> Any:
        full.begun.release()
        await gate.wait()
        return message("Sum", total=1)

    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        yield message("Told", notes=[message("Note", text="a")])
        await gate.wait()
        yield message("Told", notes=[message("Note", text="b")])

    async with gateway_to(kind, options=options, Once=once, Give=give) as runner:
        full = Busy(runner, gate)
        yield full


async def ask(client: Client, request: bytes) -> Got:
    await client.raw(request)
    return await client.answer()


IN_PIECES = [
    pytest.param([WHOLE], id="whole"),
    pytest.param([WHOLE[:-2], b"{}"], id="body later"),
    pytest.param([WHOLE[:20], WHOLE[20:]], id="head in pieces"),
]


@pytest.mark.parametrize("pieces", IN_PIECES)
def test_request_that_there_is_no_room_for_is_told_when_to_come_again(pieces: list[bytes]) -> None:
    async def main() -> None:
        async with busy() as full:
            await full.occupy()
            client = await full.client()
            for piece in pieces:
                await client.raw(piece)
                await asyncio.sleep(0.01)
            got = await client.answer()

            assert (got.status, got.headers["retry-after"]) == (503, "1")
            error = json.loads(got.body)["error"]
            assert (error["code"], error["requestId"]) == (
                "Unavailable",
                got.headers["x-request-id"],
            )
            assert "connection" not in got.headers

    run(main())


def test_refusal_gives_the_request_id_back() -> None:
    async def main() -> str:
        async with busy() as full:
            await full.occupy()
            got = await ask(await full.client(), ONE % b"X-Request-Id: mine\r\n")
            return got.headers["x-request-id"]

    assert run(main()) == "mine"


@pytest.mark.parametrize("kind", ["in-process", "real"])
def test_whoever_was_refused_is_answered_on_the_same_connection_once_there_is_room(
    kind: str,
) -> None:
    async def main() -> None:
        async with busy(kind) as full:
            first = await full.occupy()
            client = await full.client()
            assert (await ask(client, WHOLE)).status == 503
            full.release()
            assert (await first.answer()).status == 200
            assert (await ask(client, WHOLE)).status == 200
            assert (await ask(first, WHOLE)).status == 200

    run(main())


def test_pages_are_answered_however_much_there_is_to_do() -> None:
    async def main() -> None:
        async with busy() as full:
            await full.occupy()
            client = await full.client()
            health = await ask(client, b"GET /healthz?now HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (health.status, health.body) == (200, b'{"status":"ok"}')

    run(main())


def test_streams_take_no_place_from_calls_and_are_let_in_like_them() -> None:
    async def main() -> None:
        async with busy() as full:
            streaming = await full.client()
            await streaming.raw(GIVE)
            await streaming.head()
            assert b"a" in await streaming.chunk()
            await full.occupy()
            assert (await ask(await full.client(), GIVE)).status == 503
            full.release()
            assert b"b" in await streaming.chunk()

    run(main())


@pytest.mark.parametrize(
    ("request_", "has_body"),
    [
        (ONE % b"Connection: close\r\n", True),
        (WHOLE.replace(b"1.1", b"1.0"), True),
        (WHOLE.replace(b"POST", b"HEAD"), False),
    ],
    ids=["to be closed", "HTTP/1.0", "HEAD"],
)
def test_refusal_is_framed_as_its_request_needs(request_: bytes, has_body: bool) -> None:
    async def main() -> None:
        async with busy() as full:
            await full.occupy()
            client = await full.client()
            await client.raw(request_)
            got = await client.answer(has_body=has_body)
            assert got.status in {503, 405}
            if has_body:
                assert got.headers["connection"] == "close"
                assert await client.is_closed()

    run(main())


def test_requests_that_came_together_are_refused_one_after_the_other() -> None:
    async def main() -> list[int]:
        async with busy() as full:
            await full.occupy()
            client = await full.client()
            await client.raw(WHOLE * 3)
            return [(await client.answer()).status for _ in range(3)]

    assert run(main()) == [503] * 3


def test_clients_that_come_back_at_once_are_listened_to_in_turn() -> None:
    heard: list[int] = []

    async def hammer(client: Client, number: int) -> None:
        while True:
            assert (await ask(client, WHOLE)).status == 503
            heard.append(number)

    async def main() -> None:
        async with busy(resumed_per_second=100) as full:
            await full.occupy()
            connected = [await full.client() for _ in range(20)]
            clients = [
                asyncio.create_task(hammer(*each))
                for each in zip(connected, range(20), strict=True)
            ]
            while len(heard) < 60:  # noqa: ASYNC110 - the clients tell nobody
                await asyncio.sleep(0.01)
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)

    run(main())
    rounds = [sorted(heard[at : at + 20]) for at in (0, 20, 40)]
    assert rounds == [list(range(20))] * 3


def test_places_of_requests_whose_clients_went_away_are_free_again() -> None:
    async def main() -> None:
        async with busy() as full:
            for _ in range(3):
                (await full.occupy()).leave()
                await asyncio.sleep(0.05)
            full.release()
            assert (await ask(await full.client(), WHOLE)).status == 200

    run(main())


def test_gateway_that_is_to_stop_is_not_ready_and_ends_connections_with_their_answers() -> None:
    async def main() -> None:
        async with busy() as full:
            full.release()
            client = await full.client()
            assert (await ask(client, WHOLE)).status == 200
            server: Any = full.runner.server
            server.load.is_draining = True

            got = await ask(client, WHOLE)
            assert (got.status, got.headers["connection"]) == (200, "close")
            assert await client.is_closed()
            ready = await ask(await full.client(), b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (ready.status, ready.headers["connection"]) == (503, "close")

    run(main())


def test_the_more_are_refused_the_later_they_are_told_to_come() -> None:
    async def main() -> list[str]:
        async with busy(resumed_per_second=2) as full:
            await full.occupy()
            clients = [await full.client() for _ in range(5)]
            return [(await ask(client, WHOLE)).headers["retry-after"] for client in clients]

    assert run(main()) == ["1", "1", "2", "2", "3"]
