"""What the gateway answers by itself at paths that no rpc is bound to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from grpc.aio import AioRpcError, Channel
from grpc_health.v1 import health_pb2, health_pb2_grpc

from .answers import Answer

# Answers a GET; it is given the id of the request.
Page = Callable[[str], Awaitable[Answer]]

# How long a server may take to say that it is ready, in seconds.
READY_SECONDS = 2.0


def pages_of(channel: Channel) -> Mapping[str, Page]:
    """Returns the pages of a gateway over a channel, by path."""
    health: Any = health_pb2_grpc.HealthStub(channel)

    async def healthz(request_id: str) -> Answer:
        """Whether the gateway runs; asks nobody else."""
        return _state(200, "ok", request_id)

    async def readyz(request_id: str) -> Answer:
        """Whether the server behind the gateway takes calls."""
        try:
            reply = await health.Check(health_pb2.HealthCheckRequest(), timeout=READY_SECONDS)
        except AioRpcError:
            return _state(503, "unreachable", request_id)
        if reply.status != health_pb2.HealthCheckResponse.SERVING:
            return _state(503, "not serving", request_id)
        return _state(200, "ok", request_id)

    return {"/healthz": healthz, "/readyz": readyz}


def _state(status: int, word: str, request_id: str) -> Answer:
    return Answer(status, request_id, orjson.dumps({"status": word}))
