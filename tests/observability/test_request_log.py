"""Lines of calls: on a pipe that several processes write to, and as people read them."""

from __future__ import annotations

import asyncio
import json
import os
from select import PIPE_BUF
from unittest.mock import patch

import pytest

from server.observability.request_log import RequestLog, text_line
from server.observability.request_record import RequestRecord


def written(*calls: RequestRecord) -> list[bytes]:
    """Returns the pieces in which the lines of calls are written."""
    pieces: list[bytes] = []

    def write(descriptor: int, data: bytes) -> int:
        pieces.append(data)
        return len(data)

    async def log() -> None:
        target = RequestLog(7)
        for call in calls:
            target.write(call)
        target.flush()

    with patch.object(os, "write", write):
        asyncio.run(log())
    return pieces


def over_http(route: str, status: int) -> RequestRecord:
    """Returns a request that was answered."""
    call = RequestRecord("abc")
    call.method, call.route, call.status = "GET", route, status
    return call


def test_lines_are_written_in_pieces_that_a_pipe_keeps_together() -> None:
    pieces = written(*(RequestRecord(str(number)) for number in range(100)))

    assert len(pieces) > 1
    assert max(map(len, pieces)) <= PIPE_BUF
    assert {piece[-1:] for piece in pieces} == {b"\n"}
    lines = [json.loads(line) for line in b"".join(pieces).splitlines()]
    assert [line["requestId"] for line in lines] == [str(number) for number in range(100)]


@pytest.mark.parametrize(
    ("route", "status", "lines"),
    [("/healthz", 200, 0), ("/readyz", 200, 0), ("/readyz", 503, 1), ("/docs", 200, 1)],
)
def test_a_probe_has_a_line_only_where_it_fails(route: str, status: int, lines: int) -> None:
    assert b"".join(written(over_http(route, status))).count(b"\n") == lines


def test_a_line_for_people_says_what_the_one_for_programs_says() -> None:
    call = over_http("TagService.GetTag", 404)
    call.code, call.account, call.seconds, call.sent = "NOT_FOUND", "01M7", 0.0123, 136

    assert text_line(call) == (
        "00:00:00.000Z info     GET 404 TagService.GetTag NOT_FOUND 12.3 ms"
        " received=0 sent=136 account=01M7 requestId=abc\n"
    )
