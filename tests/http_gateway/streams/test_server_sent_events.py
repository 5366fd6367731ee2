"""Server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from ..client import Client, ReceivedResponse
from ..stream_service import message, notes_reply, reject
from .handlers import csv_line, with_gateway

SSE = "text/event-stream"
END = b"event: end\ndata: {}\n\n"


async def send_request(
    runner: web.ServerRunner, accept: str = SSE, method: str = "GET"
) -> ReceivedResponse:
    client = await Client.to(runner)
    await client.begin(method, "/list?name=a", Accept=accept)
    return await client.response(has_body=method != "HEAD")


async def send_notes(request: Any, _context: Any) -> AsyncIterator[Any]:
    yield notes_reply()
    yield notes_reply(request.name, "b")
    yield notes_reply("é\r\n")


def test_each_record_is_an_event_and_the_last_event_is_the_end() -> None:
    got = with_gateway("in-process", send_request, List=send_notes)

    assert (got.status, got.headers["content-type"]) == (200, SSE)
    assert got.headers["cache-control"] == "no-store"
    records = ('{"text":"a"}', '{"text":"b"}', '{"text":"é\\r\\n"}')
    assert got.body == "".join(f"data: {one}\n\n" for one in records).encode() + END
    assert got.is_whole


@pytest.mark.parametrize(
    ("accept", "is_given"),
    [
        ("Text/Event-Stream; charset=utf-8", True),
        (f"application/x-ndjson;q=0.5, {SSE};q=0.6", True),
        (f"{SSE};q=0.7, text/csv;q=0.7", True),
        ("*/*", False),
        (f"{SSE};q=0", False),
        (f"{SSE};q=no", False),
        (f"{SSE};q=0.5, application/x-ndjson", False),
        ("", False),
    ],
)
def test_events_are_sent_only_if_accept_names_them(accept: str, is_given: bool) -> None:
    got = with_gateway("in-process", lambda to: send_request(to, accept), List=send_notes)

    expected = SSE if is_given else "application/x-ndjson"
    assert (got.status, got.headers["content-type"]) == (200, expected)
    assert ("cache-control" in got.headers) is is_given


def test_csv_line_is_an_event_with_its_cells() -> None:
    async def lines(_request: Any, _context: Any) -> AsyncIterator[Any]:
        yield message("NotesReply", lines=[csv_line(["id", "name"])])
        yield message("NotesReply", lines=[csv_line(["1", 'a\n"b"'])])

    got = with_gateway("in-process", send_request, List=lines)

    assert got.body == b'data: ["id","name"]\n\ndata: ["1","a\\n\\"b\\""]\n\n' + END


def test_error_is_the_last_event() -> None:
    async def failing(_request: Any, context: Any) -> AsyncIterator[Any]:
        yield notes_reply("a")
        await reject(context, "TAG_NOT_FOUND")

    got = with_gateway("in-process", send_request, List=failing)

    record, error, rest = got.body.split(b"\n\n")
    assert (record, rest, got.is_whole) == (b'data: {"text":"a"}', b"", True)
    name, data = error.split(b"\n")
    assert name == b"event: error"
    assert json.loads(data.removeprefix(b"data: "))["error"]["code"] == "TagNotFound"
