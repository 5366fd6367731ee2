"""Ports: checked before anything is started, and reserved where several processes share them."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from errno import EADDRINUSE

from ..addresses import Address
from ..config import SETTINGS
from .observability_options import ObservabilityOptions

log = logging.getLogger(__name__)

METRICS = "metrics_address"


class PortInUse(Exception):
    """Addresses cannot be listened on; the text says which and why."""


def check_ports(
    addresses: Mapping[str, Address], watch: ObservabilityOptions
) -> ObservabilityOptions:
    """Checks that every address can be listened on; `addresses` are those of calls, by setting.

    Raises PortInUse, which names all that cannot. Metrics are optional if their address is the
    default: if only that one is in use, this logs a warning and returns options without metrics.
    """
    wanted = {**addresses, METRICS: watch.address} if watch.address else dict(addresses)
    settings: dict[Address, str] = {}
    faults: dict[str, str] = {}
    for name, address in wanted.items():
        first = settings.setdefault(address, name)
        if first != name and address.port:
            faults[name] = _fault(name, address, f"{SETTINGS[first].environment} has it too")
            continue
        try:
            _try_to_bind(address)
        except OSError as error:
            faults[name] = _fault(name, address, (error.strerror or str(error)).lower())
    if faults.keys() == {METRICS} and not watch.address_is_set:
        log.warning("Metrics are not served. %s", faults[METRICS])
        return replace(watch, address=None)
    if faults:
        raise PortInUse(" ".join(faults.values()))
    return watch


def port_in_use(name: str, address: Address) -> PortInUse:
    """Returns the error of an address, which a setting names, that was free a moment ago."""
    return PortInUse(_fault(name, address, "another program probably listens there"))


def _fault(name: str, address: Address, reason: str) -> str:
    setting = SETTINGS[name]
    return (
        f"Cannot listen on {address} ({reason}); choose another address with"
        f" {setting.environment} or {setting.flag}."
    )


def _try_to_bind(address: Address) -> None:
    """Raises OSError if one of the addresses of a name is in use, or none can be bound."""
    failure: OSError | None = None
    bound = False
    for family, kind, protocol, _, place in socket.getaddrinfo(
        *address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        try:
            with _socket(family, kind, protocol) as alone:
                alone.bind(place)
            bound = True
        except OSError as error:
            if error.errno == EADDRINUSE:
                raise
            failure = error
    if failure is not None and not bound:
        raise failure


@contextmanager
def reserved(name: str, address: Address) -> Iterator[Address]:
    """Keeps a port, a free one for 0, while others listen on it. Raises PortInUse.

    What is bound and does not listen gets no connections. Who shares a port cannot see
    whether strangers do so too; so it is bound once for this process alone before.
    """
    try:
        (family, kind, protocol, _, place), *_ = socket.getaddrinfo(
            *address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        with _socket(family, kind, protocol) as alone:
            alone.bind(place)
            place = alone.getsockname()
        kept = _socket(family, kind, protocol)
    except OSError as error:
        raise port_in_use(name, address) from error
    with kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            kept.bind(place)
        except OSError as error:
            raise port_in_use(name, address) from error
        yield address._replace(port=place[1])


def _socket(family: int, kind: int, protocol: int) -> socket.socket:
    """Returns a socket to which connections of an earlier run that linger do not matter."""
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made
