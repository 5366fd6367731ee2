"""Clients of streaming rpcs that go away, or do not read, or send faster than is taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from ..client import Client
from ..made import told
from ..serving import OPTIONS
from .handlers import Handlers, each_channel, with_gateway


@each_channel
@pytest.mark.parametrize("when", ["amid the body", "while the server works"])
def test_a_client_that_leaves_ends_the_call(kind: str, when: str) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        if when == "amid the body":
            await client.begin("POST", "/both")
            await client.send(b'{"name":"a"}\n')
        else:
            await client.begin("GET", "/give")
        await client.head()
        await client.chunk()
        assert not handlers.ended.is_set()
        client.leave()
        await handlers.ended.wait()

    with_gateway(kind, body, Both=handlers.both, Give=handlers.endless)

    # To a handler behind a socket a call that was cancelled may look as if it had ended.
    assert "end" not in handlers.seen or kind == "real"


def test_nobody_asks_for_a_client_that_left_what_the_server_says_to_its_body() -> None:
    calls, stopping, stopped = [], asyncio.Event(), asyncio.Event()

    async def collect(requests: Any, context: Any) -> Any:
        calls.append(context)
        try:
            async for _ in requests:
                pass
        finally:
            stopping.set()
            try:
                await asyncio.Event().wait()  # until it is cancelled once more
            finally:
                stopped.set()

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        await client.begin("POST", "/collect/x", Content_Type="text/csv")
        await client.send(b'"a"b\n')
        await stopping.wait()
        client.leave()
        await stopped.wait()

    with_gateway("in-process", body, Collect=collect)

    assert len(calls) == 1


@each_channel
def test_a_client_that_leaves_before_it_was_answered_ends_the_call(kind: str) -> None:
    handlers, begun = Handlers(), asyncio.Event()

    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        begun.set()
        await handlers.collect(never(), context)
        yield told()

    async def never() -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        await client.begin("GET", "/give")
        await begun.wait()
        client.leave()
        await handlers.ended.wait()

    with_gateway(kind, body, Give=give)

    assert handlers.seen == []


async def settled(handlers: Handlers) -> int:
    """Returns how many replies were given once there come no more."""
    before = -1
    while before != len(handlers.seen):
        before = len(handlers.seen)
        await asyncio.sleep(0.2)
    return before


@each_channel
def test_a_server_gives_no_more_than_its_client_reads(kind: str) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/give?name=100000")  # of 64 KiB each
        before = await settled(handlers)
        await client.head()
        for _ in range(before):
            await client.chunk()
        return before, await settled(handlers)

    before, after = with_gateway(kind, body, Give=handlers.endless)

    # What sockets and windows hold is some megabytes.
    assert before < 500
    assert before < after < before + 500


@each_channel
def test_a_body_is_read_no_faster_than_the_server_takes_it(kind: str) -> None:
    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        yield told("a")
        await asyncio.Event().wait()

    async def body(runner: web.ServerRunner) -> int:
        client, sent = await Client.to(runner), 0
        await client.begin("POST", "/both")
        line = b'{"name":"%b"}\n' % (b"x" * 60_000)
        try:
            while sent < 5_000:
                await asyncio.wait_for(client.send(line), 0.5)
                sent += 1
        except TimeoutError:
            pass
        client.leave()
        return sent

    # 5,000 lines are 300 MB.
    assert with_gateway(kind, body, Both=both) < 1_000


@each_channel
def test_a_client_that_does_not_read_is_cut_off(kind: str) -> None:
    options = replace(OPTIONS, write_seconds=0.2)
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/give?name=100000")
        await handlers.ended.wait()
        return await client.answer()

    assert not with_gateway(kind, body, options=options, Give=handlers.endless).is_whole
    assert len(handlers.seen) < 500
