"""The services of a process: gRPC with or without HTTP, HTTP only, or background work only.

Start: metrics port, gRPC port, HTTP port, database (lock, migrations), services, first account,
ready. The ports respond as soon as they listen: the process is alive and not ready, and calls are
rejected. If other processes serve on the same ports, the ports are opened after the services.

Stop: health checks report that the process is not ready, and it continues to serve for a while, so
that clients and load balancers can switch to another process. Every HTTP response closes its
connection, so that no client sends its next request on a connection that is being closed. Then the
HTTP port and the gRPC port accept nothing new and finish running calls; streams are ended with an
error that states how to resume. Background tasks end; the queue of the writer is emptied; the locks
are released.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from grpc import ChannelConnectivity, ChannelCredentials, aio, ssl_channel_credentials

from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.http_gateway.channel.upstream import UpstreamChannel

from ..app import SERVICES, App, operation_steps
from ..config import OVER_GRPC
from ..features.files.store_content import Files
from ..features.operations.runner import OperationRunner
from ..features.webhooks.egress.client import Client
from ..observability.metrics import READY, Sample
from ..rpc.health.readiness import monitor_readiness
from ..security.encryption import Encryption
from ..security.links import Links
from ..security.tls import Trust
from ..storage.databases import database_at
from ..values.addresses import Address
from .core import running_core, start_background_work
from .documentation import documentation
from .gateway_policy import POLICY
from .grpc_options import MAX_METADATA_BYTES
from .observability import start_observability
from .options import PortOptions, ProcessOptions, UpstreamOptions, egress_policy
from .ports import listen_grpc, listen_http
from .process import Lifecycle, Service
from .ready import Ready, is_terminal
from .secret_key import check_key, find_keys

# Seconds for which a process serves after it has reported that it is not ready.
DRAIN_SECONDS = 0.5
# Seconds after that until streams are ended. Must be less than GRACE_SECONDS of the ports.
STREAM_SECONDS = 5.0


def service_of(options: ProcessOptions) -> Service:
    """Returns the service of a command."""
    if options.grpc is not None:
        return GrpcService(options, options.grpc)
    if options.upstream is not None:
        return HttpOnly(options, options.upstream)
    return BackgroundWorker(options)


@dataclass(frozen=True)
class GrpcService:
    """The gRPC server, and the gateway if the process has an HTTP port.

    The gateway calls the server without a socket, unless a setting says otherwise.
    """

    options: ProcessOptions
    grpc: PortOptions

    async def __call__(self, lifecycle: Lifecycle) -> None:
        options, http_url, drain_gateway = self.options, "", None
        async with AsyncExitStack() as stack:
            with lifecycle.starting():
                observability, metrics_url = await start_observability(options, stack)
                core = await stack.enter_async_context(running_core(options, observability))
                core.database.on_outdated = lifecycle.fail
                grpc = await listen_grpc(core.app, self.grpc, stack, options.role)
                if options.http is not None:
                    channel = self._channel(core.app, grpc)
                    http_url, gateway = await listen_http(
                        channel, options, documentation(grpc.port), observability, stack
                    )
                    drain_gateway = gateway.drain
                    core.app.links.set_default_url(http_url)
                await core.open()
            # Last, when nothing can fail anymore, because the key is shown only once.
            key, sign_in = await core.create_first_account(), ""
            if http_url and (key or is_terminal(options.role)):
                sign_in = await core.create_sign_in_link()
            ready = Ready(
                http_url,
                str(grpc),
                database=str(options.settings.database_url),
                first_key=key,
                sign_in=sign_in,
                metrics=metrics_url,
            )
            free_bytes = core.database.free_bytes
            async with monitor_readiness(core.database, free_bytes, core.app.set_serving):
                await lifecycle.serving(ready)
            if drain_gateway is not None:
                drain_gateway()
            await asyncio.sleep(DRAIN_SECONDS)
            core.app.end_watches()
            asyncio.get_running_loop().call_later(STREAM_SECONDS, core.app.end_streams)

    def _channel(self, app: App, grpc: Address) -> aio.Channel:
        if self.options.settings.http_channel != OVER_GRPC:
            return InProcessChannel(app.register, app.interceptors)
        options = (("grpc.max_metadata_size", MAX_METADATA_BYTES),)
        return aio.insecure_channel(str(grpc), options=options)


@dataclass(frozen=True)
class HttpOnly:
    """The gateway, in front of servers elsewhere. It starts even if they are not available."""

    options: ProcessOptions
    upstream: UpstreamOptions

    async def __call__(self, lifecycle: Lifecycle) -> None:
        async with AsyncExitStack() as stack:
            observability, metrics_url = await start_observability(self.options, stack)
            target = self.upstream.target
            channel = self._channel()
            observability.exposition.add(
                lambda: [Sample(READY, not lifecycle.is_stopping and _is_connected(channel))]
            )
            http_url, gateway = await listen_http(
                channel, self.options, documentation(), observability, stack
            )
            await lifecycle.serving(Ready(http_url, upstream=target, metrics=metrics_url))
            gateway.drain()
            await asyncio.sleep(DRAIN_SECONDS)

    def _channel(self) -> UpstreamChannel:
        """Returns a channel that connects again when its TLS files have changed."""
        target, tls = self.upstream.target, self.upstream.tls
        if tls is None:
            return UpstreamChannel(target, SERVICES, POLICY.idempotency)
        credentials = _credentials(tls.current)
        channel = UpstreamChannel(target, SERVICES, POLICY.idempotency, credentials)
        tls.listen(lambda: channel.reconnect(_credentials(tls.current)))
        return channel


def _is_connected(channel: aio.Channel) -> bool:
    """Whether a server serves, as far as is known; connects the channel if it is idle."""
    state = channel.get_state(try_to_connect=True)
    return state in (ChannelConnectivity.READY, ChannelConnectivity.IDLE)


def _credentials(trust: Trust) -> ChannelCredentials:
    identity = trust.identity
    return ssl_channel_credentials(
        trust.authorities,
        identity.key if identity else None,
        identity.certificate if identity else None,
    )


@dataclass(frozen=True)
class BackgroundWorker:
    """The background work of a PostgreSQL database, without ports."""

    options: ProcessOptions

    async def __call__(self, lifecycle: Lifecycle) -> None:
        settings = self.options.settings
        location = settings.database_url
        async with AsyncExitStack() as stack:
            with lifecycle.starting():
                observability, metrics_url = await start_observability(self.options, stack)
                database = database_at(location, settings.database_pool)
                database.on_outdated = lifecycle.fail
                await database.open(partial(check_key, settings.secret_key, location))
                stack.push_async_callback(database.close)
                keys = await find_keys(settings.secret_key, location, database)
                encryption = Encryption(*keys)
                steps = operation_steps(
                    database,
                    encryption,
                    Links(encryption, settings.public_url),
                    Files(database, encryption),
                )
                await start_background_work(
                    settings,
                    database,
                    Client(egress_policy(settings)),
                    encryption,
                    OperationRunner(database, steps, others_serve=True),
                    observability.exposition,
                    stack,
                )
            async with monitor_readiness(database, database.free_bytes, _publish_nothing):
                await lifecycle.serving(Ready(database=str(location), metrics=metrics_url))


async def _publish_nothing(*, serving: bool) -> None:  # noqa: ARG001 - of SetServing
    """Publishes the readiness of a process without ports, which only logs it."""
