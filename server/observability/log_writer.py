"""Writes log lines to standard error in a thread, so that calls never wait for a slow reader.

If MAX_BYTES are queued, for example because nothing reads the pipe, further lines are dropped and
counted. Before the process ends, it writes the remaining lines.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from contextlib import suppress
from select import PIPE_BUF

log = logging.getLogger(__name__)

# The lines of about 30,000 calls.
MAX_BYTES = 8 << 20
# Before the process ends, it waits this long for a reader that reads nothing.
STALLED_SECONDS = 3.0


class LogWriter:
    """A queue of lines for a file descriptor. `dropped` is the number of dropped lines."""

    def __init__(self, descriptor: int = 2) -> None:
        self._descriptor = descriptor
        self._queue: deque[bytes] = deque()
        # The bytes in the queue and those being written.
        self._size = 0
        # Reentrant, because the garbage collector can log anywhere.
        self._changed = threading.Condition(threading.RLock())
        self._thread: threading.Thread | None = None
        self.dropped = 0

    def write(self, lines: bytes) -> None:
        """Queues lines without waiting."""
        with self._changed:
            if self._size + len(lines) > MAX_BYTES:
                self.dropped += lines.count(b"\n")
                return
            self._queue.append(lines)
            self._size += len(lines)
            self._changed.notify_all()
            # A thread does not survive a fork.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="log", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Waits until all lines are written, or until no progress is made for STALLED_SECONDS."""
        with self._changed:
            while self._size and self._changed.wait(STALLED_SECONDS):
                pass

    def _run(self) -> None:
        reported = self.dropped
        while True:
            with self._changed:
                while not self._queue:
                    self._changed.wait()
                data = b"".join(self._queue)
                self._queue.clear()
            self._write(data)
            if dropped := self.dropped - reported:
                reported += dropped
                log.warning("%d log lines dropped: standard error was not read", dropped)

    def _write(self, data: bytes) -> None:
        begin = 0
        # The process continues even if the reader of the log has closed it.
        with suppress(OSError):
            while begin < len(data):
                # Writes of several processes to one pipe are atomic up to PIPE_BUF.
                end = data.rfind(b"\n", begin, begin + PIPE_BUF) + 1 or begin + PIPE_BUF
                written = os.write(self._descriptor, data[begin:end])
                begin += written
                self._release(written)
        self._release(len(data) - begin)

    def _release(self, size: int) -> None:
        with self._changed:
            self._size -= size
            self._changed.notify_all()


# The log of this process.
STANDARD_ERROR = LogWriter()
