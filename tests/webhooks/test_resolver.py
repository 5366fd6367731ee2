"""Names into addresses, refused if any of them is blocked."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address, ip_network
from threading import Event

import pytest

from server.webhooks.egress.policy import BlockedAddress, EgressPolicy
from server.webhooks.egress.resolver import Resolver, SystemLookup

from .raw_receivers import lookup_returning, run


def resolved(*answer: str) -> list[str]:
    """Returns the addresses to try for a name with such an answer."""

    async def main() -> list[str]:
        found = await Resolver(EgressPolicy(), lookup_returning(answer)).resolve("example.com", 443)
        assert {location["port"] for location in found} == {443}
        return [location["host"] for location in found]

    return run(main())


def test_name_leads_to_its_addresses_in_their_order() -> None:
    assert resolved("2606:4700::1", "8.8.8.8") == ["2606:4700::1", "8.8.8.8"]


@pytest.mark.parametrize(
    "answer",
    [
        ["10.0.0.1"],
        ["8.8.8.8", "127.0.0.1"],
        ["8.8.8.8", "2606:4700::1", "::1"],
        ["8.8.8.8", "::ffff:8.8.8.8"],
        # Beyond the addresses that would be tried.
        [*(f"8.8.8.{last}" for last in range(200)), "169.254.169.254"],
    ],
    ids=["private", "mixed", "mixed-families", "mapped", "far-down"],
)
def test_name_with_any_blocked_address_is_refused(answer: list[str]) -> None:
    with pytest.raises(BlockedAddress):
        resolved(*answer)


def test_name_with_a_thousand_addresses_does_not_make_a_scan_of_them() -> None:
    many = [f"8.8.{third}.{last}" for third in range(8) for last in range(125)]

    assert resolved(*many, "2606:4700::1", "2606:4700::2", "2606:4700::3") == [
        "8.8.0.0",
        "8.8.0.1",
        "2606:4700::1",
        "2606:4700::2",
    ]


def test_system_knows_this_machine() -> None:
    assert ip_address("127.0.0.1") in run(asked("localhost"))


def test_system_look_up_tells_of_a_name_that_is_none() -> None:
    with pytest.raises(socket.gaierror):
        run(asked("no-such-host.invalid"))


async def asked(host: str) -> list[object]:
    return list(await SystemLookup()(host))


def test_name_has_one_look_up_at_a_time_and_whoever_gives_up_leaves_it_to_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = []
    answered = Event()

    def slow(host: bytes, *_: object, **__: object) -> list[object]:
        names.append(host)
        answered.wait(60)
        return [(socket.AF_INET, 1, 6, "", ("127.0.0.1", 0))]

    async def main() -> list[object]:
        lookup = SystemLookup()
        impatient, patient = (asyncio.create_task(lookup("slow.example")) for _ in range(2))
        await asyncio.sleep(0)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        answered.set()
        return list(await patient)

    monkeypatch.setattr(socket, "getaddrinfo", slow)

    assert run(main()) == [ip_address("127.0.0.1")]
    assert names == [b"slow.example"]


def test_name_servers_that_hang_hold_up_a_bounded_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = []
    full, answered = Event(), Event()

    def slow(host: bytes, *_: object, **__: object) -> list[object]:
        running.append(host)
        if len(running) == 3:
            full.set()
        answered.wait(60)
        return []

    async def main() -> None:
        lookup = SystemLookup(max_lookups=3)
        asking = [asyncio.create_task(lookup(f"{number}.example")) for number in range(9)]
        await asyncio.to_thread(full.wait)
        await asyncio.sleep(0.05)
        assert len(running) == 3
        answered.set()
        await asyncio.gather(*asking)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    run(main())

    assert len(running) == 9


def test_allowed_network_opens_names_that_lead_there() -> None:
    async def main() -> int:
        egress_policy = EgressPolicy([ip_network("10.0.0.0/8")])
        return len(
            await Resolver(egress_policy, lookup_returning(["10.0.0.1", "8.8.8.8"])).resolve(
                "example"
            )
        )

    assert run(main()) == 2
