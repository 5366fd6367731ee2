"""How much the gateway has to do at once, and what whoever comes beyond that is told.

Calls that run share one interpreter: beyond some hundred, each new one makes all the
others slower and none of them more. So whoever comes then is refused, with a
Retry-After. A call counts from when it is made to its answer, and not while its body
arrives, so that slow clients take no place from others. A stream is let in as a call is,
and takes none of their places: the services count streams apart.
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
# Of those that were refused, so many may come again a second, and are told when, in turn: to
# refuse and to pause a connection costs more than to answer, which is time of the others.
RESUMED_PER_SECOND = 200
TICK_SECONDS = 0.01
# There is a line in the log for all that were refused within so many seconds.
LOG_SECONDS = 1


class PausedConnection(Protocol):
    """A connection that is not listened to now."""

    def resume(self) -> None:
        """Goes on to read, if there still is anybody."""


class LoadShedder:
    """What one gateway has to do."""

    def __init__(self) -> None:
        # Paths whose requests are never refused.
        self.exempt: Collection[str] = ()
        # Requests that are on their way to their handler, and calls that run; both are counted
        # by whoever makes them. And how many requests were refused.
        self.pending = 0
        self.calls = 0
        self.refused = 0
        # Whether the gateway is to stop: it is not ready, and ends connections with an answer.
        self.ends = False
        # Those that are not listened to, the longest first.
        self._paused: deque[PausedConnection] = deque()
        self._resumed_at = 0.0
        self._unlogged = 0

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another call."""
        return self.pending + self.calls >= MAX_CALLS

    def is_exempt(self, path: str) -> bool:
        """Whether a request for a path is answered however much there is to do."""
        return path.partition("?")[0] in self.exempt

    def error_response(self, request_id: str) -> Response:
        """Returns the answer to a request that there is no room for."""
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
        """Has a connection listen again behind all that were refused before it."""
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
