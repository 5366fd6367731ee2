"""The calls of a process: counted for the metrics, and handed to the log when they end."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable

from ..histogram import Histogram
from . import metrics
from .metrics import Sample
from .request_log import RequestLog
from .request_record import RequestRecord


class RequestStats:
    """Counts the calls of a process, and has a line of the log written for each."""

    def __init__(self, log: RequestLog) -> None:
        self._log = log
        self.rpcs_running = 0
        self.requests_running = 0
        self._rpcs: dict[tuple[str, str], int] = defaultdict(int)
        self._rpc_seconds: dict[str, Histogram] = defaultdict(Histogram)
        self._requests: dict[tuple[str, int], int] = defaultdict(int)
        self._request_seconds: dict[str, Histogram] = defaultdict(Histogram)
        self._received = 0
        self._sent = 0

    def count_rpc(self, name: str, code: str, seconds: float) -> None:
        """Counts an rpc that ended."""
        self.rpcs_running -= 1
        self._rpcs[name, code] += 1
        self._rpc_seconds[name].add(seconds)

    def count_request(self, call: RequestRecord) -> None:
        """Counts a request over HTTP that ended."""
        self.requests_running -= 1
        route = call.route or "none"
        self._requests[route, call.status] += 1
        self._request_seconds[route].add(call.seconds)
        self._received += call.received
        self._sent += call.sent

    def end(self, call: RequestRecord) -> None:
        """Notes when a call ended, and has its line written."""
        call.seconds = time.perf_counter() - call.started
        if self._log.enabled:
            self._log.write(call)

    def flush(self) -> None:
        """Writes the lines that are not written yet."""
        self._log.flush()

    def rpc_samples(self) -> Iterable[Sample]:
        """Yields what was counted of the services."""
        yield Sample(metrics.RPC_RUNNING, self.rpcs_running)
        for labels, count in list(self._rpcs.items()):
            yield Sample(metrics.RPC_CALLS, count, labels)
        for name, seconds in list(self._rpc_seconds.items()):
            yield Sample(metrics.RPC_SECONDS, seconds, (name,))

    def http_samples(self) -> Iterable[Sample]:
        """Yields what was counted of HTTP."""
        yield Sample(metrics.HTTP_RUNNING, self.requests_running)
        yield Sample(metrics.HTTP_RECEIVED, self._received)
        yield Sample(metrics.HTTP_SENT, self._sent)
        for (route, status), count in list(self._requests.items()):
            yield Sample(metrics.HTTP_REQUESTS, count, (route, str(status)))
        for route, seconds in list(self._request_seconds.items()):
            yield Sample(metrics.HTTP_SECONDS, seconds, (route,))
