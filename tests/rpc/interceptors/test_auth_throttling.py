"""Tests the limit of failed authentication attempts per client address."""

from __future__ import annotations

from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest

from rosterd.server.config import Rate, SettingError, Settings
from rosterd.server.rpc.errors import TooManyInvalidKeys, Unauthorized
from rosterd.server.rpc.interceptors.auth_throttling import AuthThrottle
from rosterd.server.rpc.interceptors.client_address import (
    client_address,
    client_address_of,
    network,
)

from .clock import Clock

PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def address_of(peer: str, *forwarded_for: str) -> str:
    """Returns the client address of a call with this peer and header."""
    forwarded = [("x-forwarded-for", hops) for hops in forwarded_for]
    call: Any = SimpleNamespace(
        metadata=[("authorization", "Bearer x"), *forwarded],
        context=SimpleNamespace(peer=lambda: peer),
    )
    return client_address_of(call, PROXIES)


def failures(throttle: AuthThrottle, address: str, count: int) -> list[type]:
    return [type(throttle.record_failure(address, Unauthorized())) for _ in range(count)]


@pytest.mark.parametrize(
    ("hops", "address"),
    [
        (["203.0.113.7"], "203.0.113.7"),
        (["198.51.100.1", " 10.0.0.1"], "198.51.100.1"),
        (["192.0.2.1", "198.51.100.1", "10.0.0.2", "10.0.0.1"], "198.51.100.1"),
        (["nonsense", "10.0.0.1"], "10.0.0.1"),
        (["10.0.0.3", "10.0.0.1"], "10.0.0.3"),
        (["2001:db8:1:2:ffff::1", "fd00::1"], "2001:db8:1:2::"),
        (["::ffff:198.51.100.1"], "198.51.100.1"),
        (["fe80::1%eth0"], "fe80::"),
        (["192.0.2.1", "198.51.100.1:1234", "10.0.0.1:443"], "198.51.100.1"),
        (["[2001:db8:1:2::1]:1234", "10.0.0.1"], "2001:db8:1:2::"),
        (["198.51.100.1:port", "10.0.0.1"], "10.0.0.1"),
        ([], ""),
    ],
)
def test_client_network_is_that_of_the_last_hop_that_is_not_a_proxy(
    hops: list[str], address: str
) -> None:
    assert network(client_address(",".join(hops), "in-process", PROXIES)) == address


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:198.51.100.1:4242", "198.51.100.1"),
        ("ipv6:%5B2001:db8::1%5D:4242", "2001:db8::1"),
        ("ipv6:[2001:db8::1]:4242", "2001:db8::1"),
    ],
)
def test_grpc_call_has_the_address_of_its_connection(peer: str, address: str) -> None:
    assert address_of(peer) == address_of("in-process", address) == address


def test_failures_beyond_the_limit_are_rejected_until_the_bucket_refills() -> None:
    clock = Clock()
    throttle = AuthThrottle(Rate(3, 60), clock)
    address = "203.0.113.7"

    assert failures(throttle, address, 4) == [Unauthorized] * 3 + [TooManyInvalidKeys]
    with pytest.raises(TooManyInvalidKeys) as raised:
        throttle.check(address)
    assert raised.value.retry_after == 20

    clock.sleep(20)
    throttle.check(address)
    assert failures(throttle, address, 2) == [Unauthorized, TooManyInvalidKeys]


def test_forwarded_address_from_an_untrusted_client_is_ignored() -> None:
    assert address_of("in-process", "198.51.100.1,203.0.113.7") == "203.0.113.7"
    assert address_of("ipv4:203.0.113.7:1", "198.51.100.9") == "203.0.113.7"
    assert address_of("ipv4:10.0.0.1:1", "198.51.100.9") == "198.51.100.9"


@pytest.mark.parametrize("text", ["10.0.0.1/8", "gateway.internal", "10.0.0.0/33", "*"])
def test_trusted_proxy_must_be_a_network(text: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_TRUSTED_PROXIES"):
        Settings.trusted_proxies.parse(text)


def test_trusted_proxies_are_separated_by_commas() -> None:
    parse_trusted_proxies = Settings.trusted_proxies.parse

    assert parse_trusted_proxies("10.0.0.0/8, ::1") == (ip_network("10.0.0.0/8"), ip_network("::1"))
    assert parse_trusted_proxies("off") == ()
