"""The kinds of services: gRPC with or without HTTP in the same process, and HTTP only.

Start: metrics port, gRPC port, HTTP port, database (lock, migrations), services, first account,
ready. The ports respond as soon as they listen: the process is alive and not ready, and calls are
rejected. If other processes serve on the same ports, the ports are opened after the services.

Stop: not ready; after a while the HTTP port, then the gRPC port, accepts nothing new and finishes
running calls, and streams are ended; background tasks end; the queue of the writer is emptied; the
locks are released.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from grpc import ChannelCredentials, aio, ssl_channel_credentials

from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.http_gateway.channel.upstream import UpstreamChannel

from ..app import SERVICES, App
from ..rpc.health.readiness import monitor_readiness
from ..values.addresses import Address
from .core import create_first_account, running_core
from .drain import drain
from .gateway_policy import POLICY
from .grpc_options import MAX_METADATA_BYTES
from .observability import start_observability
from .observability_options import ObservabilityOptions
from .options import CoreOptions, PortOptions, UpstreamOptions
from .ports import listen_grpc, listen_http
from .process import Lifecycle
from .ready import Ready
from .role import Role


@dataclass(frozen=True)
class GrpcService:
    """The gRPC server, and unless `http` is None the gateway.

    The gateway calls the server without a socket if `in_process`. Web pages of the
    `cors_origins` can call it.
    """

    grpc: PortOptions
    core: CoreOptions
    observability: ObservabilityOptions
    role: Role
    http: PortOptions | None = None
    in_process: bool = True
    cors_origins: frozenset[str] = frozenset()

    async def __call__(self, life: Lifecycle) -> None:
        http_url, drain_gateway = "", None
        async with AsyncExitStack() as stack:
            with life.starting():
                observability, metrics_url = await start_observability(self.observability, stack)
                services = await stack.enter_async_context(
                    running_core(self.core, observability, self.role)
                )
                grpc = await listen_grpc(services.app, self.grpc, stack, self.role)
                if self.http is not None:
                    channel = self._channel(services.app, grpc)
                    http, gateway = await listen_http(
                        channel, self.http, observability, stack, self.role, self.cors_origins
                    )
                    http_url, drain_gateway = url(http, self.http), gateway.drain
                    services.app.links.set_default_url(http_url)
                await services.open()
            # Last, when nothing can fail anymore, because the key is shown only once.
            key = await create_first_account(self.core, services.database)
            ready = Ready(
                http_url,
                str(grpc),
                database=str(self.core.database),
                first_key=key,
                metrics=metrics_url,
            )
            async with monitor_readiness(
                services.database, self.core.folder, services.app.set_serving
            ):
                await life.serving(ready)
            if drain_gateway is not None:
                drain_gateway()
            await drain(services.app)

    def _channel(self, app: App, grpc: Address) -> aio.Channel:
        if self.in_process:
            return InProcessChannel(app.register, app.interceptors)
        options = (("grpc.max_metadata_size", MAX_METADATA_BYTES),)
        return aio.insecure_channel(str(grpc), options=options)


@dataclass(frozen=True)
class HttpOnly:
    """The gateway, in front of servers elsewhere. It starts even if they are not available.

    Web pages of the `cors_origins` can call it.
    """

    http: PortOptions
    upstream: UpstreamOptions
    observability: ObservabilityOptions
    role: Role
    cors_origins: frozenset[str]

    async def __call__(self, life: Lifecycle) -> None:
        async with AsyncExitStack() as stack:
            observability, metrics_url = await start_observability(self.observability, stack)
            channel = UpstreamChannel(
                self.upstream.target, SERVICES, POLICY.idempotency, self._credentials()
            )
            http, gateway = await listen_http(
                channel, self.http, observability, stack, self.role, self.cors_origins
            )
            await life.serving(
                Ready(url(http, self.http), upstream=self.upstream.target, metrics=metrics_url)
            )
            gateway.drain()
            await drain()

    def _credentials(self) -> ChannelCredentials | None:
        if not self.upstream.encrypted:
            return None
        identity = self.upstream.identity
        return ssl_channel_credentials(
            self.upstream.authorities,
            identity.key if identity else None,
            identity.certificate if identity else None,
        )


def url(address: Address, options: PortOptions) -> str:
    return f"{'https' if options.identity else 'http'}://{address}"
