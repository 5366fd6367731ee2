"""A network channel: round robin, fail fast, retries, and a deadline for every call.

Calls are distributed over all addresses of the target, except those that cannot be reached or
report that they are not serving. A connection is closed if a ping is not answered.

Calls that fail with UNAVAILABLE are retried up to twice if a retry is safe: reads and updates
always, creations if they have an idempotency key. gRPC configures retries per rpc and not per
call. Therefore creations with a key have a channel with its own connections. Streams have one too,
because a server limits the calls of a connection.

A change of the credentials takes new channels for new calls. The previous ones are closed when
their calls have ended.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from grpc import aio

from ..ambiguous_failures import is_repeatable
from ..headers import IDEMPOTENCY_KEY
from ..policy import IdempotencyPolicy
from .version_skew import VersionSkew

# Default timeouts in seconds. A stream of millions of rows takes long.
CALL_SECONDS = 30.0
STREAM_SECONDS = 24 * 3600.0
# The limits of the servers for requests. Responses are not limited.
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_METADATA_BYTES = 16 * 1024
UNLIMITED = -1
RETRY = {
    "maxAttempts": 3,
    "initialBackoff": "0.1s",
    "backoffMultiplier": 3,
    "maxBackoff": "1s",
    "retryableStatusCodes": ["UNAVAILABLE"],
}
# Retries stop after 50 more failures than a tenth of the successful calls, so that retries do not
# overload a recovering server.
THROTTLING = {"maxTokens": 100, "tokenRatio": 0.1}
OPTIONS = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", UNLIMITED),
    ("grpc.max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # The default of a minute takes precedence over the keepalive timeout.
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # gRPC 1.85 aborts the process if two channels start to watch the health of one connection at
    # the same time.
    ("grpc.use_local_subchannel_pool", 1),
)

# A multi-callable.
Method = Callable[..., Any]


class Channels(NamedTuple):
    """The channels for calls without an idempotency key, with one, and for streams."""

    plain: aio.Channel
    with_keys: aio.Channel
    streams: aio.Channel

    async def close(self, grace: float | None) -> None:
        """Closes the channels after their calls, or after the grace period in seconds."""
        await asyncio.gather(*(channel.close(grace) for channel in self))


class CurrentMethod:
    """A multi-callable with a default timeout in seconds, of the channels that it is bound to."""

    def __init__(
        self, create: Callable[[Channels], Method], channels: Channels, seconds: float
    ) -> None:
        self._create, self._seconds = create, seconds
        self.bind(channels)

    def bind(self, channels: Channels) -> None:
        self._call = self._create(channels)

    def __call__(self, request: Any, *, timeout: float | None = None, **options: Any) -> Any:
        seconds = self._seconds if timeout is None else timeout
        return self._call(request, timeout=seconds, **options)


def service_config(
    services: Iterable[ServiceDescriptor], takes_key: Callable[[MethodDescriptor], bool]
) -> str:
    """Returns the gRPC service config as JSON. Calls that take a key are retried too."""
    names = [
        {"service": service.full_name, "method": method.name}
        for service in services
        for method in service.methods
        if is_repeatable(method) or takes_key(method)
    ]
    return json.dumps(
        {
            "loadBalancingConfig": [{"round_robin": {}}],
            "healthCheckConfig": {"serviceName": ""},
            "methodConfig": [{"name": names, "retryPolicy": RETRY}],
            "retryThrottling": THROTTLING,
        }
    )


class UpstreamChannel(aio.Channel):
    """Calls the servers of a target, over TLS if there are credentials.

    The rpcs of the services and the policy determine which calls are retried.
    """

    def __init__(
        self,
        target: str,
        services: Collection[ServiceDescriptor],
        policy: IdempotencyPolicy,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        self._target = target
        self._configs = [
            service_config(services, takes_key) for takes_key in (_never, policy.takes_key, _never)
        ]
        self._take_keys = {
            f"/{service.full_name}/{method.name}"
            for service in services
            for method in service.methods
            if policy.takes_key(method)
        }
        self._channels = self._connect(credentials)
        self._methods: list[CurrentMethod] = []
        # The tasks that close previous channels.
        self._closing: set[asyncio.Task[None]] = set()
        self.skew = VersionSkew(lambda: self._channels.plain, services)
        self._following: asyncio.Task[None] | None = None

    def _connect(self, credentials: grpc.ChannelCredentials | None) -> Channels:
        return Channels(*(_channel(self._target, credentials, each) for each in self._configs))

    def reconnect(self, credentials: grpc.ChannelCredentials) -> None:
        """Connects new calls with other credentials. Running calls continue."""
        previous, self._channels = self._channels, self._connect(credentials)
        for method in self._methods:
            method.bind(self._channels)
        closing = asyncio.create_task(previous.close(STREAM_SECONDS))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def unary_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        def create(channels: Channels) -> Method:
            plain = channels.plain.unary_unary(method, *arguments, **options)
            if method not in self._take_keys:
                return plain
            return _by_key(plain, channels.with_keys.unary_unary(method, *arguments, **options))

        return self._method(create, CALL_SECONDS)

    def unary_stream(self, *arguments: Any, **options: Any) -> Any:
        return self._stream("unary_stream", *arguments, **options)

    def stream_unary(self, *arguments: Any, **options: Any) -> Any:
        return self._stream("stream_unary", *arguments, **options)

    def stream_stream(self, *arguments: Any, **options: Any) -> Any:
        return self._stream("stream_stream", *arguments, **options)

    def _stream(self, kind: str, *arguments: Any, **options: Any) -> CurrentMethod:
        def create(channels: Channels) -> Method:
            method: Method = getattr(channels.streams, kind)(*arguments, **options)
            return method

        return self._method(create, STREAM_SECONDS)

    def _method(self, create: Callable[[Channels], Method], seconds: float) -> CurrentMethod:
        method = CurrentMethod(create, self._channels, seconds)
        self._methods.append(method)
        return method

    async def close(self, grace: float | None = None) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        for closing in self._closing:
            closing.cancel()
        await self._channels.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self._channels.plain.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self._channels.plain.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._channels.plain.channel_ready()

    async def __aenter__(self) -> UpstreamChannel:
        # The first request must not precede the comparison.
        await self.skew.refresh()
        self._following = asyncio.create_task(self.skew.follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _never(_method: MethodDescriptor) -> bool:
    return False


def _channel(target: str, credentials: grpc.ChannelCredentials | None, config: str) -> aio.Channel:
    options = [*OPTIONS, ("grpc.service_config", config)]
    if credentials is not None:
        return aio.secure_channel(target, credentials, options)
    # A proxy from the environment could read the unencrypted calls.
    return aio.insecure_channel(target, [*options, ("grpc.enable_http_proxy", 0)])


def _by_key(plain: Method, with_key: Method) -> Method:
    """Returns a multi-callable that uses `with_key` for calls with an idempotency key."""

    def call(request: Any, *, metadata: Any = (), **options: Any) -> Any:
        has_key = any(name == IDEMPOTENCY_KEY for name, _ in metadata or ())
        return (with_key if has_key else plain)(request, metadata=metadata, **options)

    return call
