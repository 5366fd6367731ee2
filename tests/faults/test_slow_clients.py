"""Clients that send slowly, stop sending, or send no body get an error and are disconnected.

The gateway runs in the test's own process, where its limits are set lower.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from ..http_gateway.client import Client, ReceivedResponse
from ..http_gateway.serving import OPTIONS, gateway_to, run
from ..http_gateway.stream_service import message
from ..http_gateway.streams.handlers import count, each_channel, echo

UNARY = b"POST /unary HTTP/1.1\r\nHost: x\r\n"
DECLARED = UNARY + b"Content-Length: 40\r\n\r\n"
CHUNKED = UNARY + b"Transfer-Encoding: chunked\r\n\r\n"
LINE = b'{"name":"a"}\n'


async def unary(request: Any, context: Any) -> Any:
    return message("Total")


def with_client(kind: str, scenario: Any, **limits: float) -> Any:
    """Runs a scenario with a client of a gateway."""

    async def main() -> Any:
        async with gateway_to(
            kind, options=replace(OPTIONS, **limits), Unary=unary, Exchange=echo, Collect=count
        ) as runner:
            return await scenario(await Client.to(runner))

    return run(main())


def code_of(got: ReceivedResponse) -> tuple[int, str]:
    return got.status, json.loads(got.body)["error"]["code"]


async def send_slowly(client: Client, data: bytes) -> tuple[ReceivedResponse, bool]:
    """Sends byte by byte until there is a response. Returns it, and whether it was the last."""

    async def send_bytes() -> None:
        for byte in data:
            await client.raw(bytes([byte]))
            await asyncio.sleep(0.05)

    dripping = asyncio.ensure_future(send_bytes())
    got = await client.response()
    dripping.cancel()
    return got, await client.is_closed()


@pytest.mark.parametrize("head", [DECLARED, CHUNKED + b"28\r\n"], ids=["declared", "chunked"])
def test_slow_body_times_out(head: bytes) -> None:
    async def scenario(client: Client) -> tuple[ReceivedResponse, bool]:
        await client.raw(head)
        return await send_slowly(client, b"{" + b" " * 60)

    got, is_closed = with_client("in-process", scenario, body_seconds=0.3)

    assert (code_of(got), got.headers["connection"]) == ((408, "RequestTimeout"), "close")
    assert is_closed


@pytest.mark.parametrize(
    "sent",
    [
        DECLARED,
        CHUNKED + b"28\r\n{",
        CHUNKED + b"2",
    ],
    ids=["nothing", "half a chunk", "half the size of a chunk"],
)
def test_stalled_body_times_out(sent: bytes) -> None:
    async def scenario(client: Client) -> ReceivedResponse:
        await client.raw(sent)
        return await client.response()

    assert code_of(with_client("in-process", scenario, body_seconds=0.2)) == (408, "RequestTimeout")


each_invalid_chunk = pytest.mark.parametrize(
    "invalid",
    [b"zz\r\n", b"-1\r\n", b"2\r\n{}xx", b"2;\n{}\r\n", b"fffffffffffffffff\r\n"],
    ids=["no size", "negative", "longer than its size", "bare LF", "a size beyond 64 bits"],
)


@each_invalid_chunk
def test_invalid_chunk_in_a_body_is_rejected_immediately(
    invalid: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(client: Client) -> tuple[ReceivedResponse, bool]:
        await client.raw(CHUNKED + b"1\r\n{\r\n")
        await asyncio.sleep(0.05)
        await client.raw(invalid)
        return await client.response(), await client.is_closed()

    got, is_closed = with_client("in-process", scenario)

    assert (code_of(got), is_closed) == ((400, "ValidationError"), True)
    assert not [record for record in caplog.records if record.exc_info]


@each_channel
@each_invalid_chunk
def test_invalid_chunk_in_a_stream_is_reported_by_the_last_record(
    kind: str, invalid: bytes
) -> None:
    async def scenario(client: Client) -> tuple[ReceivedResponse, bool]:
        await client.begin("POST", "/exchange")
        await client.send(LINE)
        head, first = await client.head(), await client.chunk()
        await client.raw(invalid)
        last = await client.chunk()
        whole = await client.chunk() == b""
        return ReceivedResponse(*head, first + last, is_whole=whole), await client.is_closed()

    got, is_closed = with_client(kind, scenario)

    assert (got.status, got.texts, got.is_whole) == (200, ["a", "ValidationError"], True)
    assert is_closed


@pytest.mark.parametrize(
    "sent", [b"GET /unary?" + b"x" * 99, UNARY + b"A: " + b"x" * 99, b"\r\n" * 99], ids=repr
)
def test_slow_request_head_times_out(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    got, is_closed = with_client(
        "in-process", lambda client: send_slowly(client, sent), head_seconds=0.3
    )

    assert (code_of(got), got.headers["connection"]) == ((408, "RequestTimeout"), "close")
    assert is_closed
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("after_a_request", [False, True])
def test_idle_connection_is_closed(*, after_a_request: bool) -> None:
    async def scenario(client: Client) -> bool:
        if after_a_request:
            await client.raw(UNARY + b"Content-Length: 2\r\n\r\n{}")
            assert (await client.response()).status == 200
        return await client.is_closed()

    assert with_client("in-process", scenario, keepalive_seconds=0.2)
