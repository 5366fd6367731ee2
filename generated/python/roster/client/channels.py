"""Channels that are set for Roster: key, TLS, deadlines, retries, keepalive, bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import grpc
import grpc.aio

from . import aio_calls, calls
from .repeats import service_config

DEADLINE_SECONDS = 30.0
# The largest message that the service takes. What it answers is its own affair: a page of
# subscribers with all their custom fields may be larger than what gRPC takes by itself.
MAX_REQUEST_BYTES = 4 * 1024 * 1024
NO_BOUND = -1
OPTIONS = (
    ("grpc.max_send_message_length", MAX_REQUEST_BYTES),
    ("grpc.max_receive_message_length", NO_BOUND),
    # A stream may be silent for long. Pings tell whether the other side is still there; the
    # service takes them as often as this.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    # A service that starts anew is back within a second or two. The channel finds it soon after,
    # since an attempt that is made before the channel has found it is wasted.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 500),
)
# What gRPC takes in metadata, less blanks, which no key has.
KEY = re.compile(r"[!-~]+")
LOOPBACK = re.compile(
    r"unix(-abstract)?:.+|((dns:(///)?|ipv4:|ipv6:)?(localhost|127(\.\d{1,3}){3}|\[::1\]):\d+)"
)


@dataclass(frozen=True)
class Tls:
    """Whom to trust, and who the caller is; each in PEM.

    Without `ca`, the public authorities that gRPC knows are trusted, or those in the file that
    GRPC_DEFAULT_SSL_ROOTS_FILE_PATH names. `certificate` and `private_key` go together, where
    whatever stands before the service asks callers for a certificate.
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

    Every call carries the key. One that takes one request, gives one answer and is given no
    timeout has `deadline` seconds; streams end when they are done. Calls that may be repeated
    are, for some seconds, while the service is not to be reached; that includes those that
    create, since each carries an idempotency key, which is made up where the caller gives none.
    Calls go round all addresses of the target.

    `tls` None means no encryption, and the key can be read by all on the way: that is taken on
    this machine alone, unless dangerously_send_key_in_plaintext. Raises ValueError otherwise,
    and where the key is not one: it is printable ASCII without blanks.
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
    """Returns what `channel` returns, for asyncio."""
    _check_key(key)
    options, interceptors = _options(tls), aio_calls.callers(key, deadline)
    if tls is None:
        _check_plaintext(target, allowed=dangerously_send_key_in_plaintext)
        return grpc.aio.insecure_channel(target, options, interceptors=interceptors)
    return grpc.aio.secure_channel(target, _credentials(tls), options, interceptors=interceptors)


def _credentials(tls: Tls) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(tls.ca, tls.private_key, tls.certificate)


def _options(tls: Tls | None) -> Sequence[tuple[str, int | str]]:
    # A proxy that the environment names would see whatever is not encrypted.
    proxy = [("grpc.enable_http_proxy", 0)] if tls is None else []
    return [*OPTIONS, *proxy, ("grpc.service_config", service_config())]


def _check_key(key: str) -> None:
    if not KEY.fullmatch(key):
        # The key itself is not said: whoever logs the error would keep it.
        raise ValueError("The key is empty, or has a blank or what is not printable ASCII in it.")


def _check_plaintext(target: str, *, allowed: bool) -> None:
    if not allowed and not LOOPBACK.fullmatch(target):
        raise ValueError(
            f"{target} is not on this machine: without TLS everyone on the way there can read"
            " the key. Give tls, or say dangerously_send_key_in_plaintext=True."
        )
