"""Signals of a process that serves.

SIGTERM and SIGINT stop the process gracefully. One event often arrives as several signals:
`timeout` signals its child and then the whole process group, Ctrl-C reaches every process of the
group, `make` and shells forward signals. So a repeat within two seconds of the first signal is
ignored; a later one ends the process immediately.

SIGHUP has two meanings. In a process with a controlling terminal it means that the terminal was
closed, and stops the process like SIGTERM; a repeat has no effect. Without one, as under a
service manager, in a container or after `setsid`, it reloads the TLS certificates (see
`certificates.py`). A process that was started with SIGHUP ignored, as by `nohup`, continues to
ignore it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

# Signals within this number of seconds after the first one belong to the same event.
REPEAT_SECONDS = 2.0


def handle_signals(
    *, stop: Callable[[], None], exit_now: Callable[[], None], reload: Callable[[], None]
) -> None:
    """Calls `stop` for the first signal that stops a process, and `exit_now` for a later one."""
    loop = asyncio.get_running_loop()
    stopped_at: float | None = None

    def on_stop_signal() -> None:
        nonlocal stopped_at
        if stopped_at is None:
            stopped_at = loop.time()
            stop()
        elif loop.time() - stopped_at >= REPEAT_SECONDS:
            exit_now()

    def on_terminal_closed() -> None:
        if stopped_at is None:
            on_stop_signal()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_stop_signal)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        on_hangup = on_terminal_closed if _has_terminal() else reload
        loop.add_signal_handler(signal.SIGHUP, on_hangup)


def ignore_signals() -> None:
    """Ignores all of these signals in a process that only has to exit."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
