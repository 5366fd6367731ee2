"""Calls an rpc through a blocking or an asyncio channel of roster.client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from roster import client
from roster.v1.tags_pb2_grpc import TagServiceStub

# Calls a unary rpc of TagService. Arguments: address, key, rpc, request, and keyword arguments.
Caller = Callable[..., Any]


def call(address: str, key: str, rpc: str, request: Any, **arguments: Any) -> Any:
    with client.channel(address, key, tls=None) as channel:
        return getattr(TagServiceStub(channel), rpc)(request, **arguments)


def call_aio(address: str, key: str, rpc: str, request: Any, **arguments: Any) -> Any:
    async def run() -> Any:
        async with client.aio_channel(address, key, tls=None) as channel:
            return await getattr(TagServiceStub(channel), rpc)(request, **arguments)

    return asyncio.run(run())
