"""A streamed response starts when the server accepts the call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from ..client import Client
from ..stream_service import message
from .handlers import each_channel, with_gateway

ACCEPTED = (("ratelimit", "7"), ("x-other", "1"))
each_form = pytest.mark.parametrize("accept", ["text/event-stream", "application/x-ndjson"])


@each_channel
@each_form
def test_head_is_sent_when_the_server_accepts_the_call(kind: str, accept: str) -> None:
    received = asyncio.Event()

    async def late(_request: Any, context: Any) -> AsyncIterator[Any]:
        await context.send_initial_metadata(ACCEPTED)
        await received.wait()
        yield message("Note", text="a")

    async def body(runner: web.ServerRunner) -> tuple[int, dict[str, str], bytes]:
        client = await Client.to(runner)
        await client.begin("GET", "/tail", Accept=accept)
        status, headers = await client.head()
        received.set()
        return status, headers, await client.chunk()

    status, headers, record = with_gateway(kind, body, Tail=late)

    assert (status, headers["content-type"], headers["ratelimit"]) == (200, accept, "7")
    assert "x-other" not in headers
    assert b'{"text":"a"}' in record


def test_vary_has_the_names_of_the_server_and_accept() -> None:
    async def tail(_request: Any, context: Any) -> AsyncIterator[Any]:
        await context.send_initial_metadata((("vary", "Accept-Language"),))
        yield message("Note", text="a")

    async def body(runner: web.ServerRunner) -> str:
        client = await Client.to(runner)
        await client.begin("GET", "/tail")
        return (await client.head())[1]["vary"]

    assert with_gateway("in-process", body, Tail=tail) == "Accept-Language, Accept"
