"""Tests DNS lookups: names with a blocked address are rejected, and lookups are limited."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from threading import Event

import pytest

from rosterd.server.features.webhooks.egress.client import Client
from rosterd.server.features.webhooks.egress.outcome import Outcome
from rosterd.server.features.webhooks.egress.policy import BlockedAddress, EgressPolicy
from rosterd.server.features.webhooks.egress.resolver import (
    LookupNotStarted,
    Resolver,
    SystemLookup,
)
from rosterd.server.rpc import caller

from .raw_receivers import EGRESS_POLICY, PUBLIC, lookup_returning, ok, running_receiver


async def resolve(*addresses: str) -> list[str]:
    """Returns the addresses that are tried for a name with these addresses."""
    resolver = Resolver(EgressPolicy(), lookup_returning(addresses))
    return [result["host"] for result in await resolver.resolve("example.com", 443)]


async def test_name_is_rejected_for_a_blocked_address_behind_those_that_would_be_tried() -> None:
    with pytest.raises(BlockedAddress):
        await resolve(*(f"8.8.8.{last}" for last in range(200)), "169.254.169.254")


async def test_only_the_first_two_addresses_of_each_family_are_tried() -> None:
    many = [f"8.8.{third}.{last}" for third in range(8) for last in range(125)]

    assert await resolve("2606:4700::1", *many, "2606:4700::2", "2606:4700::3") == [
        "2606:4700::1",
        "8.8.0.0",
        "8.8.0.1",
        "2606:4700::2",
    ]


async def test_callers_share_the_lookup_of_a_name_and_can_be_canceled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = []
    released = Event()

    def slow(host: bytes, *_: object, **__: object) -> list[object]:
        names.append(host)
        released.wait(60)
        return [(socket.AF_INET, 1, 6, "", ("127.0.0.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    lookup = SystemLookup()
    canceled, other = (asyncio.create_task(lookup("slow.example")) for _ in range(2))
    await asyncio.sleep(0)
    canceled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await canceled
    released.set()

    assert await other == [ip_address("127.0.0.1")]
    assert names == [b"slow.example"]


async def test_number_of_lookup_threads_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    running = []
    full, released = Event(), Event()

    def slow(host: bytes, *_: object, **__: object) -> list[object]:
        running.append(host)
        if len(running) == 3:
            full.set()
        released.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    lookup = SystemLookup(max_lookups=3, max_per_account=9)
    lookups = [asyncio.create_task(lookup(f"{number}.example")) for number in range(9)]
    await asyncio.to_thread(full.wait)
    await asyncio.sleep(0.05)
    assert len(running) == 3
    released.set()
    await asyncio.gather(*lookups)

    assert len(running) == 9


async def test_names_on_a_silent_name_server_delay_only_their_account_and_count_no_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An account's names never get an answer; 80 of them are looked up at once."""
    released = Event()

    def silent(host: bytes, *_: object, **__: object) -> list[object]:
        if host.endswith(b".silent.example"):
            released.wait(60)
            raise socket.gaierror
        return [(socket.AF_INET, 1, 6, "", (PUBLIC, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    lookup = SystemLookup(max_wait=2.0)
    async with (
        running_receiver(ok) as receiver,
        Client(EGRESS_POLICY, seconds=0.2, lookup=lookup) as client,
    ):

        async def post(account: str, host: str) -> object:
            caller.enter_account(account)
            try:
                return await client.post(f"http://{host}:{receiver.port}/hook", b"{}", {})
            except LookupNotStarted as error:
                return error

        hostile = [
            asyncio.create_task(post("hostile", f"{number}.silent.example")) for number in range(80)
        ]
        await asyncio.sleep(0)
        others = await asyncio.gather(*[post(f"other {n}", "hooks.example") for n in range(9)])
        outcomes = [type(each) for each in await asyncio.gather(*hostile)]
        released.set()

    assert [each.error for each in others if isinstance(each, Outcome)] == [""] * 9
    assert outcomes.count(Outcome) == 4
    assert outcomes.count(LookupNotStarted) == 76
