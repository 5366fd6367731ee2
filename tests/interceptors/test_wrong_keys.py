"""Wrong keys: whom they are laid to, and from when on they are told to come later."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from server.config import Rate, SettingError, parse_trusted_proxies
from server.errors import TooManyFailedAttempts, Unauthorized
from server.interceptors import auth_throttling
from server.interceptors.auth_throttling import AuthThrottle, origin
from server.interceptors.rate_limit import NANOSECONDS

PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


class Call:
    """What is known of a call's way."""

    def __init__(self, peer: str, *said: str) -> None:
        self._peer, self._said = peer, said

    def peer(self) -> str:
        return self._peer

    def invocation_metadata(self) -> Any:
        return [("authorization", "Bearer x"), *(("x-forwarded-for", each) for each in self._said)]


def through_the_gateway(*hops: str) -> Any:
    return Call("in-process", ",".join(hops))


def guesses(keys: AuthThrottle, call: Any, count: int) -> list[type]:
    return [type(keys.error_response(call)) for _ in range(count)]


@pytest.mark.parametrize(
    ("hops", "found"),
    [
        (["203.0.113.7"], "203.0.113.7"),
        (["198.51.100.1", "203.0.113.7"], "203.0.113.7"),
        (["198.51.100.1", " 10.0.0.1"], "198.51.100.1"),
        (["192.0.2.1", "198.51.100.1", "10.0.0.2", "10.0.0.1"], "198.51.100.1"),
        (["nonsense", "10.0.0.1"], "10.0.0.1"),
        (["10.0.0.3", "10.0.0.1"], "10.0.0.3"),
        (["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::"),
        (["2001:db8:1:2:ffff::1", "fd00::1"], "2001:db8:1:2::"),
        (["::ffff:198.51.100.1"], "198.51.100.1"),
        (["fe80::1%eth0"], "fe80::"),
        ([], ""),
        ([""], ""),
    ],
)
def test_origin_is_the_last_hop_that_no_proxy_is(hops: list[str], found: str) -> None:
    assert origin(hops, PROXIES) == found


@pytest.mark.parametrize(
    ("peer", "known"),
    [
        ("ipv4:198.51.100.1:4242", "198.51.100.1"),
        ("ipv6:%5B2001:db8::1%5D:4242", "2001:db8::1"),
        ("ipv6:[2001:db8::1]:4242", "2001:db8::1"),
    ],
)
def test_peer_of_a_call_over_grpc_is_known_by_its_address(peer: str, known: str) -> None:
    keys = AuthThrottle(rate=Rate(1, 60))
    keys.error_response(Call(peer))  # type: ignore[arg-type]

    with pytest.raises(TooManyFailedAttempts):
        keys.check(through_the_gateway(known))


def test_guesses_beyond_the_limit_are_told_to_come_later() -> None:
    now = [10**9 * NANOSECONDS]
    keys = AuthThrottle(rate=Rate(3, 60), clock=lambda: now[0])
    call = through_the_gateway("203.0.113.7")

    assert guesses(keys, call, 4) == [Unauthorized] * 3 + [TooManyFailedAttempts]
    with pytest.raises(TooManyFailedAttempts) as refused:
        keys.check(call)
    assert refused.value.retry_after == 20

    now[0] += 20 * NANOSECONDS
    keys.check(call)
    assert guesses(keys, call, 2) == [Unauthorized, TooManyFailedAttempts]


def test_what_strangers_say_of_their_way_neither_helps_them_nor_hurts_others() -> None:
    keys = AuthThrottle(PROXIES, Rate(3, 60))
    spoofed = [through_the_gateway(f"198.51.100.{n}", "203.0.113.7") for n in range(4)]

    assert [type(keys.error_response(call)) for call in spoofed] == [Unauthorized] * 3 + [
        TooManyFailedAttempts
    ]
    keys.check(through_the_gateway("198.51.100.0"))
    over_grpc: Any = Call("ipv4:203.0.113.7:1", "198.51.100.9")
    with pytest.raises(TooManyFailedAttempts):
        keys.check(over_grpc)


def test_clients_of_a_proxy_that_is_trusted_have_a_limit_each() -> None:
    keys = AuthThrottle(PROXIES, Rate(2, 60))

    assert guesses(keys, Call("ipv4:10.0.0.1:1", "198.51.100.1"), 3)[-1] is TooManyFailedAttempts
    assert guesses(keys, Call("ipv4:10.0.0.1:1", "198.51.100.2"), 2)[-1] is Unauthorized


def test_addresses_beyond_so_many_share_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth_throttling, "MAX_ADDRESSES", 2)
    keys = AuthThrottle(rate=Rate(2, 60))

    told = [type(keys.error_response(through_the_gateway(f"198.51.100.{n}"))) for n in range(6)]

    assert told == [Unauthorized] * 4 + [TooManyFailedAttempts] * 2


@pytest.mark.parametrize("text", ["10.0.0.1/8", "gateway.internal", "10.0.0.0/33", "*"])
def test_what_is_no_network_is_refused_as_a_trusted_proxy(text: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_TRUSTED_PROXIES"):
        parse_trusted_proxies(text)


def test_trusted_proxies_are_separated_by_commas() -> None:
    assert parse_trusted_proxies("10.0.0.0/8, ::1") == (ip_network("10.0.0.0/8"), ip_network("::1"))
    assert parse_trusted_proxies("") == ()
