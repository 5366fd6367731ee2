"""Admission: how many calls and streams run at once, and how streams end with the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from grpc import StatusCode, aio
from roster.v1 import subscribers_pb2 as pb
from roster.v1 import subscribers_pb2_grpc

from server.interceptors import concurrency_limit
from server.interceptors.concurrency_limit import ConcurrencyLimit
from server.interceptors.translate import Translate

from ..http_gateway.serving import channel_to, run

each_channel = pytest.mark.parametrize("kind", ["real", "in-process"])


class Subscribers(subscribers_pb2_grpc.SubscriberServiceServicer):
    """Answers once it is let to; an export has a record before that, an import none."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self.gate = asyncio.Event()

    async def GetSubscriber(self, request: Any, context: Any) -> Any:
        self.begun.release()
        await self.gate.wait()
        return pb.GetSubscriberResponse()

    async def ExportSubscribers(self, request: Any, context: Any) -> AsyncIterator[Any]:
        while True:
            yield pb.ExportSubscribersResponse()
            self.begun.release()
            await self.gate.wait()

    async def ImportSubscribers(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        async for _ in requests:
            yield pb.ImportSubscribersResponse()
            self.begun.release()


class Guarded:
    """Subscribers behind an admission, and a stub that calls them."""

    def __init__(self, subscribers: Subscribers, door: ConcurrencyLimit, stub: Any) -> None:
        self.subscribers, self.door, self.stub = subscribers, door, stub

    def get(self) -> asyncio.Task[Any]:
        async def call() -> Any:
            return await self.stub.GetSubscriber(pb.GetSubscriberRequest(), timeout=20)

        return asyncio.create_task(call())

    async def begun(self) -> None:
        await self.subscribers.begun.acquire()


@asynccontextmanager
async def guarded(kind: str, *, is_open: bool = True) -> AsyncIterator[Guarded]:
    subscribers, door = Subscribers(), ConcurrencyLimit()
    if is_open:
        door.open()

    def register(server: Any) -> None:
        subscribers_pb2_grpc.add_SubscriberServiceServicer_to_server(subscribers, server)

    async with channel_to(kind, register, (Translate(), door)) as channel:
        yield Guarded(subscribers, door, subscribers_pb2_grpc.SubscriberServiceStub(channel))


async def code_of(call: Awaitable[Any]) -> tuple[StatusCode, dict[str, Any]]:
    """Returns what a call fails with, and what is said beside that."""
    with pytest.raises(aio.AioRpcError) as failed:
        await call
    return failed.value.code(), dict(failed.value.trailing_metadata())


def play(kind: str, story: Callable[[Guarded], Awaitable[None]], *, is_open: bool = True) -> None:
    async def main() -> None:
        async with guarded(kind, is_open=is_open) as service:
            await story(service)

    run(main())


@each_channel
def test_calls_and_streams_are_refused_until_the_door_is_open(kind: str) -> None:
    async def story(service: Guarded) -> None:
        export = service.stub.ExportSubscribers(pb.ExportSubscribersRequest())
        for call in (service.get(), anext(aiter(export))):
            code, told = await code_of(call)
            assert (code, told["grpc-retry-pushback-ms"]) == (StatusCode.UNAVAILABLE, "1000")
        service.subscribers.gate.set()
        service.door.open()
        await service.get()

    play(kind, story, is_open=False)


@each_channel
def test_calls_beyond_what_can_run_are_refused_and_the_others_answered(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency_limit, "MAX_CALLS", 2)

    async def story(service: Guarded) -> None:
        running = [service.get(), service.get()]
        await service.begun()
        await service.begun()
        code, told = await code_of(service.get())
        assert (code, told["grpc-retry-pushback-ms"]) == (StatusCode.UNAVAILABLE, "1000")
        service.subscribers.gate.set()
        await asyncio.gather(*running, service.get())

    play(kind, story)


@each_channel
def test_streams_have_places_of_their_own(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency_limit, "MAX_CALLS", 1)
    monkeypatch.setattr(concurrency_limit, "MAX_STREAMS", 1)

    async def story(service: Guarded) -> None:
        export = service.stub.ExportSubscribers(pb.ExportSubscribersRequest())
        await anext(aiter(export))
        other = service.stub.ExportSubscribers(pb.ExportSubscribersRequest())
        assert (await code_of(anext(aiter(other))))[0] is StatusCode.UNAVAILABLE
        call = service.get()
        await service.begun()
        service.subscribers.gate.set()
        await call
        export.cancel()

    play(kind, story)


@each_channel
def test_stream_that_waits_ends_as_unavailable_when_streams_are_to_end(kind: str) -> None:
    sent = asyncio.Event()

    async def one_and_no_more() -> AsyncIterator[Any]:
        yield pb.ImportSubscribersRequest()
        await sent.wait()

    async def story(service: Guarded) -> None:
        importing = service.stub.ImportSubscribers(one_and_no_more())
        replies = aiter(importing)
        await anext(replies)
        waiting = asyncio.ensure_future(anext(replies))
        await service.begun()
        service.door.end_streams()
        assert (await code_of(waiting))[0] is StatusCode.UNAVAILABLE
        sent.set()

    play(kind, story)


@each_channel
def test_stream_whose_client_reads_later_ends_as_unavailable_all_the_same(kind: str) -> None:
    async def story(service: Guarded) -> None:
        exporting = aiter(service.stub.ExportSubscribers(pb.ExportSubscribersRequest()))
        await anext(exporting)
        service.door.end_streams()
        service.subscribers.gate.set()
        assert (await code_of(anext(exporting)))[0] is StatusCode.UNAVAILABLE

    play(kind, story)


@each_channel
def test_calls_run_to_their_end_when_streams_are_to_end(kind: str) -> None:
    async def story(service: Guarded) -> None:
        call = service.get()
        await service.begun()
        service.door.end_streams()
        service.subscribers.gate.set()
        await call

    play(kind, story)
