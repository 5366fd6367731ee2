"""Runs a gateway in front of the handlers of a test, over either kind of channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import grpc
import uvloop
from aiohttp import web
from google.protobuf import message_factory
from google.protobuf.descriptor import ServiceDescriptor
from grpc import aio

from rosterd.http_gateway.app import Gateway
from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.http_gateway.options import Options
from rosterd.server.serving.gateway_policy import POLICY

from .client import OPEN
from .stream_service import SERVICE

OPTIONS = Options(policy=POLICY, lingering_seconds=0.1)
# A policy of services that do not read errors in requests.
WITHOUT_REQUEST_ERRORS = replace(POLICY, errors=replace(POLICY.errors, as_metadata=None))

Handler = Callable[[Any, Any], Any]
# Adds handlers to a server or an in-process channel.
Register = Callable[[Any], None]


@asynccontextmanager
async def channel_to(
    kind: str, register: Register, interceptors: Sequence[Any] = ()
) -> AsyncIterator[aio.Channel]:
    """Yields a channel, "real" or "in-process", to the handlers that `register` adds."""
    if kind == "in-process":
        async with InProcessChannel(register, interceptors) as channel:
            yield channel
        return
    server = aio.server(interceptors=interceptors)
    register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        await server.stop(None)


def register_handlers(service: ServiceDescriptor, handlers: Mapping[str, Handler]) -> Register:
    """Returns a function that adds a service with handlers by method name to a server."""
    rpc_handlers = {}
    for name, handler in handlers.items():
        method = service.methods_by_name[name]
        shape = "_".join(
            "stream" if streams else "unary"
            for streams in (method.client_streaming, method.server_streaming)
        )
        rpc_handlers[name] = getattr(grpc, f"{shape}_rpc_method_handler")(
            handler,
            message_factory.GetMessageClass(method.input_type).FromString,
            message_factory.GetMessageClass(method.output_type).SerializeToString,
        )

    def register(server: Any) -> None:
        generic = grpc.method_handlers_generic_handler(service.full_name, rpc_handlers)
        server.add_generic_rpc_handlers((generic,))
        server.add_registered_method_handlers(service.full_name, rpc_handlers)

    return register


@asynccontextmanager
async def gateway_to(
    kind: str,
    *,
    grace: float = 0.5,
    service: ServiceDescriptor = SERVICE,
    options: Options = OPTIONS,
    **handlers: Handler,
) -> AsyncIterator[web.ServerRunner]:
    """Yields a running gateway in front of handlers. `grace` is its shutdown timeout."""
    async with (
        channel_to(kind, register_handlers(service, handlers)) as channel,
        running(Gateway(channel, [service], options), grace=grace) as runner,
    ):
        yield runner


@asynccontextmanager
async def running(gateway: Gateway, *, grace: float = 0.5) -> AsyncIterator[web.ServerRunner]:
    """Yields a running gateway on a free port. `grace` is its shutdown timeout."""
    runner = web.ServerRunner(gateway.server(), shutdown_timeout=grace)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner
    finally:
        while OPEN:
            OPEN.pop().disconnect()
        await runner.cleanup()


def run(body: Any) -> Any:
    """Runs a coroutine with a timeout."""
    return uvloop.run(asyncio.wait_for(body, 60))
