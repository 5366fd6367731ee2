"""Limits the calls and streams that run at the same time.

Until the service is open, every call is rejected: the ports already listen while the database
is being migrated. Streams have a limit of their own, because they live long and mostly wait.
"""

from __future__ import annotations

from ..errors import Overloaded, Unavailable
from .base import Call, Interceptor

# Twice the limit of the gateway, which leaves room for gRPC clients.
MAX_CALLS = 1_024
MAX_STREAMS = 256


class ServiceStarting(Unavailable):
    """The service is not ready for its first call yet."""

    message = "The service is starting. Nothing was changed; try again later."
    retry_after = 1.0


class ServiceStopping(Unavailable):
    """The service stops before the end of a stream."""

    message = "The service is stopping. Results already sent are final; send the rest again."


class ConcurrencyLimit(Interceptor):
    """Raises ServiceStarting before `open`, and Overloaded at a limit."""

    def __init__(self, max_calls: int = MAX_CALLS, max_streams: int = MAX_STREAMS) -> None:
        self._max_calls = max_calls
        self._max_streams = max_streams
        self._is_open = False
        self._is_stopping = False
        self._calls = 0
        self._streams: set[Call] = set()

    def open(self) -> None:
        """Accepts calls from now on."""
        self._is_open = True

    def intercept(self, call: Call) -> None:
        if not self._is_open:
            raise ServiceStarting
        if not call.method.server_streaming:
            if self._calls >= self._max_calls:
                raise Overloaded
            self._calls += 1
            call.add_done_callback(self._release)
            return
        if len(self._streams) >= self._max_streams:
            raise Overloaded
        if self._is_stopping:
            raise ServiceStopping
        self._streams.add(call)
        call.add_done_callback(self._streams.discard)

    def end_streams(self) -> None:
        """Ends all streams as Unavailable, now or when their clients read on, and new ones."""
        self._is_stopping = True
        for call in self._streams:
            call.cancel(ServiceStopping())

    def _release(self, _call: Call) -> None:
        self._calls -= 1
