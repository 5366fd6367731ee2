"""A server that no longer responds."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError

from roster.v1.tags_pb2 import DeleteTagRequest
from roster.v1.tags_pb2_grpc import TagServiceStub
from rosterd.http_gateway.channel import upstream
from rosterd.http_gateway.channel.upstream import OPTIONS, UpstreamChannel
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import POLICY

from ..components import running

SERVERS, GATEWAYS = 3, 2


def test_unresponsive_server_is_disconnected_long_before_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled = {"grpc.keepalive_time_ms", "grpc.keepalive_timeout_ms", "grpc.http2.ping_timeout_ms"}
    fast_options = [(name, value // 10 if name in scaled else value) for name, value in OPTIONS]
    monkeypatch.setattr(upstream, "OPTIONS", fast_options)

    async def call(address: str) -> None:
        async with UpstreamChannel(address, SERVICES, POLICY.idempotency) as channel:
            tags, request = TagServiceStub(channel), DeleteTagRequest()
            with pytest.raises(AioRpcError, match="API key"):
                await tags.DeleteTag(request)
            server.process.send_signal(signal.SIGSTOP)
            await tags.DeleteTag(request)

    url = f"sqlite:///{tmp_path}/roster.db"
    with running("server", tmp_path, ROSTER_DATABASE_URL=url) as server:
        try:
            with pytest.raises(AioRpcError) as failed:
                asyncio.run(call(server.grpc))
        finally:
            server.process.send_signal(signal.SIGCONT)

    # DEADLINE_EXCEEDED would take half a minute.
    assert failed.value.code() is StatusCode.UNAVAILABLE
