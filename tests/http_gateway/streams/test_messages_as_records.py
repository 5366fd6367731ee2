"""Streaming rpcs that map each message to one record."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ..client import get, post
from ..stream_service import message
from .handlers import each_channel, with_gateway


class RecordingHandler:
    """A handler that records its requests."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str, int]] = []
        self.has_ended = False

    async def sift(self, requests: Any, _context: Any) -> Any:
        async for request in requests:
            self.received.append((request.set, request.name, request.size))
        self.has_ended = True
        return message("Total", total=len(self.received))


@each_channel
def test_each_response_is_a_record(kind: str) -> None:
    async def each(request: Any, _context: Any) -> AsyncIterator[Any]:
        for text in (request.name, "", "é\n"):
            yield message("Note", text=text)

    got = with_gateway(kind, lambda to: get(to, "/tail?name=a"), Tail=each)

    assert (got.status, got.headers["content-type"]) == (200, "application/x-ndjson")
    assert (got.texts, got.is_whole) == (["a", "", "é\n"], True)


@each_channel
def test_each_line_is_a_request_with_the_fields_of_the_path(kind: str) -> None:
    sifting = RecordingHandler()
    body = b'{"name":"a"}\n\n{"name":"b","size":7}'

    got = with_gateway(kind, lambda to: post(to, "/upload/x%20y", body), Upload=sifting.sift)

    assert (got.status, json.loads(got.body)) == (200, {"total": 2})
    assert sifting.received == [("x y", "a", 0), ("x y", "b", 7)]


@each_channel
@pytest.mark.parametrize("body", [b"", b"\n\r\n"])
def test_body_without_lines_has_no_requests(kind: str, body: bytes) -> None:
    sifting = RecordingHandler()

    got = with_gateway(kind, lambda to: post(to, "/upload/x", body), Upload=sifting.sift)

    assert (json.loads(got.body), sifting.received) == ({"total": 0}, [])


@each_channel
@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b'{"name":7}', "[1].name"),
        (b'{"set":"x"}', "[1].set"),
        (b"[]", "[1]"),
        (b"no", "[1]"),
    ],
    ids=["wrong type", "of the path", "no object", "no JSON"],
)
def test_invalid_line_is_located(kind: str, line: bytes, field: str) -> None:
    sifting = RecordingHandler()
    body = b'{"name":"a"}\n' + line + b'\n{"name":"c"}\n'

    got = with_gateway(kind, lambda to: post(to, "/upload/x", body), Upload=sifting.sift)

    assert got.status == 400
    (detail,) = json.loads(got.body)["error"]["details"]
    assert (detail["field"], detail["message"][-8:]) == (field, "(line 2)")
    assert "c" not in {name for _, name, _ in sifting.received}
