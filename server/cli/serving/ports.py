"""Ports: what listens on them, and what is said where that cannot be."""

from __future__ import annotations

from contextlib import AsyncExitStack

import grpc
from aiohttp import web

from http_gateway.app import Gateway
from http_gateway.edge import Site

from ...addresses import Address
from ...app import SERVICES, App
from ...watching.sources import of_http
from ...watching.watch import Watch
from .options import GrpcOptions, HttpOptions
from .reserve import port_in_use
from .role import Role

# How long calls in flight may take to finish once the service is asked to stop.
# HTTP takes it twice at most, then gRPC once, so that all ends within 30 seconds.
GRACE_SECONDS = 8.0


async def listen_grpc(app: App, options: GrpcOptions, stack: AsyncExitStack, role: Role) -> Address:
    """Serves the services until the stack is closed. Raises PortInUse."""
    server = app.grpc_server(shares_port=role.shares_ports)
    try:
        port = _add_port(server, options)
    except RuntimeError as error:
        raise port_in_use("grpc_address", options.address) from error
    await server.start()
    stack.push_async_callback(server.stop, GRACE_SECONDS)
    return options.address._replace(port=port)


def _add_port(server: grpc.aio.Server, options: GrpcOptions) -> int:
    if options.identity is None:
        return server.add_insecure_port(str(options.address))
    credentials = grpc.ssl_server_credentials(
        [(options.identity.key, options.identity.certificate)],
        options.client_ca,
        options.client_ca is not None,
    )
    return server.add_secure_port(str(options.address), credentials)


async def listen_http(
    channel: grpc.aio.Channel,
    options: HttpOptions,
    watch: Watch,
    stack: AsyncExitStack,
    role: Role,
) -> tuple[Address, Gateway]:
    """Serves a gateway over a channel until the stack is closed. Raises PortInUse."""
    await stack.enter_async_context(channel)
    gateway = Gateway(channel, SERVICES, asks_first=True, watcher=watch.requests)
    server = gateway.server()
    watch.exposition.add(watch.calls.tell_requests)
    watch.exposition.add(of_http(server))
    runner = web.ServerRunner(server, shutdown_timeout=GRACE_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    tls = options.identity.context if options.identity else None
    site = Site(runner, *options.address, tls=tls, shares_port=role.shares_ports)
    try:
        await site.start()
    except OSError as error:
        raise port_in_use("http_address", options.address) from error
    return options.address._replace(port=runner.addresses[0][1]), gateway
