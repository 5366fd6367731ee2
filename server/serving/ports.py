"""Serves gRPC and HTTP on their ports."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import cast
from urllib.parse import urlsplit

import grpc

from rosterd.http_gateway.app import Gateway
from rosterd.http_gateway.docs.documentation import Documentation
from rosterd.http_gateway.http_server import Listener
from rosterd.http_gateway.options import Options

from ..app import SERVICES, App
from ..observability.observability import Observability
from ..observability.sources import of_http
from ..security.tls import Identity, ServerIdentity
from ..values.addresses import Address
from .gateway_policy import POLICY
from .grpc_options import core_options
from .options import PortOptions, ProcessOptions
from .reserved_ports import port_in_use
from .role import Role
from .web_console import CONSOLE

# Seconds that running calls have to finish when the process stops. HTTP uses them at most twice,
# then gRPC once, so that the process ends within 30 seconds.
GRACE_SECONDS = 8.0
# A year, as is usual.
STRICT_TRANSPORT_SECONDS = 365 * 86_400
GATEWAY_OPTIONS = Options(server_name="roster", policy=POLICY, web_app=CONSOLE)


async def listen_grpc(app: App, options: PortOptions, stack: AsyncExitStack, role: Role) -> Address:
    """Serves the services until the stack is closed. Raises PortInUse."""
    server = app.grpc_server(core_options(shares_port=role.is_supervised))
    try:
        port = _add_port(server, options)
    except RuntimeError as error:
        raise port_in_use("grpc_address", options.address) from error
    await server.start()
    stack.push_async_callback(server.stop, GRACE_SECONDS)
    return options.address._replace(port=port)


def _add_port(server: grpc.aio.Server, options: PortOptions) -> int:
    if options.identity is None:
        return server.add_insecure_port(str(options.address))
    return server.add_secure_port(str(options.address), _credentials(options.identity))


def _credentials(identity: ServerIdentity) -> grpc.ServerCredentials:
    """Returns credentials that use the current identity in each new handshake."""
    used = identity.current

    def if_changed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal used
        if identity.current is used:
            return None
        used = identity.current
        return _configuration(used)

    # The type stubs of grpc omit None, which means that nothing has changed.
    fetch = cast("Callable[[], grpc.ServerCertificateConfiguration]", if_changed)
    return grpc.dynamic_ssl_server_credentials(
        _configuration(used), fetch, used.client_ca is not None
    )


def _configuration(identity: Identity) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(identity.key, identity.certificate)], identity.client_ca
    )


async def listen_http(
    channel: grpc.aio.Channel,
    options: ProcessOptions,
    documentation: Documentation,
    observability: Observability,
    stack: AsyncExitStack,
) -> tuple[str, Gateway]:
    """Serves a gateway over a channel until the stack is closed, and returns its URL.

    Raises PortInUse.
    """
    await stack.enter_async_context(channel)
    assert options.http is not None
    address, identity = options.http.address, options.http.identity
    tls = identity.context if identity else None
    gateway_options = replace(
        GATEWAY_OPTIONS,
        cors_origins=options.settings.cors_origins,
        trusted_proxies=options.settings.trusted_proxies,
        path=urlsplit(options.settings.public_url).path,
        strict_transport_seconds=STRICT_TRANSPORT_SECONDS if tls else 0,
    )
    gateway = Gateway(
        channel,
        SERVICES,
        gateway_options,
        observability.requests,
        documentation,
    )
    server = gateway.server()
    observability.exposition.add(observability.stats.http_samples)
    observability.exposition.add(of_http(server))
    shares_port = options.role.is_supervised
    try:
        listener = await Listener.open(server, *address, tls=tls, shares_port=shares_port)
    except OSError as error:
        raise port_in_use("http_address", address) from error
    stack.push_async_callback(listener.close, GRACE_SECONDS)
    url = f"{'https' if tls else 'http'}://{address._replace(port=listener.port)}"
    return url, gateway
