"""What a delivery may connect to: public addresses, and networks that the operator allows.

Webhook URLs come from tenants, and a delivery leaves from inside the operator's
network; so an address is judged where it is connected to, whatever name led there.
The tables follow IANA's registries of special-purpose addresses. They are kept here
because `is_global` of the standard library differs between its releases, and lets
pass several forms that lead back to an IPv4 address, such as NAT64 and 6to4.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# What the one who owns a webhook is told, wherever the address was found out.
BLOCKED = "blocked address"

_DENIED_IPV4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network; most systems take it for loopback
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by a carrier's customers; a cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's metadata, on an address that looks public
        "169.254.0.0/16",  # link-local; the metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; a cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112, where misdirected questions to DNS end
        "192.52.193.0/24",  # automatic multicast tunnels
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # measuring of networks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# All that is handed out on the Internet. Outside of it lie loopback, private and
# link-local addresses, multicast, and an IPv4 address mapped, compatible or behind
# the NAT64 prefixes 64:ff9b::/96 and 64:ff9b:1::/48.
_UNICAST = IPv6Network("2000::/3")
_DENIED_IPV6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments; Teredo, which holds an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which holds an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)


class BlockedAddress(OSError):
    """An address that must not be connected to. The text is for the log."""

    def __init__(self, address: object) -> None:
        self.address = str(address)
        super().__init__(f"{BLOCKED} {address}")


class EgressPolicy:
    """Which addresses a delivery may connect to, and whether it may do without TLS.

    An allowed network wins over the tables; one of IPv4 also covers its addresses
    in the form ::ffff:0:0/96, which connects to the same place.
    """

    def __init__(self, allowed: Sequence[Network] = (), *, http: bool = False) -> None:
        self._allowed = tuple(allowed)
        self.http = http

    @property
    def is_wider(self) -> bool:
        """Whether more than what is public is allowed."""
        return bool(self._allowed)

    def allows(self, address: Address) -> bool:
        """Whether the address may be connected to. One with a zone, fe80::1%eth0, never."""
        if isinstance(address, IPv4Address):
            return self._has(address) or not _in(address, _DENIED_IPV4)
        if address.scope_id is not None:
            return False
        inner = address.ipv4_mapped
        if self._has(address) or (inner is not None and self._has(inner)):
            return True
        return address in _UNICAST and not _in(address, _DENIED_IPV6)

    def check(self, address: Address) -> None:
        """Raises BlockedAddress unless the address may be connected to."""
        if not self.allows(address):
            raise BlockedAddress(address)

    def _has(self, address: Address) -> bool:
        return _in(address, self._allowed)


def _in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
