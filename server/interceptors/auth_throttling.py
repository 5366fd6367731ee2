"""Limits failed authentication attempts per client address.

A key cannot be guessed, but each attempt costs a database query. So each address has a token
bucket, and every call that fails to authenticate takes a token. While the bucket is empty,
unknown keys from the address are not looked up. Keys in the cache of Authenticate still work,
so that one client cannot block others behind the same address.

The client address is that of the connection. `x-forwarded-for` is trusted as far as it was
written by the configured proxies. Otherwise a client could choose another address for each
call, or use up the attempts of someone else's address.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import unquote

from ..config import Network, Rate
from ..errors import TooManyFailedAttempts, Unauthorized
from .base import Call
from .rate_limit import MonotonicClock, TokenBuckets

# Failed attempts per address.
RATE = Rate(300, 60)
# Addresses with their own bucket, which limits memory. Further addresses share one.
MAX_ADDRESSES = 10_000
# The prefix length of an IPv6 network; a client can use all addresses in its network.
IPV6_PREFIX_LENGTH = 64

FORWARDED_FOR = "x-forwarded-for"
# The peer of a call over the in-process channel. No client can have it.
_IN_PROCESS = "in-process"
_UNKNOWN = ""


class AuthThrottle:
    """The token buckets of all addresses. `proxies` are the trusted networks."""

    def __init__(
        self,
        proxies: Sequence[Network] = (),
        rate: Rate = RATE,
        clock: MonotonicClock = time.monotonic_ns,
        max_addresses: int = MAX_ADDRESSES,
    ) -> None:
        self._proxies = proxies
        self._buckets = TokenBuckets(rate, clock)
        self._max_addresses = max_addresses

    def check(self, call: Call) -> None:
        """Raises TooManyFailedAttempts if the bucket of the call's address is empty."""
        seconds = self._buckets.seconds_until_token(self._bucket(call))
        if seconds:
            raise TooManyFailedAttempts(seconds)

    def record_failure(self, call: Call) -> Unauthorized | TooManyFailedAttempts:
        """Takes a token for a call that failed to authenticate, and returns its error."""
        decision = self._buckets.take(self._bucket(call))
        return Unauthorized() if decision.allowed else TooManyFailedAttempts(decision.seconds)

    def _bucket(self, call: Call) -> str:
        address = client_address(_hops(call), self._proxies)
        return address if self._buckets.in_window < self._max_addresses else _UNKNOWN


def client_address(hops: Iterable[str], proxies: Sequence[Network]) -> str:
    """Returns the last hop that is not a trusted proxy, or else the first hop.

    For IPv6 this is the network. A hop that is not an address was not written by a proxy, so
    it and earlier ones are ignored.
    """
    client = _UNKNOWN
    for hop in reversed(list(hops)):
        try:
            address = ip_address(hop.strip().partition("%")[0])
        except ValueError:
            break
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        client = _network(address)
        if not any(address in proxy for proxy in proxies):
            break
    return client


def _network(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Address(int(address) >> IPV6_PREFIX_LENGTH << IPV6_PREFIX_LENGTH))


def _hops(call: Call) -> list[str]:
    """Returns the addresses in `x-forwarded-for`, then that of the connection."""
    forwarded = [
        hop
        for name, value in call.metadata
        if name == FORWARDED_FOR
        for hop in str(value).split(",")
    ]
    peer = str(call.context.peer())
    if peer == _IN_PROCESS:
        return forwarded
    return [*forwarded, unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")]
