"""Tests of calls outside roster.v1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import grpc

from server.interceptors.other_packages import OtherPackages


def test_stream_that_the_client_leaves_is_closed_before_the_call_ends() -> None:
    closed = []

    async def watch(_request: object, _context: object) -> AsyncIterator[str]:
        try:
            yield "first"
            yield "second"
        finally:
            # An asynchronous cleanup, which the end of the call has to wait for.
            await asyncio.sleep(0)
            closed.append(True)

    async def continuation(_details: object) -> Any:
        return grpc.unary_stream_rpc_method_handler(watch)

    async def main() -> None:
        details: Any = SimpleNamespace(method="/grpc.health.v1.Health/Watch")
        handler = await OtherPackages().intercept_service(continuation, details)
        responses = handler.unary_stream(object(), None)
        assert await anext(responses) == "first"

        await responses.aclose()

        assert closed

    asyncio.run(main())
