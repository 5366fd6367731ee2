"""Load shedding: rejects requests with 503 and Retry-After while too many calls run.

All calls share one interpreter. Beyond a few hundred of them, each new call slows down the
others without raising the throughput. A call counts from its start to its response, not
while its body arrives, so slow clients use no capacity. A new stream is rejected under the
same condition, but open streams do not count here: the services limit them separately.

After a rejected request its connection is not read for a while. A client that respects
Retry-After is not delayed; the data of one that retries at once stays in the socket buffer.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection

from aiohttp import web
from aiohttp.http import RawRequestMessage

from .errors import error_response
from .options import Options
from .request_ids import request_id_of
from .responses import Response

log = logging.getLogger(__name__)

OVERLOADED = "The server is overloaded. Nothing was changed; try again later."
# How often paused connections are resumed, in seconds.
TICK_SECONDS = 0.01
# All requests rejected within this many seconds share one log line.
LOG_SECONDS = 1


class LoadShedder:
    """Counts the calls of one gateway, and rejects requests beyond the limit."""

    def __init__(self, options: Options) -> None:
        self._max_calls = options.max_calls
        self._resumed_per_second = options.resumed_per_second
        # Paths with requests that are never rejected.
        self.exempt_paths: Collection[str] = ()
        # Returns additional headers of the response to a rejected request, given its path.
        self.headers_of: Callable[[web.BaseRequest | RawRequestMessage, str], dict[str, str]] = (
            lambda _request, _path: {}
        )
        # Running calls, which the gateway counts, and requests rejected so far.
        self.calls = 0
        self.rejected = 0
        # Whether the gateway drains: it is not ready, and each response closes its connection.
        self.is_draining = False
        # Connections that are not read, the oldest first.
        self._paused: deque[asyncio.Transport] = deque()
        self._resumed_at = 0.0
        self._unlogged = 0

    @property
    def is_full(self) -> bool:
        return self.calls >= self._max_calls

    def has_room(self, path: str) -> bool:
        """Whether a request for a path is accepted."""
        return self.calls < self._max_calls or path in self.exempt_paths

    def reject(
        self,
        request: web.BaseRequest | RawRequestMessage,
        path: str,
        transport: asyncio.Transport | None,
    ) -> Response:
        """Returns the response to a rejected request, and pauses its transport if there is one."""
        self.rejected += 1
        self._unlogged += 1
        if self._unlogged == 1:
            asyncio.get_running_loop().call_later(LOG_SECONDS, self._log)
        seconds = 1 + len(self._paused) // self._resumed_per_second
        if transport is not None and transport.is_reading():
            transport.pause_reading()
            self._resume_later(transport)
        headers = {"Retry-After": str(seconds), **self.headers_of(request, path)}
        return error_response("UNAVAILABLE", OVERLOADED, request_id_of(request), headers)

    def _log(self) -> None:
        count, self._unlogged = self._unlogged, 0
        log.warning("overloaded: rejected %d requests in %d second", count, LOG_SECONDS)

    def _resume_later(self, transport: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        if not self._paused:
            self._resumed_at = loop.time()
            loop.call_later(TICK_SECONDS, self._resume_due, loop)
        self._paused.append(transport)

    def _resume_due(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        count = round((now - self._resumed_at) * self._resumed_per_second)
        if count:
            self._resumed_at = now
        for _ in range(min(count, len(self._paused))):
            transport = self._paused.popleft()
            if not transport.is_closing():
                transport.resume_reading()
        if self._paused:
            loop.call_later(TICK_SECONDS, self._resume_due, loop)
