"""The servers of the gateway benchmark: aiohttp in front of grpc.aio, with and without the gateway.

    python -m tests.bench.gateway_servers backend
    python -m tests.bench.gateway_servers gateway|baseline HOST:PORT

The backend always returns the same subscriber. The gateway calls it over a network channel. So
does the baseline, which forwards only the API key and returns constant bytes. Each prints
its port and serves until it is terminated.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Any

import uvloop
from aiohttp import web
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import aio

from roster.v1 import subscribers_pb2, subscribers_pb2_grpc
from rosterd.http_gateway.app import Gateway
from rosterd.server.serving.ports import GATEWAY_OPTIONS

SUBSCRIBER = subscribers_pb2.Subscriber(
    id="01M7Y2MPAQ0000000000000001",
    email="ada@example.com",
    first_name="Ada",
    last_name="Lovelace",
    status=subscribers_pb2.Subscriber.CONFIRMED,
    tags=["newsletter"],
    created_at=Timestamp(seconds=1_767_323_045, nanos=6_000_000),
)
PATH = f"/api/subscribers/{SUBSCRIBER.id}"
SERVICES = subscribers_pb2.DESCRIPTOR.services_by_name.values()


class Backend(subscribers_pb2_grpc.SubscriberServiceServicer):
    """Always returns the same subscriber."""

    async def GetSubscriber(self, request: Any, context: Any) -> Any:
        return subscribers_pb2.GetSubscriberResponse(subscriber=SUBSCRIBER)


async def backend() -> None:
    server = aio.server()
    subscribers_pb2_grpc.add_SubscriberServiceServicer_to_server(Backend(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


async def gateway(upstream: str) -> None:
    async with aio.insecure_channel(upstream) as channel:
        await serve(web.ServerRunner(Gateway(channel, SERVICES, GATEWAY_OPTIONS).server()))


async def baseline(upstream: str) -> None:
    async with aio.insecure_channel(upstream) as channel:
        stub: Any = subscribers_pb2_grpc.SubscriberServiceStub(channel)
        request = subscribers_pb2.GetSubscriberRequest(id=SUBSCRIBER.id)
        body = b'{"subscriber":{"id":"01M7Y2MPAQ0000000000000001","email":"ada@example.com"}}'

        async def respond(incoming: web.BaseRequest) -> web.Response:
            metadata = (("authorization", incoming.headers["Authorization"]),)
            await stub.GetSubscriber(request, metadata=metadata, timeout=30.0)
            return web.Response(body=body, content_type="application/json")

        await serve(web.ServerRunner(web.Server(respond, access_log=None)))


async def serve(runner: web.ServerRunner) -> None:
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    gc.collect()
    gc.freeze()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    what, *upstream = sys.argv[1:]
    servers: dict[str, Any] = {"backend": backend, "gateway": gateway, "baseline": baseline}
    uvloop.run(servers[what](*upstream))
