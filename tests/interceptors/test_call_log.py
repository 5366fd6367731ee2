"""Lines of calls on a pipe that several processes write to."""

from __future__ import annotations

import asyncio
import json
import os
from select import PIPE_BUF
from unittest.mock import patch

from server.interceptors.call_log import CallLog


def test_lines_are_written_in_pieces_that_a_pipe_keeps_together() -> None:
    pieces: list[bytes] = []

    def write(descriptor: int, data: bytes) -> int:
        pieces.append(data)
        return len(data)

    async def log() -> None:
        calls = CallLog(7)
        for number in range(100):
            calls.write(
                rpc="TagService.GetTag",
                code="OK",
                seconds=0.1,
                account=None,
                request_id=str(number),
            )
        calls.flush()

    with patch.object(os, "write", write):
        asyncio.run(log())

    assert len(pieces) > 1
    assert max(map(len, pieces)) <= PIPE_BUF
    assert {piece[-1:] for piece in pieces} == {b"\n"}
    lines = [json.loads(line) for line in b"".join(pieces).splitlines()]
    assert [line["requestId"] for line in lines] == [str(number) for number in range(100)]
