"""Tests the limits of calls that send headers and no message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from grpc import StatusCode, aio

from roster.v1 import tags_pb2 as pb
from roster.v1 import tags_pb2_grpc
from rosterd.server.rpc.errors import Overloaded
from rosterd.server.rpc.interceptors.unsent_requests import UnsentRequests

from ...http_gateway.serving import run

PATH = "/roster.v1.TagService/GetTag"


class Tags(tags_pb2_grpc.TagServiceServicer):
    async def GetTag(self, _request: Any, _context: Any) -> Any:
        return pb.GetTagResponse()


def run_with(
    body: Callable[[aio.Channel], Awaitable[None]], *interceptors: aio.ServerInterceptor
) -> None:
    async def main() -> None:
        server = aio.server(interceptors=interceptors)
        tags_pb2_grpc.add_TagServiceServicer_to_server(Tags(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            await body(channel)
        await server.stop(None)

    run(main())


async def never() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def nothing() -> AsyncIterator[bytes]:
    for message in ():
        yield message


def call(channel: aio.Channel, messages: AsyncIterator[bytes]) -> Any:
    return channel.stream_unary(PATH)(messages)


async def get(channel: aio.Channel) -> Any:
    return await tags_pb2_grpc.TagServiceStub(channel).GetTag(pb.GetTagRequest(), timeout=20)


def test_oldest_call_without_a_message_ends_if_too_many_wait() -> None:
    async def body(channel: aio.Channel) -> None:
        waiting = []
        for _ in range(2):
            waiting.append(call(channel, never()))
            while len(interceptor._waiting) < len(waiting):  # noqa: ASYNC110, SLF001
                await asyncio.sleep(0.01)

        await get(channel)

        assert await waiting[0].code() is StatusCode.UNAVAILABLE
        assert await waiting[0].details() == Overloaded.message
        assert not waiting[1].done()
        await get(channel)

    interceptor = UnsentRequests(max_calls=2, max_calls_in_grpc=0)
    run_with(body, interceptor)


def test_call_without_a_message_ends_after_the_deadline() -> None:
    async def body(channel: aio.Channel) -> None:
        assert await call(channel, never()).code() is StatusCode.DEADLINE_EXCEEDED

    run_with(body, UnsentRequests(deadline_seconds=0.05, max_calls_in_grpc=0))


def test_call_that_ends_without_a_message_is_invalid() -> None:
    async def body(channel: aio.Channel) -> None:
        assert await call(channel, nothing()).code() is StatusCode.INVALID_ARGUMENT

    run_with(body, UnsentRequests(max_calls_in_grpc=0))


def test_calls_that_wait_in_grpc_are_limited() -> None:
    async def body(channel: aio.Channel) -> None:
        waiting = call(channel, never())
        while not interceptor._in_grpc:  # noqa: ASYNC110, SLF001
            await asyncio.sleep(0.01)

        assert await call(channel, never()).code() is StatusCode.DEADLINE_EXCEEDED
        await get(channel)
        assert not waiting.done()
        waiting.cancel()
        while interceptor._in_grpc:  # noqa: ASYNC110, SLF001
            await asyncio.sleep(0.01)
        await get(channel)
        assert not interceptor._in_grpc  # noqa: SLF001

    interceptor = UnsentRequests(deadline_seconds=0.05, max_calls_in_grpc=1)
    run_with(body, interceptor)
