"""The log of calls: a line each, on standard error.

Python's logging takes as long for a line as a whole look-up takes. Lines of calls are
many and alike, so they are put together by hand and written straight to the file
descriptor, gathered for a tenth of a second; what is not yet written is lost only if the
process is killed. Everything else goes through logging, in the same form.

The line of a call over gRPC is made when it is written, not when the call ends: by then it
is known how large the answer was, which gRPC puts into bytes after everybody here has seen it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from select import PIPE_BUF

from .request_record import RequestRecord

FLUSH_SECONDS = 0.1
# What answers probes: told of where it fails, since a line a second says nothing else.
PROBES = frozenset({"/healthz", "/readyz"})


class RequestLog:
    """Writes a line for each call to a file descriptor."""

    def __init__(self, descriptor: int = 2, *, enabled: bool = True, as_text: bool = False) -> None:
        self._descriptor = descriptor
        self._lines: list[RequestRecord | str] = []
        self._line: Callable[[RequestRecord], str] = text_line if as_text else json_line
        self.enabled = enabled

    def write(self, call: RequestRecord) -> None:
        """Adds a line for a call that has ended."""
        if call.route in PROBES and call.status < 400:
            return
        if not self._lines:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        call.ended = time.time()
        self._lines.append(self._line(call) if call.method else call)

    def flush(self) -> None:
        """Writes what was gathered."""
        lines, self._lines = self._lines, []
        whole = [line if isinstance(line, str) else self._line(line) for line in lines]
        data = "".join(whole).encode()
        # Whoever reads the log may have gone; calls go on without it.
        with suppress(OSError):
            begin = 0
            while begin < len(data):
                # Of what several processes write to one pipe, no more than this stays together.
                end = data.rfind(b"\n", begin, begin + PIPE_BUF) + 1 or begin + PIPE_BUF
                begin += os.write(self._descriptor, data[begin:end])


def json_line(call: RequestRecord) -> str:
    """Returns a call as JSON. None of its values may need escaping, and none of them does."""
    where = ""
    if call.method:
        where = f'"method":"{call.method}","status":{call.status},'
    if call.route:
        where += f'"{"page" if call.route[0] == "/" else "rpc"}":"{call.route}",'
    if call.code:
        where += f'"code":"{call.code}",'
    who = f'"account":"{call.account}",' if call.account else ""
    if call.trace_id:
        who += f'"traceId":"{call.trace_id}",'
    return (
        f'{{"time":"{moment(call.ended)}","level":"info","message":"call",{where}'
        f'"ms":{call.seconds * 1000:.2f},"received":{call.received},"sent":{call.sent},'
        f'{who}"requestId":"{call.request_id}"}}\n'
    )


def text_line(call: RequestRecord) -> str:
    """Returns a call as people read it."""
    http = f"{call.method} {call.status} " if call.method else ""
    where = f"{call.route} " if call.route else ""
    code = f"{call.code} " if call.code else ""
    who = f" account={call.account}" if call.account else ""
    return (
        f"{moment(call.ended)[11:]} info     {http}{where}{code}{call.seconds * 1000:.1f} ms"
        f" received={call.received} sent={call.sent}{who} requestId={call.request_id}\n"
    )


def moment(seconds: float) -> str:
    """Returns a moment as the log has it."""
    whole = int(seconds)
    return f"{_second(whole)}.{int((seconds - whole) * 1000):03}Z"


@lru_cache(4)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
