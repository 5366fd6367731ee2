"""What a gateway tells of each request, to whoever counts, logs or traces.

Whoever that is knows the gateway's requests by this alone; without anybody, nothing is told.
"""

from __future__ import annotations

from typing import Protocol

Trace = tuple[tuple[str, str], ...]


class RequestObserver(Protocol):
    """One request, until it ends."""

    # The trace context that the services are told.
    trace: Trace

    def is_for(self, rpc: str, template: str) -> None:
        """It is answered by the rpc at this path, which a template of the protos has found."""

    def is_for_page(self, path: str) -> None:
        """It is answered by one of the gateway's own pages."""

    def ends(self, status: int, received: int, sent: int) -> None:
        """It was answered; with the sizes of both bodies in bytes, as they came and went."""


class Observer(Protocol):
    """Is told of every request."""

    def begins(self, method: str, request_id: str, trace: Trace) -> RequestObserver:
        """A request came, with this trace context; `method` is whatever the client has sent."""


class NullRequestObserver:
    """A request that nobody is told of."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def is_for(self, rpc: str, template: str) -> None:
        """Nobody is told."""

    def is_for_page(self, path: str) -> None:
        """Nobody is told."""

    def ends(self, status: int, received: int, sent: int) -> None:
        """Nobody is told."""


class NullObserver:
    """Watches nothing."""

    def begins(self, method: str, request_id: str, trace: Trace) -> RequestObserver:
        return NullRequestObserver(trace)
