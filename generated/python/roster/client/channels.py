"""Opens channels configured for Roster: API key, TLS, deadlines, retries, keepalive, limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import grpc
import grpc.aio

from . import aio_calls, calls
from .repeats import service_config

DEADLINE_SECONDS = 30.0
# The largest request that the server accepts. Responses are not limited: a page of subscribers
# with all custom fields can exceed gRPC's default limit.
MAX_REQUEST_BYTES = 4 * 1024 * 1024
NO_BOUND = -1
OPTIONS = (
    ("grpc.max_send_message_length", MAX_REQUEST_BYTES),
    ("grpc.max_receive_message_length", NO_BOUND),
    # A stream can be idle for a long time. Pings detect lost connections; the server permits this
    # interval.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    # A restarted server is available within one or two seconds. The channel reconnects soon after,
    # because retries made before it has reconnected are wasted.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 500),
)
# Characters allowed in gRPC metadata, without spaces.
KEY = re.compile(r"[!-~]+")
LOOPBACK = re.compile(
    r"unix(-abstract)?:.+|((dns:(///)?|ipv4:|ipv6:)?(localhost|127(\.\d{1,3}){3}|\[::1\]):\d+)"
)


@dataclass(frozen=True)
class Tls:
    """TLS certificates in PEM: the trusted CA and the client certificate.

    Without `ca`, gRPC's default public CAs are trusted, or those in the file named by
    GRPC_DEFAULT_SSL_ROOTS_FILE_PATH. `certificate` and `private_key` are set together, if a proxy
    in front of the server requires a client certificate.
    """

    ca: bytes | None = None
    certificate: bytes | None = None
    private_key: bytes | None = field(default=None, repr=False)


def channel(
    target: str,
    key: str,
    *,
    tls: Tls | None = Tls(),
    deadline: float | None = DEADLINE_SECONDS,
    dangerously_send_key_in_plaintext: bool = False,
) -> grpc.Channel:
    """Returns a channel to the service at `target`, such as roster.example.com:443.

    Every call is authenticated with `key`. Unary calls without a timeout have a deadline of
    `deadline` seconds; streams have none. If the server is unreachable, repeatable calls are
    retried for several seconds. This includes calls that create resources, because each has an
    idempotency key, which is generated if the caller sets none. Calls are distributed round-robin
    over all addresses of the target.

    With `tls=None`, the key is sent unencrypted. This is allowed only for loopback targets, or with
    dangerously_send_key_in_plaintext; otherwise, raises ValueError. Also raises ValueError if the
    key is not printable ASCII without spaces.
    """
    _check_key(key)
    options = _options(tls)
    if tls is None:
        _check_plaintext(target, allowed=dangerously_send_key_in_plaintext)
        bare = grpc.insecure_channel(target, options)
    else:
        bare = grpc.secure_channel(target, _credentials(tls), options)
    return grpc.intercept_channel(bare, calls.Caller(key, deadline))


def aio_channel(
    target: str,
    key: str,
    *,
    tls: Tls | None = Tls(),
    deadline: float | None = DEADLINE_SECONDS,
    dangerously_send_key_in_plaintext: bool = False,
) -> grpc.aio.Channel:
    """Returns the same as `channel`, for asyncio."""
    _check_key(key)
    options, interceptors = _options(tls), aio_calls.callers(key, deadline)
    if tls is None:
        _check_plaintext(target, allowed=dangerously_send_key_in_plaintext)
        return grpc.aio.insecure_channel(target, options, interceptors=interceptors)
    return grpc.aio.secure_channel(target, _credentials(tls), options, interceptors=interceptors)


def _credentials(tls: Tls) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(tls.ca, tls.private_key, tls.certificate)


def _options(tls: Tls | None) -> Sequence[tuple[str, int | str]]:
    # A proxy configured in the environment could read unencrypted traffic.
    proxy = [("grpc.enable_http_proxy", 0)] if tls is None else []
    return [*OPTIONS, *proxy, ("grpc.service_config", service_config())]


def _check_key(key: str) -> None:
    if not KEY.fullmatch(key):
        # The message omits the key, because errors are often logged.
        raise ValueError("Invalid API key: it must be non-empty printable ASCII without spaces.")


def _check_plaintext(target: str, *, allowed: bool) -> None:
    if not allowed and not LOOPBACK.fullmatch(target):
        raise ValueError(
            f"{target} is not a loopback address: without TLS, the API key is sent in plaintext."
            " Set tls, or dangerously_send_key_in_plaintext=True."
        )
