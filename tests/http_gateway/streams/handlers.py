"""Handlers for tests of streams, and a gateway in front of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from roster.v1 import http_pb2
from rosterd.http_gateway.options import Options

from ..serving import OPTIONS, Handler, gateway_to, run
from ..stream_service import message, notes_reply

CSV = "text/csv"
each_channel = pytest.mark.parametrize("kind", ["real", "in-process"])


async def echo(requests: Any, _context: Any) -> AsyncIterator[Any]:
    """Returns the name, invalid fields and cells of each record when it arrives."""
    async for request in requests:
        notes = [
            ":".join([item.name, *sorted(fault.field or "all" for fault in item.faults)])
            for item in request.items
        ]
        lines = [f"{line.number}:{'|'.join(line.cells)}" for line in request.lines]
        yield notes_reply(*notes, *lines)


async def count(requests: Any, _context: Any) -> Any:
    total = 0
    async for request in requests:
        total += len(request.items)
    return message("Total", total=total)


class Handlers:
    """Handlers that record their requests and whether they have ended."""

    def __init__(self) -> None:
        self.received: list[Any] = []
        self.started = asyncio.Event()
        self.has_ended = asyncio.Event()

    async def exchange(self, requests: Any, _context: Any) -> AsyncIterator[Any]:
        try:
            async for request in requests:
                self.received.append(request)
                yield notes_reply("a")
            self.received.append("end")
        finally:
            self.has_ended.set()

    async def collect(self, requests: Any, _context: Any) -> Any:
        try:
            async for request in requests:
                self.received.append(request)
                self.started.set()
            self.received.append("end")
            return message("Total", total=1)
        finally:
            self.has_ended.set()

    async def endless(self, request: Any, _context: Any) -> AsyncIterator[Any]:
        """Sends as many responses as the request name says, by default one, and never ends."""
        try:
            while len(self.received) < int(request.name or "1"):
                self.received.append("given")
                yield notes_reply("x" * 65_536 if request.name else "a")
            await asyncio.Event().wait()
        finally:
            self.has_ended.set()


def with_gateway(
    kind: str,
    body: Any,
    *,
    grace: float = 0.5,
    options: Options = OPTIONS,
    **handlers: Handler,
) -> Any:
    """Runs a coroutine function with a gateway in front of these handlers."""

    async def main() -> Any:
        async with gateway_to(kind, grace=grace, options=options, **handlers) as runner:
            return await body(runner)

    return run(main())


def csv_line(cells: list[str]) -> Any:
    line = type(message("NotesReply").lines.add())()
    line.MergeFromString(http_pb2.CsvLine(cells=cells).SerializeToString())
    return line
