"""All that a process tells of itself while it serves: metrics, a line a call, spans."""

from __future__ import annotations

from .exposition import Exposition
from .http_requests import Requests
from .request_log import RequestLog
from .request_stats import RequestStats
from .tracing import Tracing


class Observability:
    """What the parts of one process are watched with; spans only where there is `tracing`."""

    def __init__(self, log: RequestLog, tracing: Tracing | None = None) -> None:
        self.calls = RequestStats(log)
        self.tracing = tracing
        self.requests = Requests(self.calls, tracing)
        self.exposition = Exposition()

    async def close(self) -> None:
        """Writes and sends what was not yet."""
        self.calls.flush()
        if self.tracing is not None:
            await self.tracing.close()


def disabled_observability() -> Observability:
    """Returns a watch that nobody reads."""
    return Observability(RequestLog(enabled=False))
