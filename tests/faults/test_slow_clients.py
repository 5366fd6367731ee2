"""Clients that send slowly, stop sending, or send no body get an error and are disconnected.

The gateway runs in the test's own process, where its limits are set lower.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from http_gateway.options import Options

from ..http_gateway.client import Client, Got
from ..http_gateway.made import message
from ..http_gateway.serving import OPTIONS, gateway_to, run
from ..http_gateway.streams.handlers import count, each_channel, echo

ONCE = b"POST /once HTTP/1.1\r\nHost: x\r\n"
DECLARED = ONCE + b"Content-Length: 40\r\n\r\n"
CHUNKED = ONCE + b"Transfer-Encoding: chunked\r\n\r\n"
LINE = b'{"name":"a"}\n'


async def once(request: Any, context: Any) -> Any:
    return message("Sum")


def with_client(kind: str, story: Any, **limits: float) -> Any:
    """Runs a story with a client of a gateway; it has to end in time."""

    async def main() -> Any:
        async with gateway_to(
            kind, options=replace(OPTIONS, **limits), Once=once, Both=echo, Collect=count
        ) as runner:
            return await story(await Client.to(runner))

    return run(main())


def code_of(got: Got) -> tuple[int, str]:
    return got.status, json.loads(got.body)["error"]["code"]


async def dripped(client: Client, data: bytes) -> tuple[Got, bool]:
    """Sends a byte at a time until there is an answer; returns it, and whether that was the end."""

    async def drip() -> None:
        for place in range(len(data)):
            await client.raw(data[place : place + 1])
            await asyncio.sleep(0.05)

    dripping = asyncio.ensure_future(drip())
    got = await client.answer()
    dripping.cancel()
    return got, await client.is_closed()


def test_the_limits_are_those_that_are_promised() -> None:
    options = Options()
    assert options.body_seconds <= 10
    assert options.head_seconds + options.lingering_seconds <= 15
    assert options.keepalive_seconds == 30


@pytest.mark.parametrize("head", [DECLARED, CHUNKED + b"28\r\n"], ids=["declared", "chunked"])
def test_a_body_that_drips_has_no_more_time_than_any_other(head: bytes) -> None:
    async def story(client: Client) -> tuple[Got, bool]:
        await client.raw(head)
        return await dripped(client, b"{" + b" " * 60)

    got, is_closed = with_client("in-process", story, body_seconds=0.3)

    assert (code_of(got), got.headers["connection"]) == ((408, "RequestTimeout"), "close")
    assert is_closed


@pytest.mark.parametrize(
    "sent",
    [
        DECLARED,
        DECLARED + b"{",
        CHUNKED,
        CHUNKED + b"28\r\n{",
        CHUNKED + b"1\r\n{\r\n",
        CHUNKED + b"2",
    ],
    ids=["nothing", "begun", "no chunk", "half a chunk", "a chunk", "half the size of a chunk"],
)
def test_a_body_that_stops_is_given_up(sent: bytes) -> None:
    async def story(client: Client) -> Got:
        await client.raw(sent)
        return await client.answer()

    assert code_of(with_client("in-process", story, body_seconds=0.2)) == (408, "RequestTimeout")


BAD_CHUNKS = pytest.mark.parametrize(
    "bad",
    [b"zz\r\n", b"-1\r\n", b"2\r\n{}xx", b"2;\n{}\r\n", b"fffffffffffffffff\r\n"],
    ids=["no size", "negative", "longer than its size", "bare LF", "a size beyond 64 bits"],
)


@BAD_CHUNKS
def test_a_bad_chunk_amid_a_body_is_rejected_at_once(
    bad: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(client: Client) -> tuple[Got, bool]:
        await client.raw(CHUNKED + b"1\r\n{\r\n")
        await asyncio.sleep(0.05)
        await client.raw(bad)
        return await client.answer(), await client.is_closed()

    got, is_closed = with_client("in-process", story)

    assert (code_of(got), is_closed) == ((400, "ValidationError"), True)
    assert not [record for record in caplog.records if record.exc_info]


@each_channel
@BAD_CHUNKS
def test_a_bad_chunk_amid_a_stream_is_its_last_record(kind: str, bad: bytes) -> None:
    async def story(client: Client) -> tuple[Got, bool]:
        await client.begin("POST", "/both")
        await client.send(LINE)
        head, first = await client.head(), await client.chunk()
        await client.raw(bad)
        last = await client.chunk()
        whole = await client.chunk() == b""
        return Got(*head, first + last, is_whole=whole), await client.is_closed()

    got, is_closed = with_client(kind, story)

    assert (got.status, got.texts, got.is_whole) == (200, ["a", "ValidationError"], True)
    assert is_closed


@each_channel
@pytest.mark.parametrize("path", ["/both", "/collect/x"])
def test_a_bad_chunk_is_the_only_answer_where_there_was_none(kind: str, path: str) -> None:
    async def story(client: Client) -> tuple[Got, bool]:
        await client.begin("POST", path)
        await client.send(LINE[:5])
        await asyncio.sleep(0.05)
        await client.raw(b"zz\r\n")
        return await client.answer(), await client.is_closed()

    got, is_closed = with_client(kind, story)

    assert (code_of(got), got.headers["connection"]) == ((400, "ValidationError"), "close")
    assert is_closed


def test_a_bad_chunk_of_a_request_that_waits_for_its_turn_is_rejected_too() -> None:
    may_proceed = asyncio.Event()

    async def waiting(request: Any, context: Any) -> Any:
        await may_proceed.wait()
        return message("Sum")

    async def main() -> list[int]:
        async with gateway_to("in-process", Once=waiting) as runner:
            client = await Client.to(runner)
            pieces = (ONCE + b"Content-Length: 2\r\n\r\n{}", CHUNKED + b"1\r\n{\r\n", b"zz\r\n")
            for piece in pieces:
                await client.raw(piece)
                await asyncio.sleep(0.05)
            may_proceed.set()
            return [(await client.answer()).status for _ in range(2)]

    assert run(main()) == [200, 400]


@pytest.mark.parametrize(
    "sent", [b"GET /once?" + b"x" * 99, ONCE + b"A: " + b"x" * 99, b"\r\n" * 99], ids=repr
)
def test_a_head_that_drips_is_given_up(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    got, is_closed = with_client(
        "in-process", lambda client: dripped(client, sent), head_seconds=0.3
    )

    assert (code_of(got), got.headers["connection"]) == ((408, "RequestTimeout"), "close")
    assert is_closed
    assert not [record for record in caplog.records if record.exc_info]


def test_a_client_that_goes_on_dripping_is_cut_off() -> None:
    async def story(client: Client) -> None:
        await client.raw(b"GET /once?")
        while True:
            await client.raw(b"x")
            await asyncio.sleep(0.02)

    with pytest.raises(ConnectionError):
        with_client("in-process", story, head_seconds=0.1)


def test_a_head_has_its_time_on_a_connection_that_was_used_before() -> None:
    whole = ONCE + b"Content-Length: 2\r\n\r\n{}"

    async def story(client: Client) -> list[int]:
        await client.raw(whole[:20])
        await asyncio.sleep(0.05)
        await client.raw(whole[20:])
        first = await client.answer()
        await asyncio.sleep(0.6)  # idle, which a connection may be for longer
        await client.raw(whole)
        second = await client.answer()
        await client.raw(whole[:20])
        return [first.status, second.status, (await client.answer()).status]

    assert with_client("in-process", story, head_seconds=0.5) == [200, 200, 408]


@pytest.mark.parametrize("has_asked", [False, True])
def test_a_connection_that_is_idle_for_too_long_is_closed(*, has_asked: bool) -> None:
    async def story(client: Client) -> bool:
        if has_asked:
            await client.raw(ONCE + b"Content-Length: 2\r\n\r\n{}")
            assert (await client.answer()).status == 200
        return await client.is_closed()

    assert with_client("in-process", story, keepalive_seconds=0.2)


def test_a_gateway_that_stops_does_not_wait_for_a_head() -> None:
    async def main() -> bool:
        async with gateway_to("in-process", grace=60.0, Once=once) as runner:
            client = await Client.to(runner)
            await client.raw(b"GET /once HT")
            await asyncio.sleep(0.05)
            await runner.cleanup()
            return await client.is_closed()

    assert run(main())


def test_a_stream_that_only_drips_is_read_on() -> None:
    """A stream has no time as a whole: what comes of it now and then keeps it open."""

    async def story(client: Client) -> Got:
        await client.begin("POST", "/both")
        for byte in LINE:
            await client.send(bytes([byte]))
            await asyncio.sleep(0.1)
        await client.finish()
        return await client.answer()

    limits = {"stream_idle_seconds": 1.0, "body_seconds": 0.2}
    assert with_client("in-process", story, **limits).texts == ["a"]
