"""Limits the calls and streams that run at the same time.

Until the service is open, every call is rejected: the ports already listen while the database
is being migrated. Streams have a separate limit, because they are long and mostly wait. Watching
streams have a third one, so that they leave capacity for imports and exports. An account can have
an eighth of the streams of each kind.
"""

from __future__ import annotations

from ...values.counts import RunningCounts
from ..errors import Overloaded, StreamLimitReached, Unavailable
from .base import Call, Interceptor, Method

# Unary calls. Twice the limit of the gateway, so that gRPC clients can call too.
MAX_CALLS = 1_024
# Streams of each kind.
MAX_STREAMS = 256
MAX_STREAMS_OF_ACCOUNT = 32
STREAM_RETRY_SECONDS = 5
# Streams that only watch. They can stay open for any time.
_WATCHES = frozenset(
    {
        "OperationService.WatchOperation",
        "ImportService.WatchImport",
        "ExportService.WatchExport",
        "WebhookService.TailWebhookDeliveries",
    }
)


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
        # By whether they only watch.
        self._streams: dict[bool, set[Call]] = {False: set(), True: set()}

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
            call.done_callbacks.append(self._release)
            return
        streams = self._streams[call.method.name in _WATCHES]
        if len(streams) >= self._max_streams:
            raise Overloaded
        if self._is_stopping:
            raise ServiceStopping
        streams.add(call)
        call.done_callbacks.append(streams.discard)

    def end_streams(self) -> None:
        """Ends running and new streams as Unavailable. Slow clients get it at their next read."""
        self._is_stopping = True
        for call in self._streams[False] | self._streams[True]:
            call.cancel(ServiceStopping())

    def _release(self, _call: Call) -> None:
        self._calls -= 1


class StreamShare(Interceptor):
    """Raises StreamLimitReached beyond the share of an account. Runs after Authenticate."""

    def __init__(self) -> None:
        self._streams: RunningCounts[tuple[str, bool]] = RunningCounts()

    def applies_to(self, method: Method) -> bool:
        return method.server_streaming

    def intercept(self, call: Call) -> None:
        key = call.account_id, call.method.name in _WATCHES
        if self._streams[key] >= MAX_STREAMS_OF_ACCOUNT:
            raise StreamLimitReached(STREAM_RETRY_SECONDS, limit=MAX_STREAMS_OF_ACCOUNT)
        self._streams[key] += 1
        call.done_callbacks.append(lambda _: self._streams.end(key))
