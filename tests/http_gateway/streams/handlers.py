"""Handlers for tests of streams, and a gateway in front of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from roster.v1 import http_pb2

from http_gateway.options import Options

from ..made import message, told
from ..serving import OPTIONS, Handler, gateway_to, run

CSV = "text/csv"
each_channel = pytest.mark.parametrize("kind", ["real", "in-process"])


async def echo(requests: Any, context: Any) -> AsyncIterator[Any]:
    """Tells of each record as it comes: its name, its faults, its cells."""
    async for request in requests:
        notes = [
            ":".join([item.name, *sorted(fault.field or "all" for fault in item.faults)])
            for item in request.items
        ]
        lines = [f"{line.number}:{'|'.join(line.cells)}" for line in request.lines]
        yield told(*notes, *lines)


async def count(requests: Any, context: Any) -> Any:
    total = 0
    async for request in requests:
        total += len(request.items)
    return message("Sum", total=total)


class Handlers:
    """Handlers that note what they get and how they end."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def both(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        try:
            async for request in requests:
                self.seen.append(request)
                yield told("a")
            self.seen.append("end")
        finally:
            self.ended.set()

    async def collect(self, requests: Any, context: Any) -> Any:
        try:
            async for request in requests:
                self.seen.append(request)
                self.begun.set()
            self.seen.append("end")
            return message("Sum", total=1)
        finally:
            self.ended.set()

    async def endless(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Gives the first reply, or as many as the request's name says, and waits for ever."""
        try:
            while len(self.seen) < int(request.name or "1"):
                self.seen.append("given")
                yield told("x" * 65_536 if request.name else "a")
            await asyncio.Event().wait()
        finally:
            self.ended.set()


def with_gateway(
    kind: str,
    body: Any,
    *,
    grace: float = 0.5,
    options: Options = OPTIONS,
    **handlers: Handler,
) -> Any:
    """Runs a test's body with a gateway over a channel to these handlers."""

    async def main() -> Any:
        async with gateway_to(kind, grace=grace, options=options, **handlers) as runner:
            return await body(runner)

    return run(main())


def message_of_cells(cells: list[str]) -> Any:
    line = type(message("Told").lines.add())()
    line.MergeFromString(http_pb2.CsvLine(cells=cells).SerializeToString())
    return line
