"""Tests the limits of concurrent calls and streams, and how streams end with the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from grpc import StatusCode, aio

from roster.v1 import subscribers_pb2 as pb
from roster.v1 import subscribers_pb2_grpc
from rosterd.server.rpc.interceptors.base import Interceptor
from rosterd.server.rpc.interceptors.chain import InterceptorChain
from rosterd.server.rpc.interceptors.concurrency_limit import ConcurrencyLimit

from ...http_gateway.serving import channel_to, run

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

    def __init__(self, handlers: Subscribers, limit: Any, stub: Any) -> None:
        self.handlers, self.limit, self.stub = handlers, limit, stub

    def get(self) -> asyncio.Task[Any]:
        async def call() -> Any:
            return await self.stub.GetSubscriber(pb.GetSubscriberRequest(), timeout=20)

        return asyncio.create_task(call())

    def export(self) -> Any:
        return self.stub.ExportSubscribers(pb.ExportSubscribersRequest())

    async def handler_started(self) -> None:
        await self.handlers.started.acquire()


@asynccontextmanager
async def limited_service(kind: str, limit: Interceptor) -> AsyncIterator[LimitedService]:
    handlers = Subscribers()

    def register(server: Any) -> None:
        subscribers_pb2_grpc.add_SubscriberServiceServicer_to_server(handlers, server)

    async with channel_to(kind, register, [InterceptorChain(limit)]) as channel:
        stub = subscribers_pb2_grpc.SubscriberServiceStub(channel)
        yield LimitedService(handlers, limit, stub)


async def failure_of(call: Awaitable[Any]) -> tuple[StatusCode, dict[str, Any]]:
    """Returns the status and trailing metadata of a call that fails."""
    with pytest.raises(aio.AioRpcError) as failed:
        await call
    return failed.value.code(), dict(failed.value.trailing_metadata())


def run_with(
    kind: str,
    body: Callable[[LimitedService], Awaitable[None]],
    *,
    is_open: bool = True,
    **limits: int,
) -> None:
    async def main() -> None:
        limit = ConcurrencyLimit(**limits)
        if is_open:
            limit.open()
        async with limited_service(kind, limit) as service:
            await body(service)

    run(main())


@on_both_channels
def test_calls_and_streams_are_rejected_until_the_service_is_open(kind: str) -> None:
    async def body(service: LimitedService) -> None:
        for call in (service.get(), anext(aiter(service.export()))):
            code, trailing = await failure_of(call)
            assert (code, trailing["grpc-retry-pushback-ms"]) == (StatusCode.UNAVAILABLE, "1000")
        service.handlers.gate.set()
        service.limit.open()
        await service.get()

    run_with(kind, body, is_open=False)


@on_both_channels
def test_calls_beyond_the_limit_are_rejected_and_the_others_succeed(kind: str) -> None:
    async def body(service: LimitedService) -> None:
        running = [service.get(), service.get()]
        await service.handler_started()
        await service.handler_started()
        code, trailing = await failure_of(service.get())
        assert (code, trailing["grpc-retry-pushback-ms"]) == (StatusCode.UNAVAILABLE, "1000")
        service.handlers.gate.set()
        await asyncio.gather(*running, service.get())

    run_with(kind, body, max_calls=2)


@on_both_channels
def test_streams_have_a_separate_limit(kind: str) -> None:
    async def body(service: LimitedService) -> None:
        export = service.export()
        await anext(aiter(export))
        assert (await failure_of(anext(aiter(service.export()))))[0] is StatusCode.UNAVAILABLE
        call = service.get()
        await service.handler_started()
        service.handlers.gate.set()
        await call
        export.cancel()

    run_with(kind, body, max_calls=1, max_streams=1)


@on_both_channels
def test_end_streams_ends_a_stream_that_waits_for_its_client(kind: str) -> None:
    sent = asyncio.Event()

    async def one_request() -> AsyncIterator[Any]:
        yield pb.ImportSubscribersRequest()
        await sent.wait()

    async def body(service: LimitedService) -> None:
        responses = aiter(service.stub.ImportSubscribers(one_request()))
        await anext(responses)
        waiting = asyncio.ensure_future(anext(responses))
        await service.handler_started()
        service.limit.end_streams()
        assert (await failure_of(waiting))[0] is StatusCode.UNAVAILABLE
        sent.set()

    run_with(kind, body)


@on_both_channels
def test_end_streams_ends_a_stream_whose_client_reads_later(kind: str) -> None:
    async def body(service: LimitedService) -> None:
        responses = aiter(service.export())
        await anext(responses)
        service.limit.end_streams()
        service.handlers.gate.set()
        assert (await failure_of(anext(responses)))[0] is StatusCode.UNAVAILABLE

    run_with(kind, body)


@on_both_channels
def test_end_streams_rejects_new_streams_and_leaves_calls_running(kind: str) -> None:
    async def body(service: LimitedService) -> None:
        call = service.get()
        await service.handler_started()
        service.limit.end_streams()
        assert (await failure_of(anext(aiter(service.export()))))[0] is StatusCode.UNAVAILABLE
        service.handlers.gate.set()
        await call

    run_with(kind, body)
