"""The memory of exports that run at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from roster.v1 import subscribers_pb2
from rosterd.server.features.exports import service as exports
from rosterd.server.features.subscribers.query.store_pages import page_without_total
from rosterd.server.rpc.messages import split_message

from .in_process import Service, add_subscribers, serving


async def test_few_exports_of_an_account_have_rows_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    written: list[None] = []
    read, write = page_without_total, split_message

    def counted_read(*arguments: Any) -> Any:
        counts.append(len(counts) + 1 - len(written))
        return read(*arguments)

    def counted_write(*arguments: Any) -> Any:
        written.append(None)
        return write(*arguments)

    monkeypatch.setattr(exports, "page_without_total", counted_read)
    monkeypatch.setattr(exports, "split_message", counted_write)

    async def export(service: Service) -> int:
        request = subscribers_pb2.ExportSubscribersRequest()
        rpc = "SubscriberService/ExportSubscribers"
        return sum([len(reply.subscribers) async for reply in service.stream(rpc, request)])

    async with serving(tmp_path) as service:
        await add_subscribers(service)
        sizes = await asyncio.gather(*(export(service) for _ in range(12)))

    assert sizes == [3] * 12
    assert len(counts) == 12
    assert max(counts) <= exports.MAX_READING
