"""Signals of a process that serves.

SIGTERM and SIGINT stop it: what runs is finished first. One event often arrives as several
signals: `timeout` signals its child and then the whole process group, Ctrl-C reaches every
process of the group, `make` and shells pass signals on. So a repeat within a second of the
first signal is ignored; a later one ends the process at once.

SIGHUP has two meanings. In a process with a controlling terminal it means that the terminal was
closed, and stops the process like SIGTERM; a repeat never ends it at once. Without one, as
under a service manager, in a container or after `setsid`, it reloads the TLS certificates.
A process that was started with SIGHUP ignored, as by `nohup`, goes on ignoring it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterable

from ..config import SettingError
from ..tls import ServerIdentity

log = logging.getLogger(__name__)

# Signals that arrive within so many seconds of the first one belong to the same event.
REPEAT_SECONDS = 1.0


def handle_signals(
    *, stop: Callable[[], None], end_now: Callable[[], None], reload: Callable[[], None]
) -> None:
    """Calls `stop` for the first signal that stops a process, and `end_now` for a later one."""
    loop = asyncio.get_running_loop()
    stopped_at: float | None = None

    def asked() -> None:
        nonlocal stopped_at
        if stopped_at is None:
            stopped_at = loop.time()
            stop()
        elif loop.time() - stopped_at >= REPEAT_SECONDS:
            end_now()

    def terminal_closed() -> None:
        if stopped_at is None:
            asked()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        hung_up = terminal_closed if _has_terminal() else reload
        loop.add_signal_handler(signal.SIGHUP, hung_up)


def ignore_signals() -> None:
    """Ignores all of these from now on, in a process that only has its exit code to return."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _has_terminal() -> bool:
    """Whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def reload_certificates(identities: Iterable[ServerIdentity | None]) -> None:
    """Reads the certificates of all ports again; keeps, and logs why, what cannot be read."""
    found = [identity for identity in identities if identity is not None]
    if not found:
        log.info("SIGHUP: there are no TLS certificates to reload")
    for identity in found:
        try:
            identity.reload()
        except SettingError as error:
            log.error("TLS certificate not reloaded, the previous one stays in use: %s", error)
        else:
            log.info("TLS certificate reloaded: %s", identity.certificate)
