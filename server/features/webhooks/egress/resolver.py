"""Resolves the host names of webhooks, and rejects names with a blocked address.

A name that has both public and blocked addresses is rejected: otherwise repeated attempts would
reach the blocked one. Nothing is cached between connections, since the addresses can change.

The system's lookup blocks its thread until the name server responds, and cannot be canceled. So
lookups run in daemon threads, which do not delay the end of the process, one at a time per account
and name. An account has few threads, so that name servers that do not respond
delay only its own deliveries. An attempt does not count the wait for a thread.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from ipaddress import IPv4Address, ip_address
from threading import Thread
from weakref import WeakValueDictionary

from aiohttp.abc import AbstractResolver, ResolveResult

from ....rpc.caller import account_id_or_none
from .attempt_time import pause_attempt
from .policy import Address, EgressPolicy

Lookup = Callable[[str], Awaitable[Sequence[Address]]]

# Maximum concurrent lookups, in total and per account. Further ones wait.
MAX_LOOKUPS, MAX_LOOKUPS_PER_ACCOUNT = 64, 4
# How long an attempt waits for its lookup to start. A lease lasts longer than this and an attempt.
MAX_WAIT_SECONDS = 30.0
# Addresses per family that are tried. A name can have thousands, and a delivery must not
# become a network scan.
MAX_ADDRESSES = 2

_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


class LookupNotStarted(Exception):
    """Other lookups took so long that this one did not start. No attempt was made."""


class Resolver(AbstractResolver):
    """Returns the addresses of a name to aiohttp, unless one of them is blocked."""

    def __init__(self, egress_policy: EgressPolicy, lookup: Lookup) -> None:
        self._egress_policy = egress_policy
        self._lookup = lookup

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Returns some addresses of a name. Raises BlockedAddress if it has a blocked one."""
        del family  # aiohttp passes it by name; addresses of both families are used.
        addresses = await self._lookup(host)
        for address in addresses:
            self._egress_policy.check(address)
        return [_result(host, port, address) for address in _first(addresses)]

    async def close(self) -> None:
        """Does nothing: a resolver has no resources."""


class SystemLookup:
    """Looks names up with the system's resolver, which also reads /etc/hosts."""

    def __init__(
        self,
        max_lookups: int = MAX_LOOKUPS,
        max_per_account: int = MAX_LOOKUPS_PER_ACCOUNT,
        max_wait: float = MAX_WAIT_SECONDS,
    ) -> None:
        self._threads = asyncio.Semaphore(max_lookups)
        self._max_per_account, self._max_wait = max_per_account, max_wait
        self._threads_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._lookups: dict[tuple[str, str], asyncio.Task[list[Address]]] = {}

    async def __call__(self, host: str) -> list[Address]:
        """Returns all addresses of a name.

        Raises OSError if it has none, or LookupNotStarted.
        """
        account = account_id_or_none() or ""
        threads = self._threads_of.setdefault(account, asyncio.Semaphore(self._max_per_account))
        key = account, host
        if key not in self._lookups:
            with pause_attempt():
                await self._acquire(threads)
            if key in self._lookups:  # started by another attempt during the wait
                self._release(threads)
            else:
                task = self._lookups[key] = asyncio.create_task(_start(host))
                task.add_done_callback(lambda done: self._end(key, threads, done))
        return await asyncio.shield(self._lookups[key])

    async def _acquire(self, threads: asyncio.Semaphore) -> None:
        """Waits for a thread. Raises LookupNotStarted."""
        try:
            async with asyncio.timeout(self._max_wait):
                await threads.acquire()
                try:
                    await self._threads.acquire()
                except BaseException:
                    threads.release()
                    raise
        except TimeoutError:
            raise LookupNotStarted from None

    def _release(self, threads: asyncio.Semaphore) -> None:
        self._threads.release()
        threads.release()

    def _end(
        self, key: tuple[str, str], threads: asyncio.Semaphore, task: asyncio.Task[list[Address]]
    ) -> None:
        self._release(threads)
        del self._lookups[key]
        if not task.cancelled():
            # All callers may be canceled; asyncio logs a failure that is never retrieved.
            task.exception()


async def _start(host: str) -> list[Address]:
    future: Future[list[Address]] = Future()
    future.set_running_or_notify_cancel()
    Thread(target=_run_lookup, args=(host, future), name="webhook-lookup", daemon=True).start()
    return await asyncio.wrap_future(future)


def _run_lookup(host: str, future: Future[list[Address]]) -> None:
    try:
        future.set_result(_addresses(host))
    except Exception as error:  # noqa: BLE001 - raised in the caller
        future.set_exception(error)


def _addresses(host: str) -> list[Address]:
    # As bytes, so that Python does not apply its own IDNA encoding.
    results = socket.getaddrinfo(
        host.encode("ascii"), None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
    )
    return [ip_address(host) for *_, (host, *_) in results]


def _first(addresses: Sequence[Address]) -> list[Address]:
    """Returns at most MAX_ADDRESSES per family."""
    count: Counter[int] = Counter()
    first = []
    for address in addresses:
        count[address.version] += 1
        if count[address.version] <= MAX_ADDRESSES:
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
