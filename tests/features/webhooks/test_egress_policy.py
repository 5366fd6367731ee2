"""Tests which addresses webhook requests can connect to."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.features.webhooks.egress.policy import Address, EgressPolicy

from ...cases import each

# IANA's registries of special-purpose addresses, and other networks without receivers.
SPECIAL = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32"),
    *("169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24"),
    *("192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24"),
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    *("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48"),
    *("100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16"),
    *("2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10"),
    *("fec0::/10", "ff00::/8"),
]
# Public addresses, also next to special networks.
PUBLIC = [
    *("1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"),
    *("126.255.255.255", "128.0.0.0", "168.63.129.15", "168.63.129.17", "169.253.255.255"),
    *("169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0"),
    *("192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"),
    *("2000::", "2001:200::", "2001:4860:4860::8888", "2001:db7:ffff::", "2001:db9::"),
    *("2001:ffff::", "2003::", "3ffe::", "3fff:1000::"),
]

addresses = st.one_of(
    st.ip_addresses(), st.sampled_from(SPECIAL).flatmap(lambda text: st.ip_addresses(network=text))
)


@each("text", SPECIAL)
def test_special_network_is_denied_from_its_first_address_to_its_last(text: str) -> None:
    network = ip_network(text)

    assert not EgressPolicy().allows(network[0])
    assert not EgressPolicy().allows(network[-1])


@each("text", PUBLIC)
def test_public_address_is_allowed(text: str) -> None:
    assert EgressPolicy().allows(ip_address(text))


@given(addresses)
def test_address_that_the_standard_library_does_not_call_global_is_denied(address: Address) -> None:
    special = address.is_multicast or address.is_reserved or not address.is_global

    assert not (special and EgressPolicy().allows(address))


@given(st.ip_addresses(v=4))
def test_every_ipv6_form_of_an_ipv4_address_is_denied(address: Address) -> None:
    inner = int(address)
    forms = (
        inner,  # compatible
        0xFFFF << 32 | inner,  # mapped
        0xFFFF << 48 | inner,  # translated
        0x64_FF9B << 96 | inner,  # NAT64
        0x64_FF9B_0001 << 80 | inner,  # local-use NAT64
        0x2002 << 112 | inner << 80,  # 6to4
        0x2001_0000 << 96 | inner << 64,  # Teredo, its server
        0x2001_0000 << 96 | inner ^ 0xFFFF_FFFF,  # Teredo, its client
    )

    assert not [form for form in forms if EgressPolicy().allows(ip_address(form.to_bytes(16)))]


@each("text", ["fe80::1%eth0", "2606:4700:4700::1111%eth0"])
def test_address_with_a_zone_is_never_allowed(text: str) -> None:
    assert not EgressPolicy([ip_network("::/0")]).allows(ip_address(text))


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("::10.1.2.3", False),
        ("64:ff9b::10.1.2.3", False),
        ("10.2.0.0", False),
        ("::ffff:10.2.0.0", False),
        ("fd00::1", True),
        ("fd01::1", False),
        ("8.8.8.8", True),
    ],
)
def test_allowed_network_overrides_the_tables(text: str, *, allowed: bool) -> None:
    egress_policy = EgressPolicy([ip_network("10.1.0.0/16"), ip_network("fd00::/16")])

    assert egress_policy.allows(ip_address(text)) is allowed
