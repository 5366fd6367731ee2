"""Tests the deadlines of streams over the in-process channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError

from roster.v1 import subscribers_pb2 as pb
from roster.v1 import subscribers_pb2_grpc
from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.server.observability.observability import disabled_observability
from rosterd.server.rpc.interceptors.chain import InterceptorChain
from rosterd.server.rpc.interceptors.deadlines import Deadlines
from rosterd.server.rpc.interceptors.observe import Observe

# Enough for the first response.
SECONDS = 1.0


class Subscribers(subscribers_pb2_grpc.SubscriberServiceServicer):
    """Exports one response, then another one or waits forever."""

    def __init__(self, *, waits: bool) -> None:
        self.waits = waits
        self.has_ended = asyncio.Event()

    async def ExportSubscribers(self, _request: Any, _context: Any) -> AsyncIterator[Any]:
        try:
            yield pb.ExportSubscribersResponse()
            if self.waits:
                await asyncio.Event().wait()
            yield pb.ExportSubscribersResponse()
        finally:
            self.has_ended.set()


@asynccontextmanager
async def export(subscribers: Subscribers, seconds: float) -> AsyncIterator[Any]:
    def register(server: Any) -> None:
        subscribers_pb2_grpc.add_SubscriberServiceServicer_to_server(subscribers, server)

    chain = InterceptorChain(Observe(disabled_observability().stats), Deadlines())
    channel = InProcessChannel(register, [chain])
    stub: Any = subscribers_pb2_grpc.SubscriberServiceStub(channel)
    call = stub.ExportSubscribers(pb.ExportSubscribersRequest(), timeout=seconds)
    try:
        yield call
    finally:
        call.cancel()


def status_after_first_response(*, waits: bool, late: bool) -> StatusCode:
    """Returns the status of a stream whose client read one response, and reads on later or now."""

    async def main() -> StatusCode:
        subscribers = Subscribers(waits=waits)
        async with export(subscribers, SECONDS) as call:
            await anext(call)
            if late:
                await asyncio.sleep(2 * SECONDS)  # is not cancelled
            with pytest.raises(AioRpcError) as caught:
                await anext(call)
        await subscribers.has_ended.wait()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return caught.value.code()

    return asyncio.run(asyncio.wait_for(main(), 60))


def test_stream_whose_handler_runs_past_its_deadline_fails() -> None:
    assert status_after_first_response(waits=True, late=False) is StatusCode.DEADLINE_EXCEEDED


def test_stream_whose_client_reads_on_after_the_deadline_fails() -> None:
    assert status_after_first_response(waits=False, late=True) is StatusCode.DEADLINE_EXCEEDED


def test_stream_that_starts_after_its_deadline_does_not_run() -> None:
    async def main() -> tuple[StatusCode, bool]:
        subscribers = Subscribers(waits=False)
        async with export(subscribers, 0.0) as call:
            with pytest.raises(AioRpcError) as caught:
                await anext(call)
        return caught.value.code(), subscribers.has_ended.is_set()

    assert asyncio.run(main()) == (StatusCode.DEADLINE_EXCEEDED, False)
