"""The connections that deliveries use, each to an address that was checked just before.

aiohttp looks no address up that stands in a URL itself, so the last gate is where the
socket is made. And it reads whatever arrives, also while nobody has asked, and keeps every
answer until somebody takes it: a receiver could fill the memory with answers to nothing on
a connection that is kept for the next delivery, or keep the process busy without an end.
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

# A connection is kept so long for the next event to the same place. Many receivers let go
# after five seconds, and an event sent just then would be lost on the way.
KEEPALIVE_SECONDS = 4
# Interim answers, such as 103 Early Hints, that may come before the answer itself.
MAX_INTERIM = 8
# Bytes of an answer, its head and all that is between its parts: far more than is read.
MAX_RECEIVED = 128 * 1024


def make_connector(
    egress_policy: EgressPolicy, lookup: Lookup, tls: ssl.SSLContext
) -> TCPConnector:
    """Returns a connector that reaches nothing but what may be reached.

    It has no bound on connections at a time: with one, receivers that hang would make
    others wait.
    """
    connector = TCPConnector(
        ssl=tls,
        resolver=Resolver(egress_policy, lookup),
        use_dns_cache=False,
        socket_factory=partial(_make_socket, egress_policy),
        keepalive_timeout=KEEPALIVE_SECONDS,
        limit=0,
    )
    # There is no setting for it.
    connector._factory = partial(_BoundedConnection, loop=connector._loop)  # type: ignore[assignment]
    return connector


class _BoundedConnection(ResponseHandler):
    """A connection that ends when its receiver says more than an answer to a request.

    It ends at once, without TLS's farewell, for which a receiver could let it wait long
    after the delivery.
    """

    _responses_allowed = 0
    _bytes_allowed = 0

    def set_response_params(self, **params: Any) -> None:
        """Expects one answer to the request that is about to be sent."""
        self._responses_allowed = MAX_INTERIM + 1
        self._bytes_allowed = MAX_RECEIVED
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Reads on, unless enough has been said."""
        if self._bytes_allowed <= 0:
            self._abort()
            return
        self._bytes_allowed -= len(data)
        super().data_received(data)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Takes an answer, or lets it go together with the connection."""
        if self._responses_allowed <= 0:
            self._abort()
            return
        is_interim = 100 <= data[0].code <= 199
        self._responses_allowed = self._responses_allowed - 1 if is_interim else 0
        super().feed_data(data, size)

    def close(self) -> None:
        """Ends the connection."""
        self.abort()

    def _abort(self) -> None:
        # Not by `close`, after which nobody would tell whoever still reads the answer.
        if self.transport is not None:
            self.transport.abort()


def _make_socket(egress_policy: EgressPolicy, place: tuple[Any, ...]) -> socket.socket:
    """Returns a socket for an address. Raises BlockedAddress."""
    family, kind, protocol, _, where = place
    try:
        egress_policy.check(ip_address(where[0]))
    except ValueError as error:
        raise BlockedAddress(where[0]) from error
    return socket.socket(family, kind, protocol)
