"""Streams of messages: one is asked for ahead, and nothing is left going on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from roster.v1 import subscribers_pb2 as pb
from roster.v1.http_pb2 import CsvLine

from server import caller
from server.caller import Caller
from server.errors import ValidationError
from server.streams import prefetch
from server.subscribers.service import SubscriberService


async def numbers(asked: list[int], count: int = 3) -> AsyncIterator[int]:
    """Yields numbers and notes which one it was asked for."""
    for number in range(count):
        asked.append(number)
        yield number


def test_next_message_is_read_while_one_is_processed() -> None:
    async def story() -> list[tuple[int, list[int]]]:
        asked: list[int] = []
        seen = []
        async for number in prefetch(numbers(asked)):
            await asyncio.sleep(0)
            seen.append((number, list(asked)))
        return seen

    assert asyncio.run(story()) == [(0, [0, 1]), (1, [0, 1, 2]), (2, [0, 1, 2])]


def test_failure_comes_after_what_was_before_it() -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        raise ValueError("no more")

    async def story(seen: list[int]) -> None:
        async for number in prefetch(failing()):
            seen.append(number)

    seen: list[int] = []
    with pytest.raises(ValueError, match="no more"):
        asyncio.run(story(seen))
    assert seen == [1]


@pytest.mark.parametrize("times", [1, 2])
def test_cancellation_is_not_lost_in_what_is_past_recall(times: int) -> None:
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

    async def story() -> list[int]:
        seen: list[int] = []

        async def take() -> None:
            async for number in prefetch(writes()):
                seen.append(number)

        task = asyncio.create_task(take())
        await asyncio.sleep(0.005)
        for _ in range(times):
            task.cancel()
            # What is past recall takes longer than this.
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [0]
        return seen

    assert asyncio.run(story()) == []


def test_failed_import_leaves_no_reader_running() -> None:
    ended: list[bool] = []
    both = pb.ImportSubscribersRequest(
        rows=[pb.BulkSubscriber(email="ada@example.com")], lines=[CsvLine(cells=["email"])]
    )

    async def requests() -> AsyncIterator[pb.ImportSubscribersRequest]:
        try:
            yield both
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def story() -> None:
        caller.enter(Caller("an account", "a key", "admin", email_verified=True))
        service: Any = SubscriberService(cast("Any", None), cast("Any", None))
        with pytest.raises(ValidationError):
            await anext(service.ImportSubscribers(requests(), None))
        assert ended == [True]

    asyncio.run(story())
