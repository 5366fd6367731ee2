"""Flow control of streams, with simulated connections and bodies."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.http import HttpVersion11

from rosterd.http_gateway.options import Options
from rosterd.http_gateway.responses import UNREAD_BYTES
from rosterd.http_gateway.routing.bindings import bindings_of
from rosterd.http_gateway.routing.stream_fields import MAX_RECORDS
from rosterd.http_gateway.streams.client_stream import (
    LINES_AT_ONCE,
    MESSAGE_BYTES,
    RequestMessages,
    parser_of,
)
from rosterd.http_gateway.streams.records import MAX_RECORD_BYTES
from rosterd.http_gateway.streams.response import StreamResponse
from rosterd.server.serving.gateway_policy import POLICY

from ..serving import run
from ..stream_service import SERVICE, message


class Transport:
    """A connection whose client reads these numbers of bytes, one after another."""

    def __init__(self, *reads: int) -> None:
        self.reads = list(reads)
        self.unread = 0
        self.was_aborted = False
        self.has_drained = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.unread += len(data)

    def get_write_buffer_size(self) -> int:
        size = self.unread
        if self.reads:
            self.unread = max(self.unread - self.reads.pop(0), 0)
        if self.unread < UNREAD_BYTES // 4:
            self.has_drained.set()
        return size

    def is_closing(self) -> bool:
        return self.was_aborted

    def abort(self) -> None:
        self.was_aborted = True

    async def drain(self) -> None:
        await self.has_drained.wait()


def response_over(transport: Transport) -> StreamResponse:
    request: Any = SimpleNamespace(
        transport=transport,
        writer=SimpleNamespace(drain=transport.drain),
        version=HttpVersion11,
        method="GET",
        keep_alive=True,
        is_draining=lambda: False,
        response_headers={},
        options=Options(write_seconds=0.02),
    )
    return StreamResponse(request, 200, "abc")


def test_slow_reader_stays_connected_while_it_reads() -> None:
    async def main() -> Transport:
        # The size is requested twice before the first wait, and once after each wait.
        transport = Transport(0, *[10_000] * 9)
        await response_over(transport).write(b"x" * (UNREAD_BYTES + 20_000))
        return transport

    transport = run(main())

    assert not transport.was_aborted
    assert transport.unread < UNREAD_BYTES // 4


def test_small_write_does_not_wait() -> None:
    async def main() -> Transport:
        transport = Transport()
        await response_over(transport).write(b"x" * (UNREAD_BYTES - 100))
        return transport

    assert not run(main()).was_aborted


async def messages_of(*pieces: bytes) -> list[Any]:
    """Returns the request messages for a body that arrives in these pieces."""
    rest = [*pieces, b""]

    async def readany() -> bytes:
        return rest.pop(0)

    binding = next(
        b for b in bindings_of(SERVICE, POLICY.annotations) if b.rpc.endswith("/Exchange")
    )
    content = SimpleNamespace(readany=readany)
    request: Any = SimpleNamespace(
        headers={}, content=content, transport=object(), options=Options()
    )
    assert binding.request_records is not None
    parser = parser_of(request, binding.request_records)
    return [
        received
        async for received in RequestMessages(request, binding, parser, message("ItemsRequest"))
    ]


@pytest.mark.parametrize("line", [b"\n", b'{"name":"a"}\n'])
def test_parsing_of_a_large_body_yields_to_other_tasks(line: bytes) -> None:
    turns = 0

    async def other_task() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.create_task(other_task())
        await messages_of(line * (50 * LINES_AT_ONCE))
        task.cancel()

    run(main())

    assert turns >= 50


def test_message_contains_the_received_records_up_to_the_maximum() -> None:
    line = b'{"name":"a"}\n'

    messages = run(messages_of(line, line * 3 + b"{", b"}\n", line * (2 * MAX_RECORDS + 1)))

    assert [len(message.items) for message in messages] == [1, 3, 1, MAX_RECORDS, MAX_RECORDS, 1]


def test_message_exceeds_its_size_by_at_most_one_record() -> None:
    line = b'{"name":"%b"}\n' % (b"x" * 100_000)
    longest = b'{"name":"%b"}\n' % (b"x" * (MAX_RECORD_BYTES - 12))

    messages = run(messages_of(line * 40, line + longest + line))

    assert [len(message.items) for message in messages] == [3] * 13 + [1, 2, 1]
    assert max(message.ByteSize() for message in messages) < MESSAGE_BYTES + MAX_RECORD_BYTES
