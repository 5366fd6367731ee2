"""What a call costs on its way from HTTP to the server, over either channel."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvloop
from grpc import aio
from roster.v1 import subscribers_pb2, subscribers_pb2_grpc

from http_gateway.channel.in_process import InProcessChannel

from .hop_servers import PATH, SUBSCRIBER, Backend
from .measuring import Figure, in_turns, load, program, request

REQUESTS = [request("GET", PATH, "rk_key")] * 100_000
CALLS, ROUNDS = 20_000, 7


class HandOn(aio.ServerInterceptor):
    """Does nothing."""

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        return await continuation(details)


def stats() -> Iterator[Figure]:
    """Yields the gateway over a real channel, against one of stock aiohttp and grpc.aio."""
    with (
        program("hop_servers", "backend") as backend,
        program("hop_servers", "gateway", backend) as gateway,
        program("hop_servers", "bare", backend) as bare,
    ):
        measured = in_turns(lambda: load(gateway, REQUESTS), lambda: load(bare, REQUESTS))
    yield Figure(
        "gateway_over_grpc", *measured, unit="requests/s", other="stock aiohttp and grpc.aio"
    )


def channel_microseconds() -> float:
    """Returns what the in-process channel adds to a call, with two interceptors that do nothing."""
    return uvloop.run(_channel_microseconds())


async def _channel_microseconds() -> float:
    def register(server: Any) -> None:
        subscribers_pb2_grpc.add_SubscriberServiceServicer_to_server(Backend(), server)

    channel = InProcessChannel(register, (HandOn(), HandOn()))
    stub: Any = subscribers_pb2_grpc.SubscriberServiceStub(channel)
    handle, asked = Backend().GetSubscriber, subscribers_pb2.GetSubscriberRequest(id=SUBSCRIBER.id)
    return statistics.median(
        [
            await _microseconds(lambda: stub.GetSubscriber(asked))
            - await _microseconds(lambda: handle(asked, None))
            for _ in range(ROUNDS)
        ]
    )


async def _microseconds(call: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    for _ in range(CALLS):
        await call()
    return 1e6 * (time.perf_counter() - started) / CALLS
