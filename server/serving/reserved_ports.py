"""Checks ports before anything starts, and reserves ports that several processes share."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from errno import EADDRINUSE

from ..config import SETTINGS
from ..values.addresses import Address, PortInUse
from .options import ObservabilityOptions

log = logging.getLogger(__name__)

_METRICS_SETTING = "metrics_address"


def check_ports(
    addresses: Mapping[str, Address], observability: ObservabilityOptions
) -> ObservabilityOptions:
    """Checks that the process can listen on all addresses; `addresses` maps settings to addresses.

    Raises PortInUse, which names all addresses in use. If only the default address of the metrics
    is in use, logs a warning and returns options without metrics.
    """
    metrics = {_METRICS_SETTING: observability.address} if observability.address else {}
    settings: dict[Address, str] = {}
    errors: dict[str, str] = {}
    for name, address in {**addresses, **metrics}.items():
        first = settings.setdefault(address, name)
        if first != name and address.port:
            errors[name] = _message(
                name, address, f"{SETTINGS[first].environment} is the same address"
            )
            continue
        try:
            _try_to_bind(address)
        except OSError as error:
            errors[name] = _message(name, address, (error.strerror or str(error)).lower())
    if errors.keys() == {_METRICS_SETTING} and not observability.address_is_set:
        log.warning("Metrics are not served. %s", errors[_METRICS_SETTING])
        return replace(observability, address=None)
    if errors:
        raise PortInUse(" ".join(errors.values()))
    return observability


def port_in_use(name: str, address: Address) -> PortInUse:
    """Returns the error for an address that was free in `check_ports` but is in use now."""
    return PortInUse(_message(name, address, "another program probably listens there"))


def _message(name: str, address: Address, reason: str) -> str:
    setting = SETTINGS[name]
    return (
        f"Cannot listen on {address} ({reason}); choose another address with"
        f" {setting.environment} or {setting.flag}."
    )


def _try_to_bind(address: Address) -> None:
    """Raises OSError if any address of a host name is in use, or if none can be bound."""
    failure: OSError | None = None
    bound = False
    for family, kind, protocol, _, socket_address in socket.getaddrinfo(
        *address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        try:
            with _socket(family, kind, protocol) as probe:
                probe.bind(socket_address)
            bound = True
        except OSError as error:
            if error.errno == EADDRINUSE:
                raise
            failure = error
    if failure is not None and not bound:
        raise failure


@contextmanager
def reserved(name: str, address: Address) -> Iterator[Address]:
    """Reserves a port while processes listen on it; port 0 selects a free one. Raises PortInUse.

    The reservation is a bound socket that does not listen, so it gets no connections. It has
    SO_REUSEPORT, which would also share the port of another program. So the port is first bound
    without that option.
    """
    try:
        (family, kind, protocol, _, socket_address), *_ = socket.getaddrinfo(
            *address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        with _socket(family, kind, protocol) as probe:
            probe.bind(socket_address)
            socket_address = probe.getsockname()
        reservation = _socket(family, kind, protocol)
    except OSError as error:
        raise port_in_use(name, address) from error
    with reservation:
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            reservation.bind(socket_address)
        except OSError as error:
            raise port_in_use(name, address) from error
        yield address._replace(port=socket_address[1])


def _socket(family: int, kind: int, protocol: int) -> socket.socket:
    """Returns a socket that can be bound while connections of an earlier run linger."""
    result = socket.socket(family, kind, protocol)
    result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return result
