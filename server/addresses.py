"""Where to listen, whom to call, and whether what is sent there stays on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple

from .config import SETTINGS, TRUE, SettingError

_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:/,\[\]]+):([0-9]{1,5})")
# What stands before the places of an upstream: nothing, dns: with or without a server to
# ask, or ipv4: and ipv6:, which alone may be followed by several.
_SCHEME = re.compile(r"(dns:(?://[^/]*/)?|ipv[46]:)?")
_PLAINTEXT = "dangerously_in_plaintext"


class Address(NamedTuple):
    """A place on the network."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine can be there."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(name: str, text: str) -> Address:
    """Returns HOST:PORT as an address. Raises SettingError."""
    address = _address(text)
    if address is None:
        raise SettingError(f"{SETTINGS[name].environment} must be HOST:PORT and is {text!r}.")
    return address


def _address(text: str) -> Address | None:
    match = _PLACE.fullmatch(text)
    if match is None or int(match[2]) > 65_535:
        return None
    return Address(match[1].strip("[]"), int(match[2]))


class Upstream(NamedTuple):
    """The servers behind a gateway: what gRPC finds them by, and the places that it names."""

    target: str
    addresses: tuple[Address, ...]


def parse_upstream(text: str) -> Upstream:
    """Returns the servers that a text names. Raises SettingError."""
    match = _SCHEME.match(text)
    scheme = match[0] if match else ""
    places = [_address(place) for place in text[len(scheme) :].split(",")]
    addresses = tuple(place for place in places if place is not None and place.port)
    several = len(places) > 1 and not scheme.startswith("ipv")
    if len(addresses) < len(places) or several:
        raise SettingError(
            f"{SETTINGS['upstream'].environment} must be HOST:PORT, dns:///HOST:PORT or"
            f" ipv4:HOST:PORT,HOST:PORT and is {text!r}."
        )
    return Upstream(text if scheme else f"dns:///{text}", addresses)


def check_plaintext(
    name: str, addresses: Iterable[Address], remedy: str, what: str = "API keys", *, risk: bool
) -> None:
    """Raises SettingError unless what is sent to addresses without TLS stays on this machine.

    `remedy` is the setting that would encrypt, `what` could be read on the way, and `risk` is
    whether the operator accepts that.
    """
    far = [str(address) for address in addresses if not address.is_loopback]
    if far and not risk:
        raise SettingError(
            f"{SETTINGS[name].environment} leads beyond this machine ({far[0]}), where everyone on"
            f" the way could read {what}. Set {SETTINGS[remedy].environment} for TLS, or"
            f" {SETTINGS[_PLAINTEXT].environment}={TRUE}."
        )
