"""The connections to webhooks. Each address is checked when its socket is created.

aiohttp does not resolve addresses in URLs, so a check in the resolver would not cover them.
aiohttp also reads and queues all responses on a connection, including those without a request.
A receiver could fill the memory or keep the process busy with them, so connections are limited.
"""

from __future__ import annotations

import socket
import ssl
from functools import partial
from ipaddress import ip_address
from typing import Any

from aiohttp import TCPConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader

from .policy import BlockedAddress, EgressPolicy
from .resolver import Lookup, Resolver

# Idle seconds until a connection is closed. Many receivers close it after five seconds, and a
# request sent at that moment would be lost.
KEEPALIVE_SECONDS = 4
# Interim responses, such as 103 Early Hints, before the final response.
MAX_INTERIM = 8
# Bytes of a response, with headers and framing. Far more than is read.
MAX_RECEIVED = 128 * 1024


class EgressConnector(TCPConnector):
    """Connects only to addresses that the policy allows.

    The number of connections is not limited: receivers that hang would make others wait.
    """

    def __init__(self, egress_policy: EgressPolicy, lookup: Lookup, tls: ssl.SSLContext) -> None:
        super().__init__(
            ssl=tls,
            resolver=Resolver(egress_policy, lookup),
            use_dns_cache=False,
            socket_factory=partial(_make_socket, egress_policy),
            keepalive_timeout=KEEPALIVE_SECONDS,
            limit=0,
        )
        # aiohttp has no parameter for it.
        self._factory = partial(_LimitedConnection, loop=self._loop)  # type: ignore[assignment]


class _LimitedConnection(ResponseHandler):
    """A connection that is aborted when the receiver sends more than one response per request.

    It is closed without a TLS shutdown, which a receiver could delay.
    """

    _responses_allowed = 0
    _bytes_allowed = 0

    def set_response_params(self, **params: Any) -> None:
        """Allows one response to the next request."""
        self._responses_allowed = MAX_INTERIM + 1
        self._bytes_allowed = MAX_RECEIVED
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Parses data, up to MAX_RECEIVED bytes per request."""
        if self._bytes_allowed <= 0:
            self._abort()
            return
        self._bytes_allowed -= len(data)
        super().data_received(data)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Passes a response to the client, or aborts the connection if there was no request."""
        if self._responses_allowed <= 0:
            self._abort()
            return
        message, _ = data
        is_interim = 100 <= message.code <= 199
        self._responses_allowed = self._responses_allowed - 1 if is_interim else 0
        super().feed_data(data, size)

    def close(self) -> None:
        self.abort()

    def _abort(self) -> None:
        # Not `close`, after which a client that still reads the response would get no error.
        if self.transport is not None:
            self.transport.abort()


def _make_socket(egress_policy: EgressPolicy, address_info: tuple[Any, ...]) -> socket.socket:
    """Returns a socket for the result of a lookup. Raises BlockedAddress."""
    family, kind, protocol, _, (host, *_) = address_info
    try:
        egress_policy.check(ip_address(host))
    except ValueError as error:
        raise BlockedAddress(host) from error
    return socket.socket(family, kind, protocol)
