"""What comes where no record does for long, so that nobody on the way ends the connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from aiohttp import web

from ..client import Client
from ..made import message, refuse, told
from ..serving import OPTIONS
from .handlers import Handlers, each_channel, message_of_cells, with_gateway


class Form(NamedTuple):
    """How a form says that nothing happens, that there is a record, and how all ended."""

    content_type: str
    beat: bytes
    record: bytes
    end: bytes
    error: bytes


EVENTS = Form(
    "text/event-stream",
    b":\n\n",
    b'data: {"text":"a"}\n\n',
    b"event: end\ndata: {}\n\n",
    b'event: error\ndata: {"error":',
)
NDJSON = Form("application/x-ndjson", b"\n", b'{"text":"a"}\n', b"", b'{"error":')
each_form = pytest.mark.parametrize("form", [EVENTS, NDJSON], ids=["events", "ndjson"])
# The interval of keepalive records in these tests.
SOON = 0.02
SOON_KEPT_ALIVE = replace(OPTIONS, stream_keepalive_seconds=SOON)


@each_channel
@each_form
@pytest.mark.parametrize("fails", [False, True])
def test_a_heartbeat_comes_where_no_record_does_and_begins_the_answer(
    kind: str, form: Form, fails: bool
) -> None:
    seen = asyncio.Event()

    async def late(request: Any, context: Any) -> AsyncIterator[Any]:
        await seen.wait()
        if fails:
            await refuse(context, "TAG_NOT_FOUND")
        yield message("Note", text="a")

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/each", Accept=form.content_type)
        head = await client.head()
        beats = [await client.chunk(), await client.chunk()]
        seen.set()
        rest = []
        while chunk := await client.chunk():
            rest += [chunk] if chunk != form.beat else []
        return head, beats, b"".join(rest)

    (status, headers), beats, rest = with_gateway(kind, body, options=SOON_KEPT_ALIVE, Each=late)

    assert (status, headers["content-type"], beats) == (200, form.content_type, [form.beat] * 2)
    assert rest.startswith(form.error) if fails else rest == form.record + form.end


@each_channel
@each_form
def test_a_client_that_leaves_between_heartbeats_ends_the_call(kind: str, form: Form) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        await client.begin("GET", "/give", Accept=form.content_type)
        await client.head()
        while (chunk := await client.chunk()) == form.beat:
            pass  # the first record may come after the first heartbeat
        assert chunk == form.record
        assert await client.chunk() == form.beat
        client.leave()
        await handlers.ended.wait()

    with_gateway(kind, body, options=SOON_KEPT_ALIVE, Give=handlers.endless)


@each_channel
def test_an_answer_that_may_be_a_table_is_begun_by_its_first_record(kind: str) -> None:
    begun = asyncio.Event()

    async def late(request: Any, context: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(5 * SOON)
        yield told("a")
        await begun.wait()
        yield told("a")

    async def body(runner: web.ServerRunner) -> list[bytes]:
        client = await Client.to(runner)
        await client.begin("GET", "/give")
        await client.head()
        chunks = [await client.chunk(), await client.chunk()]
        begun.set()
        return chunks

    assert with_gateway(kind, body, options=SOON_KEPT_ALIVE, Give=late) == [
        NDJSON.record,
        NDJSON.beat,
    ]


@each_channel
def test_a_table_has_no_heartbeat_since_every_line_counts_there(kind: str) -> None:
    async def slow(request: Any, context: Any) -> AsyncIterator[Any]:
        for cell in "ab":
            yield message("Told", lines=[message_of_cells([cell])])
            await asyncio.sleep(5 * SOON)

    async def body(runner: web.ServerRunner) -> bytes:
        client = await Client.to(runner)
        await client.begin("GET", "/give")
        return (await client.answer()).body

    assert with_gateway(kind, body, options=SOON_KEPT_ALIVE, Give=slow) == b"a\r\nb\r\n"
