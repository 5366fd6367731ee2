"""The three ways to serve: all in one process, gRPC alone, and HTTP alone.

The order of the start: the port for figures, the gRPC port, the HTTP port, the database (lock,
migrations), the services, the first account, ready. The ports answer as soon as they listen:
the process is alive, and not ready, and calls are refused. Only where others serve on the same
ports, these come after the services. The order of the stop: not ready; after a while HTTP, then
gRPC, takes nothing new and finishes what runs, and streams are ended; what works beside the
calls ends; the writer's queue is emptied; the locks go.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from grpc import ChannelCredentials, aio, ssl_channel_credentials

from http_gateway.channel.in_process import InProcessChannel
from http_gateway.channel.upstream import UpstreamChannel

from ..addresses import Address
from ..app import MAX_METADATA_BYTES, SERVICES, App
from ..health.readiness import monitor_readiness
from .core import core, first_key
from .drain import drain
from .observability import watched
from .observability_options import ObservabilityOptions
from .options import CoreOptions, GrpcOptions, HttpOptions, UpstreamOptions
from .ports import listen_grpc, listen_http
from .process import Lifecycle
from .ready import Ready
from .role import Role


@dataclass(frozen=True)
class AllInOne:
    """The gRPC server and the gateway, whose calls take no socket if they are `in_process`."""

    http: HttpOptions
    grpc: GrpcOptions
    core: CoreOptions
    watch: ObservabilityOptions
    role: Role
    in_process: bool

    async def __call__(self, life: Lifecycle) -> None:
        async with AsyncExitStack() as stack:
            with life.starting():
                watch, figures = await watched(self.watch, stack)
                services = await stack.enter_async_context(core(self.core, watch, self.role))
                own = await listen_grpc(services.app, self.grpc, stack, self.role)
                channel = self._channel(services.app, own)
                http, gateway = await listen_http(channel, self.http, watch, stack, self.role)
                await services.open()
            # Last, when nothing can fail any more: the key is shown this once.
            key = await first_key(self.core, services.database)
            place = str(self.core.database)
            async with monitor_readiness(
                services.database, self.core.folder, services.app.set_serving
            ):
                await life.serving(Ready(url(http, self.http), str(own), "", place, key, figures))
            gateway.drain()
            await drain(services.app)

    def _channel(self, app: App, own: Address) -> aio.Channel:
        if self.in_process:
            return InProcessChannel(app.register, app.interceptors)
        options = (("grpc.max_metadata_size", MAX_METADATA_BYTES),)
        return aio.insecure_channel(str(own), options=options)


@dataclass(frozen=True)
class GrpcOnly:
    """The gRPC server."""

    grpc: GrpcOptions
    core: CoreOptions
    watch: ObservabilityOptions
    role: Role

    async def __call__(self, life: Lifecycle) -> None:
        async with AsyncExitStack() as stack:
            with life.starting():
                watch, figures = await watched(self.watch, stack)
                services = await stack.enter_async_context(core(self.core, watch, self.role))
                own = await listen_grpc(services.app, self.grpc, stack, self.role)
                await services.open()
            key = await first_key(self.core, services.database)
            async with monitor_readiness(
                services.database, self.core.folder, services.app.set_serving
            ):
                await life.serving(Ready("", str(own), "", str(self.core.database), key, figures))
            await drain(services.app)


@dataclass(frozen=True)
class HttpOnly:
    """The gateway, in front of servers elsewhere. It starts whether or not they are there."""

    http: HttpOptions
    upstream: UpstreamOptions
    watch: ObservabilityOptions
    role: Role

    async def __call__(self, life: Lifecycle) -> None:
        async with AsyncExitStack() as stack:
            watch, figures = await watched(self.watch, stack)
            channel = UpstreamChannel(self.upstream.target, SERVICES, self._credentials())
            http, gateway = await listen_http(channel, self.http, watch, stack, self.role)
            await life.serving(
                Ready(url(http, self.http), "", self.upstream.target, metrics=figures)
            )
            gateway.drain()
            await drain()

    def _credentials(self) -> ChannelCredentials | None:
        if not self.upstream.encrypted:
            return None
        own = self.upstream.identity
        return ssl_channel_credentials(
            self.upstream.authorities, own.key if own else None, own.certificate if own else None
        )


def url(address: Address, options: HttpOptions) -> str:
    """Returns where HTTP is served, as clients write it."""
    return f"{'https' if options.identity else 'http'}://{address}"
