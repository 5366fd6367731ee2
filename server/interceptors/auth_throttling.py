"""How often an address may come with a wrong key, or with none.

A key cannot be guessed, but each guess costs a look into the database. So an address has
a bucket of guesses, as an account has one of calls; each call that is refused for its key
takes one. Where the bucket is empty, calls from there are told to come later, and a key
that nobody here knows is not looked up. A key that was good before in this process is
looked up all the same: whoever shares an address with a guesser is not shut out.

Who calls is whoever opened the connection. What a call says itself of the way that it
came (`x-forwarded-for`, each hop adding whom it has seen) is believed as far as it was
said by proxies that the operator named; else anybody could have a fresh bucket with each
call, or empty that of somebody else.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import unquote

from ..config import Network, Rate
from ..errors import TooManyFailedAttempts, Unauthorized
from ..messages import Context
from .rate_limit import Buckets, MonotonicClock

# So many wrong keys an address may send within so many seconds.
RATE = Rate(300, 60)
# Addresses with a bucket of their own in such a window; any more share one, and fill no memory.
MAX_ADDRESSES = 10_000
# Of an IPv6 address, so many bits tell one network from another; the rest is free to its owner.
NETWORK_BITS = 64

FORWARDED_FOR = "x-forwarded-for"
# What the channel within a process says its peer is. Nobody else can.
_IN_PROCESS = "in-process"
_NOWHERE = ""


class AuthThrottle:
    """The buckets of all addresses. `proxies` are the networks whose word is believed."""

    def __init__(
        self,
        proxies: Sequence[Network] = (),
        rate: Rate = RATE,
        clock: MonotonicClock = time.monotonic_ns,
    ) -> None:
        self._proxies = proxies
        self._buckets = Buckets(rate, clock)

    def check(self, context: Context) -> None:
        """Raises TooManyFailedAttempts if too many came from where a call comes from."""
        seconds = self._buckets.wait(self._place(context))
        if seconds:
            raise TooManyFailedAttempts(seconds)

    def error_response(self, context: Context) -> Unauthorized | TooManyFailedAttempts:
        """Notes a call that is refused for its key, and returns what it is told."""
        turn = self._buckets.take(self._place(context))
        return Unauthorized() if turn.allowed else TooManyFailedAttempts(turn.seconds)

    def _place(self, context: Context) -> str:
        place = origin(_hops(context), self._proxies)
        return place if self._buckets.used < MAX_ADDRESSES else _NOWHERE


def origin(hops: Iterable[str], proxies: Sequence[Network]) -> str:
    """Returns whence a call comes: the last of its hops that no proxy is, or the first of all.

    For IPv6 it is the network. What is no address was not written by a proxy; it ends the search.
    """
    found = _NOWHERE
    for hop in reversed(list(hops)):
        try:
            address = ip_address(hop.strip().partition("%")[0])
        except ValueError:
            break
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        found = _network(address)
        if not any(address in proxy for proxy in proxies):
            break
    return found


def _network(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Address(int(address) >> NETWORK_BITS << NETWORK_BITS))


def _hops(context: Context) -> list[str]:
    """Returns the hops that a call says it has made, and who has handed it over here."""
    said = [
        hop
        for name, value in context.invocation_metadata() or ()
        if name == FORWARDED_FOR
        for hop in str(value).split(",")
    ]
    peer = str(context.peer())
    if peer == _IN_PROCESS:
        return said
    return [*said, unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")]
