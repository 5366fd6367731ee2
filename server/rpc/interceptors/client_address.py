"""Determines the address of the client of a call, and limits calls per address.

The client address is the peer of the connection. If that is a configured proxy, it is the last
address in `x-forwarded-for` that is not such a proxy. Earlier addresses are ignored: with them, a
client could choose a new address for each call, or use up the calls of another client.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from urllib.parse import unquote

from ...config import Network, Rate
from .base import Call
from .token_buckets import Decision, MonotonicClock, TokenBuckets

# Maximum addresses with a bucket, to limit memory. Further addresses share one.
MAX_ADDRESSES = 10_000
# The prefix length of an IPv6 network; a client can use all addresses in its network.
IPV6_PREFIX_LENGTH = 64

FORWARDED_FOR = "x-forwarded-for"
# 192.0.2.7:1234, [2001:db8::1]:1234, and the same without a port.
_WITH_PORT = re.compile(r"(?:\[([^\[\]]+)\]|([^:]+))(?::[0-9]{1,5})?")
# The peer of a call over the in-process channel. No client can have it.
_IN_PROCESS = "in-process"
_UNKNOWN = ""


class AddressBuckets:
    """Token buckets by client address. The addresses of an IPv6 /64 network share one."""

    def __init__(
        self,
        rate: Rate,
        clock: MonotonicClock = time.monotonic_ns,
        max_addresses: int = MAX_ADDRESSES,
    ) -> None:
        self._buckets = TokenBuckets(rate, clock, max_addresses)

    def seconds_until_token(self, address: str) -> int:
        """Returns the seconds until there is a token, rounded up; 0 if there is one."""
        return self._buckets.seconds_until_token(network(address))

    def take(self, address: str) -> Decision:
        """Takes a token, if there is one."""
        return self._buckets.take(network(address))


def client_address_of(call: Call, proxies: tuple[Network, ...]) -> str:
    """Returns the address of a call's client; empty if it is unknown."""
    hops = ""
    for name, value in call.metadata:
        if name == FORWARDED_FOR:
            hops = f"{hops},{value!s}" if hops else str(value)
    return client_address(hops, call.context.peer(), proxies)


@lru_cache(1_000)
def client_address(forwarded: str, peer: str, proxies: tuple[Network, ...]) -> str:
    """Returns the last hop that is not a trusted proxy, or else the first hop.

    The hops are the addresses in `x-forwarded-for`, then the peer of the connection. A hop that is
    not an address was not written by a proxy, so it and earlier ones are ignored.
    """
    hops = forwarded.split(",")
    if peer != _IN_PROCESS:
        hops.append(unquote(peer).partition(":")[2])
    client = _UNKNOWN
    for hop in reversed(hops):
        try:
            address = ip_address(_without_port(hop.strip()).partition("%")[0])
        except ValueError:
            break
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        client = str(address)
        if not any(address in proxy for proxy in proxies):
            break
    return client


def _without_port(hop: str) -> str:
    """Returns the address of a hop, to which some proxies add the port of the client."""
    match = _WITH_PORT.fullmatch(hop)
    return match[1] or match[2] if match else hop


def network(address: str) -> str:
    """Returns the network of an IPv6 address, and any other text unchanged."""
    if ":" not in address:
        return address
    number = int(IPv6Address(address))
    return str(IPv6Address(number >> IPV6_PREFIX_LENGTH << IPV6_PREFIX_LENGTH))
