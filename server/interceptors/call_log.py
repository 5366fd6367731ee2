"""The log of calls: one JSON object a line, on standard error.

Python's logging takes as long for a line as a whole look-up takes. Lines of
calls are many and alike, so they are put together by hand and written straight
to the file descriptor, gathered for a tenth of a second; what is not yet written
is lost only if the process is killed. Everything else goes through logging, in
the same form.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from functools import lru_cache
from select import PIPE_BUF

FLUSH_SECONDS = 0.1


class CallLog:
    """Writes a line for each call to a file descriptor."""

    def __init__(self, descriptor: int = 2, *, enabled: bool = True) -> None:
        self._descriptor = descriptor
        self._lines: list[str] = []
        self.enabled = enabled

    def write(
        self, *, rpc: str, code: str, seconds: float, account: str | None, request_id: str
    ) -> None:
        """Adds a line. None of the values may need escaping in JSON, and none of them does."""
        if not self._lines:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        now = time.time()
        who = f'"account":"{account}",' if account else ""
        self._lines.append(
            f'{{"time":"{_second(int(now))}.{int(now * 1000) % 1000:03}Z","level":"info",'
            f'"message":"call","rpc":"{rpc}","code":"{code}","ms":{seconds * 1000:.2f},'
            f'{who}"requestId":"{request_id}"}}\n'
        )

    def flush(self) -> None:
        """Writes what was gathered."""
        data, self._lines = "".join(self._lines).encode(), []
        # Whoever reads the log may have gone; calls go on without it.
        with suppress(OSError):
            while data:
                # Of what several processes write to one pipe, no more than this stays together.
                end = data.rfind(b"\n", 0, PIPE_BUF) + 1
                data = data[os.write(self._descriptor, data[: end or PIPE_BUF]) :]


@lru_cache(4)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
