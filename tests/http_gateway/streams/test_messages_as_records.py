"""Streaming rpcs that map each message to one record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..client import post
from ..stream_service import message
from .handlers import with_gateway


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


def test_each_line_is_a_request_with_the_fields_of_the_path() -> None:
    sifting = RecordingHandler()
    body = b'{"name":"a"}\n\n{"name":"b","size":7}'

    got = with_gateway(
        "in-process", lambda to: post(to, "/upload/x%20y", body), Upload=sifting.sift
    )

    assert (got.status, json.loads(got.body)) == (200, {"total": 2})
    assert sifting.received == [("x y", "a", 0), ("x y", "b", 7)]


@pytest.mark.parametrize(
    ("line", "field"),
    [(b'{"name":7}', "[1].name"), (b'{"set":"x"}', "[1].set"), (b"no", "[1]")],
    ids=[
        "wrong type",
        "of the path",
        "no JSON",
    ],
)
def test_invalid_line_is_located(line: bytes, field: str) -> None:
    sifting = RecordingHandler()
    body = b'{"name":"a"}\n' + line + b'\n{"name":"c"}\n'

    got = with_gateway("in-process", lambda to: post(to, "/upload/x", body), Upload=sifting.sift)

    assert got.status == 400
    (detail,) = json.loads(got.body)["error"]["details"]
    assert (detail["field"], detail["message"][-8:]) == (field, "(line 2)")
    assert "c" not in {name for _, name, _ in sifting.received}
