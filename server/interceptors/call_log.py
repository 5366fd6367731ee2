"""The log of calls: one JSON object a line, on standard error.

Python's logging takes as long for a line as a whole look-up takes. Lines of
calls are many and alike, so they are written straight to the file descriptor,
gathered for a tenth of a second; what is not yet written is lost only if the
process is killed. Everything else goes through logging, in the same form.
"""

from __future__ import annotations

import asyncio
import os
import time
from functools import lru_cache
from typing import Any

import orjson

FLUSH_SECONDS = 0.1


class CallLog:
    """Writes a line for each call to a file descriptor."""

    def __init__(self, descriptor: int = 2, *, enabled: bool = True) -> None:
        self._descriptor = descriptor
        self._lines: list[bytes] = []
        self.enabled = enabled

    def write(self, level: str, **facts: Any) -> None:
        """Adds a line; facts that are None are left out."""
        if not self._lines:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        now = time.time()
        known = {name: value for name, value in facts.items() if value is not None}
        line = {"time": _stamp(int(now * 1000)), "level": level, "message": "call", **known}
        self._lines.append(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def flush(self) -> None:
        """Writes what was gathered."""
        data, self._lines = b"".join(self._lines), []
        while data:
            data = data[os.write(self._descriptor, data) :]


def _stamp(milliseconds: int) -> str:
    return f"{_second(milliseconds // 1000)}.{milliseconds % 1000:03}Z"


@lru_cache(4)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
