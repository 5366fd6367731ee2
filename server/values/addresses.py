"""Network addresses to listen on and to connect to."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import NamedTuple

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:/,\[\]]+):([0-9]{1,5})")
# Schemes of gRPC name resolution: none, dns: with or without a DNS server, or ipv4: and ipv6:,
# which alone allow several addresses.
_SCHEME = re.compile(r"(dns:(?://[^/]*/)?|ipv[46]:)?")


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(text: str) -> Address:
    """Parses HOST:PORT. Raises ValueError."""
    address = _address(text)
    if address is None:
        raise ValueError(f"must be HOST:PORT, not {text!r}.")
    return address


def _address(text: str) -> Address | None:
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match[2]) > 65_535:
        return None
    return Address(match[1].strip("[]"), int(match[2]))


def normal_ip(text: str) -> str | None:
    """Returns an IP address in its shortest form, or None if the text is not one without a zone."""
    try:
        # The zone of an IPv6 address can be any text.
        return None if "%" in text else str(ip_address(text))
    except ValueError:
        return None


class PortInUse(Exception):
    """Addresses cannot be listened on. The message names their settings and the reasons."""


class Upstream(NamedTuple):
    """The servers of a gateway: the target for gRPC, and the addresses in it."""

    target: str
    addresses: tuple[Address, ...]


def parse_upstream(text: str) -> Upstream:
    """Parses a gRPC target. Raises ValueError."""
    match = _SCHEME.match(text)
    scheme = match[0] if match else ""
    parts = [_address(part) for part in text[len(scheme) :].split(",")]
    addresses = tuple(part for part in parts if part is not None and part.port)
    several = len(parts) > 1 and not scheme.startswith("ipv")
    if len(addresses) < len(parts) or several:
        raise ValueError(
            f"must be HOST:PORT, dns:///HOST:PORT or ipv4:HOST:PORT,HOST:PORT, not {text!r}."
        )
    return Upstream(text if scheme else f"dns:///{text}", addresses)
