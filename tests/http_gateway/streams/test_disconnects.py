"""Clients of streaming rpcs that disconnect, or that read or send slowly."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from grpc import StatusCode

from ..client import Client, ReceivedResponse
from ..serving import OPTIONS
from ..stream_service import notes_reply
from .handlers import Handlers, each_channel, with_gateway

# Responses of 64 KiB that socket buffers and flow control windows hold. Linux lets a socket buffer
# grow to 32 MiB, and there are two connections.
MAX_BUFFERED = 2_000


@each_channel
@pytest.mark.parametrize("when", ["amid the body", "while the server works"])
def test_disconnect_of_the_client_ends_the_call(kind: str, when: str) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        if when == "amid the body":
            await client.begin("POST", "/exchange")
            await client.send(b'{"name":"a"}\n')
        else:
            await client.begin("GET", "/list")
        await client.head()
        await client.chunk()
        assert not handlers.has_ended.is_set()
        client.disconnect()
        await handlers.has_ended.wait()

    with_gateway(kind, body, Exchange=handlers.exchange, List=handlers.endless)

    # Over a network channel, a canceled call can look like a completed one.
    assert "end" not in handlers.received or kind == "real"


def test_what_a_disconnected_client_has_not_read_is_freed_without_a_collection() -> None:
    class Rows:
        """Rows that a handler has read."""

    kept: list[weakref.ref[Rows]] = []

    async def send_notes(_request: Any, _context: Any) -> AsyncIterator[Any]:
        rows = Rows()
        kept.append(weakref.ref(rows))
        yield notes_reply("a")
        await asyncio.Event().wait()

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        await client.begin("GET", "/list")
        await client.head()
        await client.chunk()
        client.disconnect()
        for _ in range(500):
            if kept[0]() is None:
                break
            await asyncio.sleep(0.01)

    gc.disable()
    try:
        with_gateway("in-process", body, List=send_notes)
        assert kept[0]() is None
    finally:
        gc.enable()


def test_no_second_call_is_made_for_a_disconnected_client() -> None:
    calls, stopping, stopped = [], asyncio.Event(), asyncio.Event()

    async def collect(requests: Any, context: Any) -> Any:
        calls.append(context)
        try:
            async for _ in requests:
                pass
        finally:
            stopping.set()
            try:
                await asyncio.Event().wait()  # It runs until it is canceled again.
            finally:
                stopped.set()

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        await client.begin("POST", "/collect/x", Content_Type="text/csv")
        await client.send(b'"a"b\n')
        await stopping.wait()
        client.disconnect()
        await stopped.wait()

    with_gateway("in-process", body, Collect=collect)

    assert len(calls) == 1


@each_channel
def test_disconnect_before_the_response_ends_the_call(kind: str) -> None:
    handlers, started = Handlers(), asyncio.Event()

    async def send_notes(_request: Any, context: Any) -> AsyncIterator[Any]:
        started.set()
        await handlers.collect(never(), context)
        yield notes_reply()

    async def never() -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        await client.begin("GET", "/list")
        await started.wait()
        client.disconnect()
        await handlers.has_ended.wait()

    with_gateway(kind, body, List=send_notes)

    assert handlers.received == []


async def count_when_stable(handlers: Handlers) -> int:
    """Returns the number of responses once it no longer grows."""
    before = -1
    while before != len(handlers.received):
        before = len(handlers.received)
        await asyncio.sleep(0.2)
    return before


@each_channel
def test_server_is_not_read_faster_than_the_client_reads(kind: str) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/list?name=100000")  # of 64 KiB each
        before = await count_when_stable(handlers)
        await client.head()
        for _ in range(before):
            await client.chunk()
        return before, await count_when_stable(handlers)

    before, after = with_gateway(kind, body, List=handlers.endless)

    assert before < MAX_BUFFERED
    assert before < after < before + MAX_BUFFERED


@each_channel
def test_body_is_not_read_faster_than_the_server_reads(kind: str) -> None:
    async def exchange(_requests: Any, _context: Any) -> AsyncIterator[Any]:
        yield notes_reply("a")
        await asyncio.Event().wait()

    async def body(runner: web.ServerRunner) -> int:
        client, sent = await Client.to(runner), 0
        await client.begin("POST", "/exchange")
        line = b'{"name":"%b"}\n' % (b"x" * 60_000)
        try:
            while sent < 5_000:
                await asyncio.wait_for(client.send(line), 0.5)
                sent += 1
        except TimeoutError:
            pass
        client.disconnect()
        return sent

    # 5,000 lines are 300 MB.
    assert with_gateway(kind, body, Exchange=exchange) < 1_000


@each_channel
def test_client_that_does_not_read_is_disconnected(kind: str) -> None:
    options = replace(OPTIONS, write_seconds=0.2)
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/list?name=100000")
        await handlers.has_ended.wait()
        return await client.response()

    assert not with_gateway(kind, body, options=options, List=handlers.endless).is_whole
    assert len(handlers.received) < MAX_BUFFERED


# An item whose notes have 640 KiB, and more items than the buffers hold notes.
LINE, LINES = b'{"name":"%b"}\n' % (b"x" * 30_000), 600


class Notes:
    """A handler that returns notes for each item, and counts the items."""

    def __init__(self) -> None:
        self.items = 0

    async def exchange(self, requests: Any, _context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            for _ in request.items:
                self.items += 1
                yield notes_reply(*["x" * 65_536] * 10)


async def send_all(client: Client) -> None:
    await client.begin("POST", "/exchange")
    for _ in range(LINES):
        await client.send(LINE)
    await client.finish()


def test_client_that_reads_after_its_upload_receives_the_records_and_an_error() -> None:
    notes = Notes()

    async def body(runner: web.ServerRunner) -> ReceivedResponse:
        client = await Client.to(runner)
        await send_all(client)
        return await client.response()

    options = replace(OPTIONS, write_seconds=1.0)
    got = with_gateway("in-process", body, options=options, Exchange=notes.exchange)

    *records, last = got.records
    assert (got.status, got.is_whole, last["error"]["code"]) == (200, True, "ResponseNotRead")
    assert len(records) == 10 * notes.items < 10 * LINES
    assert f"All lines up to {notes.items} were processed" in last["error"]["message"]


@pytest.mark.parametrize("limits", [{"discarded_bytes": 1 << 20}, {"discarded_seconds": 0.0}])
def test_upload_that_is_not_read_is_discarded_within_limits(limits: dict[str, Any]) -> None:
    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        await send_all(client)
        await client.response()

    options = replace(OPTIONS, write_seconds=1.0, **limits)
    with pytest.raises(ConnectionError):
        with_gateway("in-process", body, options=options, Exchange=Notes().exchange)


def test_error_is_read_by_a_client_that_first_sends_its_body() -> None:
    async def exchange(_requests: Any, context: Any) -> AsyncIterator[Any]:
        await context.abort(StatusCode.FAILED_PRECONDITION)
        yield

    async def body(runner: web.ServerRunner) -> ReceivedResponse:
        client = await Client.to(runner)
        await client.begin("POST", "/exchange")
        for _ in range(10):
            await client.send(LINE)
            await asyncio.sleep(0.1)
        await client.finish()
        return await client.response()

    options = replace(OPTIONS, lingering_seconds=0.6)
    got = with_gateway("in-process", body, options=options, Exchange=exchange)

    assert (got.status, got.is_whole) == (400, True)
