"""Keepalive records in streams that send no other records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from aiohttp import web

from ..client import Client
from ..serving import OPTIONS
from ..stream_service import message, notes_reply, reject
from .handlers import csv_line, each_channel, with_gateway


class Format(NamedTuple):
    """A response format with an example of each kind of record."""

    content_type: str
    keepalive: bytes
    record: bytes
    end: bytes
    error: bytes


EVENTS = Format(
    "text/event-stream",
    b":\n\n",
    b'data: {"text":"a"}\n\n',
    b"event: end\ndata: {}\n\n",
    b'event: error\ndata: {"error":',
)
NDJSON = Format("application/x-ndjson", b"\n", b'{"text":"a"}\n', b"", b'{"error":')
each_format = pytest.mark.parametrize("response_format", [EVENTS, NDJSON], ids=["events", "ndjson"])
# The interval of keepalive records in these tests.
SOON = 0.02
OPTIONS_SOON = replace(OPTIONS, stream_keepalive_seconds=SOON)


@each_channel
@each_format
@pytest.mark.parametrize("fails", [False, True])
def test_keepalive_records_are_sent_without_records_and_start_the_response(
    kind: str, response_format: Format, fails: bool
) -> None:
    received = asyncio.Event()

    async def late(_request: Any, context: Any) -> AsyncIterator[Any]:
        await received.wait()
        if fails:
            await reject(context, "TAG_NOT_FOUND")
        yield message("Note", text="a")

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/tail", Accept=response_format.content_type)
        head = await client.head()
        keepalives = [await client.chunk(), await client.chunk()]
        received.set()
        rest = []
        while chunk := await client.chunk():
            rest += [chunk] if chunk != response_format.keepalive else []
        return head, keepalives, b"".join(rest)

    (status, headers), keepalives, rest = with_gateway(kind, body, options=OPTIONS_SOON, Tail=late)

    assert (status, headers["content-type"], keepalives) == (
        200,
        response_format.content_type,
        [response_format.keepalive] * 2,
    )
    assert (
        rest.startswith(response_format.error)
        if fails
        else rest == response_format.record + response_format.end
    )


@each_channel
def test_accepted_call_without_records_sends_a_keepalive_record_soon(kind: str) -> None:
    received = asyncio.Event()

    async def late(_request: Any, context: Any) -> AsyncIterator[Any]:
        await context.send_initial_metadata((("accepted", "yes"),))
        await received.wait()
        yield message("Note", text="a")

    async def body(runner: web.ServerRunner) -> list[bytes]:
        client = await Client.to(runner)
        await client.begin("GET", "/tail", Accept=NDJSON.content_type)
        await client.head()
        first = await client.chunk()
        received.set()
        return [first, await client.chunk()]

    assert with_gateway(kind, body, Tail=late) == [NDJSON.keepalive, NDJSON.record]


def test_response_of_undetermined_format_starts_with_its_first_record() -> None:
    started = asyncio.Event()

    async def late(_request: Any, _context: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(5 * SOON)
        yield notes_reply("a")
        await started.wait()
        yield notes_reply("a")

    async def body(runner: web.ServerRunner) -> list[bytes]:
        client = await Client.to(runner)
        await client.begin("GET", "/list")
        await client.head()
        chunks = [await client.chunk(), await client.chunk()]
        started.set()
        return chunks

    assert with_gateway("in-process", body, options=OPTIONS_SOON, List=late) == [
        NDJSON.record,
        NDJSON.keepalive,
    ]


def test_csv_has_no_keepalive_records() -> None:
    async def slow(_request: Any, _context: Any) -> AsyncIterator[Any]:
        for cell in "ab":
            yield message("NotesReply", lines=[csv_line([cell])])
            await asyncio.sleep(5 * SOON)

    async def body(runner: web.ServerRunner) -> bytes:
        client = await Client.to(runner)
        await client.begin("GET", "/list")
        return (await client.response()).body

    assert with_gateway("in-process", body, options=OPTIONS_SOON, List=slow) == b"a\r\nb\r\n"
