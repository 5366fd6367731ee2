"""Ports that several processes are to share, kept for them by the one that starts them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ...addresses import Address
from ...config import SETTINGS


class PortInUse(Exception):
    """An address cannot be listened on; the text says which and why."""


def port_in_use(name: str, address: Address) -> PortInUse:
    """Returns the error of an address that a setting names."""
    return PortInUse(
        f"{address} cannot be listened on, most likely because another program does so."
        f" Choose another address with {SETTINGS[name].environment} or {SETTINGS[name].flag}."
    )


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
