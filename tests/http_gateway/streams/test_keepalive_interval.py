"""The interval between keepalive records, measured with a clock that jumps to the next timer."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.http import HttpVersion11
from multidict import CIMultiDict

from rosterd.http_gateway.options import Options
from rosterd.http_gateway.routing.bindings import bindings_of
from rosterd.http_gateway.streams.server_stream import ResponseWriter
from rosterd.server.serving.gateway_policy import POLICY

from ..serving import channel_to, register_handlers
from ..stream_service import SERVICE, message

KEEPALIVE, RECORD = b"1\r\n\n\r\n", b'd\r\n{"text":"a"}\n\r\n'


class JumpingSelector(selectors.DefaultSelector):
    """Advances its clock instead of waiting for a timer."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return super().select(0 if timeout else timeout)


class Loop(asyncio.SelectorEventLoop):
    """An event loop on the clock of its selector."""

    def __init__(self) -> None:
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


class Transport:
    """Records each write with its time."""

    def __init__(self) -> None:
        self.written: list[tuple[float, bytes]] = []

    def write(self, data: bytes) -> None:
        self.written.append((round(asyncio.get_running_loop().time(), 1), data))

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False


async def written_records(*pauses: float, accepts: bool = False) -> list[tuple[float, bytes]]:
    """Returns the writes, without the response head, of a call with a record after each pause."""
    (binding,) = (b for b in bindings_of(SERVICE, POLICY.annotations) if b.rpc.endswith("/Tail"))
    transport = Transport()
    request: Any = SimpleNamespace(
        transport=transport,
        version=HttpVersion11,
        method="GET",
        headers=CIMultiDict[str](),
        keep_alive=True,
        is_draining=lambda: False,
        options=Options(),
    )

    async def each(_request: Any, context: Any) -> AsyncIterator[Any]:
        if accepts:
            await context.send_initial_metadata((("x-a", "1"),))
        for pause in pauses:
            await asyncio.sleep(pause)
            yield message("Note", text="a")

    async with channel_to("in-process", register_handlers(SERVICE, {"Tail": each})) as channel:
        writer = ResponseWriter(
            request,
            "a",
            binding,
            message("NameRequest"),
            body_error=lambda: None,
            is_unread=lambda: False,
        )
        await writer.write_response(
            channel.unary_stream("/example.Service/Tail")(message("NameRequest"))
        )
    (_, head), *rest, (_, end) = transport.written
    assert (head[:12], end) == (b"HTTP/1.1 200", b"0\r\n\r\n")
    return rest


@pytest.mark.parametrize(
    ("pauses", "accepts", "expected"),
    [
        ([1, 40], False, [(1, RECORD), (16, KEEPALIVE), (31, KEEPALIVE), (41, RECORD)]),
        ([14, 14, 14], False, [(14, RECORD), (28, RECORD), (42, RECORD)]),
        ([20], False, [(15, KEEPALIVE), (20, RECORD)]),
        ([16, 16], True, [(15, KEEPALIVE), (16, RECORD), (31, KEEPALIVE), (32, RECORD)]),
    ],
    ids=["after a record", "never", "before a record", "after the head"],
)
def test_keepalive_record_is_sent_15_seconds_after_the_last_bytes(
    pauses: list[float], accepts: bool, expected: list[tuple[float, bytes]]
) -> None:
    assert Options().stream_keepalive_seconds == 15
    with asyncio.Runner(loop_factory=Loop) as runner:
        assert runner.run(written_records(*pauses, accepts=accepts)) == expected
