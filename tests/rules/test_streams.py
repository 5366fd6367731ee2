"""Prefetching of streams: one message ahead, and no task left running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from roster.v1 import subscribers_pb2 as pb
from roster.v1.http_pb2 import CsvLine
from rosterd.server.app import Subscribers
from rosterd.server.features.subscribers.query.request import FilterExpressions
from rosterd.server.rpc import caller
from rosterd.server.rpc.caller import Caller
from rosterd.server.rpc.errors import ValidationError
from rosterd.server.rpc.streams import prefetch
from rosterd.server.values.actors import Actor, ActorType

from ..cases import each


async def numbers(requested: list[int], count: int = 3) -> AsyncIterator[int]:
    """Yields numbers, and records which ones were requested."""
    for number in range(count):
        requested.append(number)
        yield number


def test_next_message_is_read_while_one_is_processed() -> None:
    async def scenario() -> list[tuple[int, list[int]]]:
        requested: list[int] = []
        received = []
        async for number in prefetch(numbers(requested)):
            await asyncio.sleep(0)
            received.append((number, list(requested)))
        return received

    assert asyncio.run(scenario()) == [(0, [0, 1]), (1, [0, 1, 2]), (2, [0, 1, 2])]


def test_failure_is_raised_after_the_messages_before_it() -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        raise ValueError("no more")

    async def scenario(received: list[int]) -> None:
        async for number in prefetch(failing()):
            received.append(number)

    received: list[int] = []
    with pytest.raises(ValueError, match="no more"):
        asyncio.run(scenario(received))
    assert received == [1]


@each("times", [1, 2])
def test_cancellation_is_raised_after_a_shielded_write(times: int) -> None:
    ended: list[int] = []

    async def writes() -> AsyncIterator[int]:
        for number in range(5):
            write = asyncio.ensure_future(asyncio.sleep(0.02))
            try:
                await asyncio.shield(write)
            except asyncio.CancelledError:
                await write
            ended.append(number)
            yield number

    async def scenario() -> list[int]:
        received: list[int] = []

        async def take() -> None:
            async for number in prefetch(writes()):
                received.append(number)

        task = asyncio.create_task(take())
        await asyncio.sleep(0.005)
        for _ in range(times):
            task.cancel()
            # The shielded write takes longer than this.
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [0]
        return received

    assert asyncio.run(scenario()) == []


async def test_failed_import_leaves_no_reader_running() -> None:
    ended: list[bool] = []
    both = pb.ImportSubscribersRequest(
        subscribers=[pb.ImportSubscriber(email="ada@example.com")], lines=[CsvLine(cells=["email"])]
    )

    async def requests() -> AsyncIterator[pb.ImportSubscribersRequest]:
        try:
            yield both
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    by = Actor(ActorType.API_KEY, "a key")
    caller.enter(Caller("an account", by, "admin", email_verified=True))
    nothing: Any = None
    filters = FilterExpressions(nothing, nothing, nothing)
    arguments: Any = [nothing, nothing, nothing, nothing, filters, nothing, nothing]
    service = Subscribers(*arguments)
    with pytest.raises(ValidationError):
        await anext(service.ImportSubscribers(requests(), None))
    assert ended == [True]
