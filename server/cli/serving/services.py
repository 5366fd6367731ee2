"""The three ways to serve: all in one process, gRPC alone, and HTTP alone.

The order of the start: the port for figures, the database (lock, migrations), the
services, the gRPC port, the HTTP port, the first account, ready. The order of the stop: not
ready; after a while HTTP, then gRPC, takes nothing new and finishes what runs, and streams
are ended; what works beside the calls ends; the writer's queue is emptied; the locks go.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from grpc import ChannelCredentials, aio, ssl_channel_credentials

from http_gateway.channel.in_process import InProcessChannel
from http_gateway.channel.upstream import UpstreamChannel

from ...addresses import Address
from ...app import MAX_METADATA_BYTES, App
from ...health.readiness import told
from .core import first_key, open_app
from .leaving import leave
from .options import CoreOptions, GrpcOptions, HttpOptions, UpstreamOptions
from .ports import listen_grpc, listen_http
from .process import Serving
from .ready import Ready
from .watch_options import WatchOptions
from .watched import watched


@dataclass(frozen=True)
class Together:
    """The gRPC server and the gateway, whose calls take no socket if they are `in_process`."""

    http: HttpOptions
    grpc: GrpcOptions
    core: CoreOptions
    watch: WatchOptions
    in_process: bool
    shares_ports: bool

    async def __call__(self, serving: Serving) -> None:
        async with AsyncExitStack() as stack:
            watch, figures = await watched(self.watch, stack)
            app, database = await open_app(self.core, watch, stack)
            own = await listen_grpc(app, self.grpc, stack, shares_port=self.shares_ports)
            channel = self._channel(app, own)
            http, gateway = await listen_http(
                channel, self.http, watch, stack, shares_port=self.shares_ports
            )
            # Last, when nothing can fail any more: the key is shown this once.
            key = await first_key(self.core, database)
            place = str(self.core.database)
            async with told(database, self.core.folder, app.set_serving):
                await serving(Ready(url(http, self.http), str(own), "", place, key, figures))
            gateway.part()
            await leave(app)

    def _channel(self, app: App, own: Address) -> aio.Channel:
        if self.in_process:
            return InProcessChannel(app.register, app.interceptors)
        options = (("grpc.max_metadata_size", MAX_METADATA_BYTES),)
        return aio.insecure_channel(str(own), options=options)


@dataclass(frozen=True)
class GrpcAlone:
    """The gRPC server."""

    grpc: GrpcOptions
    core: CoreOptions
    watch: WatchOptions
    shares_ports: bool

    async def __call__(self, serving: Serving) -> None:
        async with AsyncExitStack() as stack:
            watch, figures = await watched(self.watch, stack)
            app, database = await open_app(self.core, watch, stack)
            own = await listen_grpc(app, self.grpc, stack, shares_port=self.shares_ports)
            key = await first_key(self.core, database)
            async with told(database, self.core.folder, app.set_serving):
                await serving(Ready("", str(own), "", str(self.core.database), key, figures))
            await leave(app)


@dataclass(frozen=True)
class HttpAlone:
    """The gateway, in front of servers elsewhere. It starts whether or not they are there."""

    http: HttpOptions
    upstream: UpstreamOptions
    watch: WatchOptions
    shares_ports: bool

    async def __call__(self, serving: Serving) -> None:
        async with AsyncExitStack() as stack:
            watch, figures = await watched(self.watch, stack)
            channel = UpstreamChannel(self.upstream.target, self._credentials())
            http, gateway = await listen_http(
                channel, self.http, watch, stack, shares_port=self.shares_ports
            )
            await serving(Ready(url(http, self.http), "", self.upstream.target, metrics=figures))
            gateway.part()
            await leave()

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
