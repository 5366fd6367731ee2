"""Counts the calls of a process for its metrics, and passes them to the request log."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable

from ..values.histogram import Histogram
from . import metrics
from .metrics import Sample
from .request_log import RequestLog
from .request_record import RequestRecord


class RequestStats:
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
        self.rpcs_running -= 1
        self._rpcs[name, code] += 1
        self._rpc_seconds[name].add(seconds)

    def count_request(self, record: RequestRecord) -> None:
        self.requests_running -= 1
        route = record.route or "none"
        self._requests[route, record.status] += 1
        self._request_seconds[route].add(record.seconds)
        self._received += record.received
        self._sent += record.sent

    def finish(self, record: RequestRecord) -> None:
        """Sets the duration of a call that ends now, and writes its log line."""
        record.seconds = time.perf_counter() - record.started
        if self._log.enabled:
            self._log.write(record)

    def flush(self) -> None:
        self._log.flush()

    def rpc_samples(self) -> Iterable[Sample]:
        """Yields the samples of rpcs."""
        yield Sample(metrics.RPC_RUNNING, self.rpcs_running)
        for labels, count in list(self._rpcs.items()):
            yield Sample(metrics.RPC_CALLS, count, labels)
        for name, seconds in list(self._rpc_seconds.items()):
            yield Sample(metrics.RPC_SECONDS, seconds, (name,))

    def http_samples(self) -> Iterable[Sample]:
        """Yields the samples of HTTP requests."""
        yield Sample(metrics.HTTP_RUNNING, self.requests_running)
        yield Sample(metrics.HTTP_RECEIVED, self._received)
        yield Sample(metrics.HTTP_SENT, self._sent)
        for (route, status), count in list(self._requests.items()):
            yield Sample(metrics.HTTP_REQUESTS, count, (route, str(status)))
        for route, seconds in list(self._request_seconds.items()):
            yield Sample(metrics.HTTP_SECONDS, seconds, (route,))
