"""The egress policy: webhooks can connect to public addresses and to allowed networks.

Webhook URLs come from tenants, and requests leave from inside the operator's network. So the
policy applies to the address of each connection, not to its host name. The tables follow
IANA's registries of special-purpose addresses. `is_global` of the standard library differs
between releases, and accepts forms that contain an IPv4 address, such as NAT64 and 6to4.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# The text that the owner of the webhook sees.
BLOCKED = "blocked address"

_DENIED_IPV4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network; most systems use it as loopback
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; metadata of a cloud provider
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # metadata of a cloud provider, on a public address
        "169.254.0.0/16",  # link-local; metadata of most cloud providers
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; metadata of a cloud provider
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112, sink for misdirected DNS queries
        "192.52.193.0/24",  # automatic multicast tunnels
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved; broadcast
    )
)
# All global unicast addresses. Loopback, private, link-local and multicast addresses are outside
# of it, and so are IPv4-mapped and IPv4-compatible addresses and the NAT64 prefixes.
_UNICAST = IPv6Network("2000::/3")
_DENIED_IPV6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments; Teredo, contains an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, contains an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)


class BlockedAddress(OSError):
    """The policy does not allow the address. The text is for the log."""

    def __init__(self, address: object) -> None:
        self.address = str(address)
        super().__init__(f"{BLOCKED} {address}")


class EgressPolicy:
    """The addresses that requests can connect to; `http` also allows URLs without TLS.

    An allowed network overrides the tables. An IPv4 network includes its IPv4-mapped IPv6
    addresses, which connect to the same host.
    """

    def __init__(self, allowed: Sequence[Network] = (), *, http: bool = False) -> None:
        self._allowed = tuple(allowed)
        self.http = http

    @property
    def is_wider(self) -> bool:
        """Whether any networks that are not public are allowed."""
        return bool(self._allowed)

    def allows(self, address: Address) -> bool:
        """Whether an address is allowed. One with a zone, such as fe80::1%eth0, never is."""
        if isinstance(address, IPv4Address):
            return self._in_allowed(address) or not _in(address, _DENIED_IPV4)
        if address.scope_id is not None:
            return False
        inner = address.ipv4_mapped
        if self._in_allowed(address) or (inner is not None and self._in_allowed(inner)):
            return True
        return address in _UNICAST and not _in(address, _DENIED_IPV6)

    def check(self, address: Address) -> None:
        """Raises BlockedAddress unless the address is allowed."""
        if not self.allows(address):
            raise BlockedAddress(address)

    def _in_allowed(self, address: Address) -> bool:
        return _in(address, self._allowed)


def _in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
