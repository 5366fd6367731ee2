"""A channel to servers elsewhere: round robin, fail fast, and a deadline for every call.

Calls go round all addresses that the target stands for, past those that do not answer or
say that they do not serve. A server that is silent is given up after fifteen seconds.

What is safe to repeat is repeated, twice at most and soon, where a server could not be
reached or was lost: reads and updates always, and creations if the client gave them an
idempotency key. gRPC takes that policy by rpc and not by call, so there are two channels,
and a creation goes by the one that repeats if it has a key. Each has connections of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import Any

import grpc
from grpc import aio
from roster.client import repeats

from ..headers import IDEMPOTENCY_KEY

# What a call may take that was given no time, in seconds; a stream of millions of rows is long.
CALL_SECONDS = 30.0
STREAM_SECONDS = 24 * 3600.0
# As the servers bound them. What they answer is their own affair.
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_METADATA_BYTES = 16 * 1024
NO_BOUND = -1
RETRY = {
    "maxAttempts": 3,
    "initialBackoff": "0.1s",
    "backoffMultiplier": 3,
    "maxBackoff": "1s",
    "retryableStatusCodes": ["UNAVAILABLE"],
}
# The budget: nothing is repeated once fifty more calls have failed than a tenth of those that
# were answered, so that servers which cannot keep up are not asked three times as much.
THROTTLING = {"maxTokens": 100, "tokenRatio": 0.1}
OPTIONS = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", NO_BOUND),
    ("grpc.max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # Without this one, a ping is waited for a minute whatever the other says.
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # gRPC 1.85 ends the process if two channels begin to watch the health of one connection at
    # the same moment: the second finds a watch that has not been started.
    ("grpc.use_local_subchannel_pool", 1),
)

# Makes calls of one rpc.
Method = Callable[..., Any]


def service_config(*, keyed: bool) -> str:
    """Returns how gRPC is told of all this, in JSON; `keyed` where calls come with keys."""
    names = [
        {"service": method.containing_service.full_name, "method": method.name}
        for method in repeats.methods()
        if repeats.is_repeatable(method) and (keyed or not repeats.takes_key(method))
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
    """Calls the servers of a target, with TLS if there are credentials for it."""

    def __init__(self, target: str, credentials: grpc.ChannelCredentials | None = None) -> None:
        self._plain, self._keyed = (
            _channel(target, credentials, service_config(keyed=keyed)) for keyed in (False, True)
        )

    def unary_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        calls = self._plain.unary_unary(method, *arguments, **options)
        if method not in repeats.keyed():
            return _timed(calls, CALL_SECONDS)
        with_key = self._keyed.unary_unary(method, *arguments, **options)
        return _timed(_by_key(calls, with_key), CALL_SECONDS)

    def unary_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        return _timed(self._plain.unary_stream(method, *arguments, **options), STREAM_SECONDS)

    def stream_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        return _timed(self._plain.stream_unary(method, *arguments, **options), STREAM_SECONDS)

    def stream_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        return _timed(self._plain.stream_stream(method, *arguments, **options), STREAM_SECONDS)

    async def close(self, grace: float | None = None) -> None:
        await self._plain.close(grace)
        await self._keyed.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self._plain.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self._plain.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._plain.channel_ready()

    async def __aenter__(self) -> UpstreamChannel:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.close()


def _channel(target: str, credentials: grpc.ChannelCredentials | None, config: str) -> aio.Channel:
    options = [*OPTIONS, ("grpc.service_config", config)]
    if credentials is not None:
        return aio.secure_channel(target, credentials, options)
    # A proxy that the environment names would see whatever is not encrypted.
    return aio.insecure_channel(target, [*options, ("grpc.enable_http_proxy", 0)])


def _timed(calls: Method, seconds: float) -> Method:
    """Gives a call so much time unless it has its own."""

    def call(request: Any, *, timeout: float | None = None, **more: Any) -> Any:
        return calls(request, timeout=seconds if timeout is None else timeout, **more)

    return call


def _by_key(calls: Method, with_key: Method) -> Method:
    """Makes a call in the one way or, if it has an idempotency key, in the other."""

    def call(request: Any, *, metadata: Any = (), **more: Any) -> Any:
        has_key = any(name == IDEMPOTENCY_KEY for name, _ in metadata or ())
        return (with_key if has_key else calls)(request, metadata=metadata, **more)

    return call
