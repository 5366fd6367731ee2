"""Reports the state of the process to systemd, for a unit with `Type=notify`."""

from __future__ import annotations

import logging
import os
import socket

log = logging.getLogger(__name__)

READY, STOPPING = "READY=1", "STOPPING=1"
# The address of the service manager; not set without one.
NOTIFY_SOCKET = "NOTIFY_SOCKET"


def notify(state: str) -> None:
    """Sends a state to the service manager, if one started this process (see sd_notify(3))."""
    address = os.environ.get(NOTIFY_SOCKET)
    if not address:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"  # in the abstract namespace
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(state.encode(), address)
    except OSError as error:
        log.warning("the service manager could not be notified: %s", error)
