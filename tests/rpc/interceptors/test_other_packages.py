"""Tests of calls outside roster.v1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from grpc.aio import AbortError

from rosterd.server.rpc.interceptors import other_packages
from rosterd.server.rpc.interceptors.other_packages import OtherPackages


def context_of(peer: str) -> Any:
    """Returns the context of a call from an address."""

    async def abort(*_: object) -> None:
        raise AbortError

    return SimpleNamespace(
        peer=lambda: peer,
        abort=abort,
        invocation_metadata=lambda: (),
        trailing_metadata=lambda: (),
        set_trailing_metadata=lambda _: None,
    )


async def test_stream_that_the_client_leaves_is_closed_before_the_call_ends() -> None:
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

    details: Any = SimpleNamespace(method="/grpc.health.v1.Health/Watch")
    handler = await OtherPackages().intercept_service(continuation, details)
    responses = handler.unary_stream(object(), context_of("ipv4:127.0.0.1:1"))
    assert await anext(responses) == "first"

    await responses.aclose()

    assert closed


async def test_streams_of_an_address_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_packages, "MAX_STREAMS_OF_ADDRESS", 2)

    async def watch(_request: object, _context: object) -> AsyncIterator[str]:
        yield "serving"

    async def continuation(_details: object) -> Any:
        return grpc.unary_stream_rpc_method_handler(watch)

    details: Any = SimpleNamespace(method="/grpc.health.v1.Health/Watch")
    handler = await OtherPackages(max_streams=3).intercept_service(continuation, details)

    def call(peer: str) -> Any:
        return handler.unary_stream(object(), context_of(peer))

    streams = [call(f"ipv4:127.0.0.1:{port}") for port in range(2)] + [call("ipv6:[::1]:1")]
    assert [await anext(stream) for stream in streams] == ["serving"] * 3
    for peer in ("ipv4:127.0.0.1:3", "ipv4:127.0.0.2:1"):
        with pytest.raises(AbortError):
            await anext(call(peer))
    await streams[0].aclose()
    assert await anext(call("ipv4:127.0.0.1:3")) == "serving"
