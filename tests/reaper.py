"""Removes processes and folders that a test process leaves behind after Ctrl-C, SIGTERM or SIGKILL.

A process that starts others calls `start` first. That starts a reaper, which waits for the end
of a pipe that only this process holds open, and marks this process with an environment
variable, which all descendants inherit. When the pipe closes, the reaper ends every process
with the mark and removes the folders that are named after it. It has its own session, so that
Ctrl-C does not reach it.

PostgreSQL gets SIGQUIT, its immediate shutdown, which releases its shared memory; SIGKILL would
not. Each worker of pytest-xdist has its own mark and reaper.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

MARK = "TESTS_STARTED_BY"
# The file system in memory on Linux.
SHARED = Path("/dev/shm")
# A folder for temporary files that is on a disk, while /tmp can be in memory.
DISK = Path("/var/tmp")
# Timeout of an immediate shutdown of PostgreSQL, in seconds.
PATIENCE = 10.0


@cache
def start() -> None:
    """Starts the reaper of this process, once."""
    mark = uuid.uuid4().hex[:12]
    others = {name: value for name, value in os.environ.items() if name != MARK}
    process = subprocess.Popen(
        [sys.executable, "-P", __file__, mark],
        env=others,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.environ[MARK] = mark
    atexit.register(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the reaper and waits for it."""
    process.communicate(timeout=2 * PATIENCE)


def prefix() -> str:
    """Returns the prefix of folders that the reaper removes."""
    return f"roster-{os.environ.get(MARK, 'unmarked')}-"


def _reap(mark: str) -> None:
    end = time.monotonic() + PATIENCE
    while found := [process for process in psutil.process_iter() if _has(process, mark)]:
        for process in found:
            with suppress(psutil.NoSuchProcess):
                if process.name() == "postgres" and time.monotonic() < end:
                    process.send_signal(signal.SIGQUIT)
                    process.send_signal(signal.SIGCONT)
                else:
                    process.kill()
        psutil.wait_procs(found, timeout=0.5)
    for folder in (SHARED, DISK, Path(tempfile.gettempdir())):
        for path in folder.glob(f"roster-{mark}-*"):
            shutil.rmtree(path, ignore_errors=True)


def _has(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


if __name__ == "__main__":
    sys.stdin.buffer.read()
    _reap(sys.argv[1])
