"""Load shedding: rejects requests with 503 and Retry-After while too many calls run.

All calls share one interpreter. Beyond some hundred of them, each new call slows down the
others without raising the throughput. A call counts from its start to its response, not
while its body arrives, so slow clients use no capacity. A new stream is rejected under the
same condition, but open streams do not count here: the services limit them separately.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Collection
from typing import Protocol

from .error_responses import error_response
from .responses import Response

log = logging.getLogger(__name__)

# Calls at once: twice as many as a writer puts into one commit, so that the next commit is
# full while one is being synced.
MAX_CALLS = 512
OVERLOADED = "The server is overloaded. Nothing was changed; try again later."
# How many paused connections are resumed per second, in the order of their rejection. This rate
# also determines Retry-After.
RESUMED_PER_SECOND = 200
TICK_SECONDS = 0.01
# All requests rejected within this many seconds share one log line.
LOG_SECONDS = 1


class PausedConnection(Protocol):
    """A connection whose reading is paused after a rejected request."""

    def resume(self) -> None:
        """Resumes reading, unless the connection is closed."""


class LoadShedder:
    """Counts the requests and calls of one gateway, and rejects requests beyond the limit."""

    def __init__(self) -> None:
        # Paths whose requests are never rejected.
        self.exempt: Collection[str] = ()
        # Requests that wait for their handler, running calls, and rejected requests. The
        # connections and the gateway update the first two.
        self.pending = 0
        self.calls = 0
        self.refused = 0
        # Whether the gateway drains: it is not ready, and each response closes its connection.
        self.is_draining = False
        # Paused connections, the oldest first.
        self._paused: deque[PausedConnection] = deque()
        self._resumed_at = 0.0
        self._unlogged = 0

    @property
    def is_full(self) -> bool:
        """Whether the limit of calls is reached."""
        return self.pending + self.calls >= MAX_CALLS

    def is_exempt(self, path: str) -> bool:
        """Whether requests for a path are never rejected."""
        return path.partition("?")[0] in self.exempt

    def error_response(self, request_id: str) -> Response:
        """Counts a rejected request and returns its response."""
        self.refused += 1
        self._unlogged += 1
        if self._unlogged == 1:
            asyncio.get_running_loop().call_later(LOG_SECONDS, self._log)
        seconds = 1 + len(self._paused) // RESUMED_PER_SECOND
        return error_response("UNAVAILABLE", OVERLOADED, request_id, {"Retry-After": str(seconds)})

    def _log(self) -> None:
        count, self._unlogged = self._unlogged, 0
        log.warning("overloaded: rejected %d requests in %d second", count, LOG_SECONDS)

    def resume_later(self, connection: PausedConnection) -> None:
        """Resumes a connection after all connections that were paused before it."""
        loop = asyncio.get_running_loop()
        if not self._paused:
            self._resumed_at = loop.time()
            loop.call_later(TICK_SECONDS, self._resume_due, loop)
        self._paused.append(connection)

    def _resume_due(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        count, self._resumed_at = round((now - self._resumed_at) * RESUMED_PER_SECOND), now
        for _ in range(min(count, len(self._paused))):
            self._paused.popleft().resume()
        if self._paused:
            loop.call_later(TICK_SECONDS, self._resume_due, loop)
