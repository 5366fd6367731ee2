"""The metrics, request log and traces of a process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..config import SETTINGS, SettingError
from .exposition import Exposition
from .http_requests import HttpRequests
from .request_log import RequestLog
from .request_stats import RequestStats

if TYPE_CHECKING:
    from .tracing import Tracing


class Observability:
    """The metrics, request log and traces of a process. Without `tracing` there are no spans."""

    def __init__(self, log: RequestLog, tracing: Tracing | None = None) -> None:
        self.stats = RequestStats(log)
        self.tracing = tracing
        self.requests = HttpRequests(self.stats, tracing)
        self.exposition = Exposition()

    async def close(self) -> None:
        """Writes the remaining log lines and sends the remaining spans."""
        self.stats.flush()
        if self.tracing is not None:
            await self.tracing.close()


def disabled_observability() -> Observability:
    """Returns an instance without a log and traces."""
    return Observability(RequestLog("error"))


def create_tracing() -> Tracing:
    """Returns tracing. Raises SettingError if OpenTelemetry is not installed."""
    try:
        # Here, because the dependency is optional and slow to import.
        from .tracing import Tracing  # noqa: PLC0415
    except ImportError as error:
        raise SettingError(
            f"{SETTINGS['tracing'].environment} requires OpenTelemetry, which is not installed. Run"
            f" in the checkout of Roster: {sys.executable} -m pip install --editable '.[otel]'"
        ) from error
    return Tracing()
