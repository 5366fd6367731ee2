"""Tests the limits of concurrent calls and streams, and how streams end with the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from grpc import StatusCode, aio

from roster.v1 import subscribers_pb2 as pb
from roster.v1 import subscribers_pb2_grpc
from rosterd.server.rpc.interceptors.base import Interceptor
from rosterd.server.rpc.interceptors.chain import InterceptorChain
from rosterd.server.rpc.interceptors.concurrency_limit import ConcurrencyLimit

from ...http_gateway.serving import channel_to

on_both_channels = pytest.mark.parametrize("kind", ["real", "in-process"])


class Subscribers(subscribers_pb2_grpc.SubscriberServiceServicer):
    """Handlers that wait for `gate`; an export sends a response before that."""

    def __init__(self) -> None:
        self.started = asyncio.Semaphore(0)
        self.gate = asyncio.Event()

    async def GetSubscriber(self, _request: Any, _context: Any) -> Any:
        self.started.release()
        await self.gate.wait()
        return pb.GetSubscriberResponse()

    async def ExportSubscribers(self, _request: Any, _context: Any) -> AsyncIterator[Any]:
        while True:
            yield pb.ExportSubscribersResponse()
            self.started.release()
            await self.gate.wait()

    async def ImportSubscribers(self, requests: Any, _context: Any) -> AsyncIterator[Any]:
        async for _ in requests:
            yield pb.ImportSubscribersResponse()
            self.started.release()


class LimitedService:
    """The service behind a limit, and a stub that calls it."""

    def __init__(self, handlers: Subscribers, stub: Any) -> None:
        self.handlers, self.stub = handlers, stub

    def get(self) -> asyncio.Task[Any]:
        async def call() -> Any:
            return await self.stub.GetSubscriber(pb.GetSubscriberRequest(), timeout=20)

        return asyncio.create_task(call())

    def export(self) -> AsyncIterator[Any]:
        return aiter(self.stub.ExportSubscribers(pb.ExportSubscribersRequest()))

    async def handler_started(self) -> None:
        await self.handlers.started.acquire()


@asynccontextmanager
async def limited_service(kind: str, limit: Interceptor) -> AsyncIterator[LimitedService]:
    handlers = Subscribers()

    def register(server: Any) -> None:
        subscribers_pb2_grpc.add_SubscriberServiceServicer_to_server(handlers, server)

    async with channel_to(kind, register, [InterceptorChain(limit)]) as channel:
        yield LimitedService(handlers, subscribers_pb2_grpc.SubscriberServiceStub(channel))


def open_limit(**limits: int) -> ConcurrencyLimit:
    limit = ConcurrencyLimit(**limits)
    limit.open()
    return limit


async def failure_of(call: Awaitable[Any]) -> tuple[StatusCode, Any]:
    """Returns the status and the retry delay of a call that fails."""
    with pytest.raises(aio.AioRpcError) as failed:
        await call
    trailing = dict(failed.value.trailing_metadata())
    return failed.value.code(), trailing.get("grpc-retry-pushback-ms")


@on_both_channels
async def test_calls_and_streams_are_rejected_until_the_service_is_open(kind: str) -> None:
    limit = ConcurrencyLimit()
    async with limited_service(kind, limit) as service:
        for call in (service.get(), anext(service.export())):
            assert await failure_of(call) == (StatusCode.UNAVAILABLE, "1000")
        service.handlers.gate.set()
        limit.open()
        await service.get()


@on_both_channels
async def test_calls_beyond_the_limit_are_rejected_and_the_others_succeed(kind: str) -> None:
    async with limited_service(kind, open_limit(max_calls=2)) as service:
        running = [service.get(), service.get()]
        await service.handler_started()
        await service.handler_started()
        assert await failure_of(service.get()) == (StatusCode.UNAVAILABLE, "1000")
        service.handlers.gate.set()
        await asyncio.gather(*running, service.get())


@on_both_channels
async def test_streams_have_a_separate_limit(kind: str) -> None:
    async with limited_service(kind, open_limit(max_calls=1, max_streams=1)) as service:
        export = service.export()
        await anext(export)
        assert (await failure_of(anext(service.export())))[0] is StatusCode.UNAVAILABLE
        call = service.get()
        await service.handler_started()
        service.handlers.gate.set()
        await call


@on_both_channels
async def test_end_streams_ends_a_stream_that_waits_for_its_client(kind: str) -> None:
    sent = asyncio.Event()

    async def one_request() -> AsyncIterator[Any]:
        yield pb.ImportSubscribersRequest()
        await sent.wait()

    limit = open_limit()
    async with limited_service(kind, limit) as service:
        responses = aiter(service.stub.ImportSubscribers(one_request()))
        await anext(responses)
        waiting = asyncio.ensure_future(anext(responses))
        await service.handler_started()
        limit.end_streams()
        assert (await failure_of(waiting))[0] is StatusCode.UNAVAILABLE
        sent.set()


@on_both_channels
async def test_end_streams_ends_running_and_new_streams_and_leaves_calls_running(kind: str) -> None:
    limit = open_limit()
    async with limited_service(kind, limit) as service:
        call, responses = service.get(), service.export()
        await service.handler_started()
        await anext(responses)
        limit.end_streams()
        service.handlers.gate.set()
        for stream in (responses, service.export()):
            assert (await failure_of(anext(stream)))[0] is StatusCode.UNAVAILABLE
        await call
