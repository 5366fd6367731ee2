"""The overhead of the gateway, over a network channel and over the in-process channel."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvloop
from grpc import aio

from roster.v1 import subscribers_pb2, subscribers_pb2_grpc
from rosterd.http_gateway.channel.in_process import InProcessChannel

from .gateway_servers import PATH, SUBSCRIBER, Backend
from .measurement import Stats, compared, load, program, request, spread

REQUESTS = [request("GET", PATH, "rk_key")]
CALLS, REPETITIONS = 20_000, 7


class EmptyInterceptor(aio.ServerInterceptor):
    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        return await continuation(details)


def stats() -> Iterator[Stats]:
    """Yields the gateway over a network channel, compared with aiohttp and grpc.aio alone."""
    with (
        program("gateway_servers", "backend") as backend,
        program("gateway_servers", "gateway", backend) as gateway,
        program("gateway_servers", "baseline", backend) as baseline,
    ):
        yield compared(
            "gateway_over_grpc", lambda: load(gateway, REQUESTS), lambda: load(baseline, REQUESTS)
        )


def channel_stats() -> Iterator[Stats]:
    """Yields the overhead of the in-process channel with two empty interceptors."""
    yield spread("in_process_call_us", uvloop.run(_channel_microseconds()), 1)


async def _channel_microseconds() -> list[float]:
    def register(server: Any) -> None:
        subscribers_pb2_grpc.add_SubscriberServiceServicer_to_server(Backend(), server)

    channel = InProcessChannel(register, (EmptyInterceptor(), EmptyInterceptor()))
    stub: Any = subscribers_pb2_grpc.SubscriberServiceStub(channel)
    handle, message = (
        Backend().GetSubscriber,
        subscribers_pb2.GetSubscriberRequest(id=SUBSCRIBER.id),
    )
    return [
        await _microseconds(lambda: stub.GetSubscriber(message))
        - await _microseconds(lambda: handle(message, None))
        for _ in range(REPETITIONS)
    ]


async def _microseconds(call: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    for _ in range(CALLS):
        await call()
    return 1e6 * (time.perf_counter() - started) / CALLS
