"""All that a process tells of itself while it serves: metrics, a line a call, spans."""

from __future__ import annotations

from .call_log import CallLog
from .calls import Calls
from .exposition import Exposition
from .requests import Requests
from .tracing import Tracing


class Watch:
    """What the parts of one process are watched with; spans only where there is `tracing`."""

    def __init__(self, log: CallLog, tracing: Tracing | None = None) -> None:
        self.calls = Calls(log)
        self.tracing = tracing
        self.requests = Requests(self.calls, tracing)
        self.exposition = Exposition()

    async def close(self) -> None:
        """Writes and sends what was not yet."""
        self.calls.flush()
        if self.tracing is not None:
            await self.tracing.close()


def unwatched() -> Watch:
    """Returns a watch that nobody reads."""
    return Watch(CallLog(enabled=False))
