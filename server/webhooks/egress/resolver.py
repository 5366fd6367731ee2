"""Names into addresses, for deliveries alone, and refused if any of the addresses is blocked.

A name whose addresses are partly public is refused as a whole: whoever mixes them wants
luck to choose. Nothing is kept from one connection to the next, since a name may lead
elsewhere by then.

The system's look-up blocks its thread for as long as a foreign name server likes, and
cannot be cancelled. So look-ups have threads of their own, which nothing else waits for;
a name has one at a time, however many deliveries ask for it; and a thread that still
waits does not hold up the end of the process.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from ipaddress import IPv4Address, ip_address
from threading import Thread

from aiohttp.abc import AbstractResolver, ResolveResult

from .policy import Address, EgressPolicy

Lookup = Callable[[str], Awaitable[Sequence[Address]]]

# How many names may be looked up at once; further ones wait.
MAX_LOOKUPS = 64
# How many addresses of a family are tried. A name may have thousands, and a delivery
# must not become a scan of somebody else's network.
MAX_ADDRESSES = 2

_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


class Resolver(AbstractResolver):
    """Gives aiohttp the addresses of a name, none of them blocked."""

    def __init__(self, egress_policy: EgressPolicy, lookup: Lookup) -> None:
        self._egress_policy = egress_policy
        self._lookup = lookup

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Returns some addresses of a name. Raises BlockedAddress if any of all is blocked."""
        addresses = await self._lookup(host)
        for address in addresses:
            self._egress_policy.check(address)
        return [_result(host, port, address) for address in _first(addresses)]

    async def close(self) -> None:
        """Has nothing to release."""


class SystemLookup:
    """Asks the system's resolver, with /etc/hosts and whatever else it reads."""

    def __init__(self) -> None:
        self._threads = asyncio.Semaphore(MAX_LOOKUPS)
        self._lookups: dict[str, asyncio.Task[list[Address]]] = {}

    async def __call__(self, host: str) -> list[Address]:
        """Returns every address of a name. Raises OSError if there is none."""
        task = self._lookups.get(host)
        if task is None:
            task = self._lookups[host] = asyncio.create_task(self._start(host))
            task.add_done_callback(lambda done: self._forget(host, done))
        return await asyncio.shield(task)

    async def _start(self, host: str) -> list[Address]:
        async with self._threads:
            future: Future[list[Address]] = Future()
            future.set_running_or_notify_cancel()
            Thread(
                target=_run_lookup, args=(host, future), name="webhook-look-up", daemon=True
            ).start()
            return await asyncio.wrap_future(future)

    def _forget(self, host: str, task: asyncio.Task[list[Address]]) -> None:
        del self._lookups[host]
        if not task.cancelled():
            # Everyone who asked may be gone; then nobody else would take note of a failure.
            task.exception()


def _run_lookup(host: str, future: Future[list[Address]]) -> None:
    try:
        future.set_result(_addresses(host))
    except Exception as error:  # noqa: BLE001 - told to whoever asked
        future.set_exception(error)


def _addresses(host: str) -> list[Address]:
    # As bytes, so that Python does not put the name through its own reading of IDNA.
    results = socket.getaddrinfo(
        host.encode("ascii"), None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
    )
    return [ip_address(place[0]) for *_, place in results]


def _first(addresses: Sequence[Address]) -> list[Address]:
    leased = {4: 0, 6: 0}
    first = []
    for address in addresses:
        leased[address.version] += 1
        if leased[address.version] <= MAX_ADDRESSES:
            first.append(address)
    return first


def _result(host: str, port: int, address: Address) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6,
        proto=0,
        flags=_NUMERIC,
    )
