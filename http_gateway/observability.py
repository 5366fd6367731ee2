"""Interfaces through which metrics, logs and traces observe the requests of a gateway."""

from __future__ import annotations

from typing import Protocol

Trace = tuple[tuple[str, str], ...]


class RequestObserver(Protocol):
    """Observes one request until it ends."""

    # The trace context that is sent to the services.
    trace: Trace

    def set_route(self, rpc: str, template: str) -> None:
        """Records the rpc and the path template that the request was routed to."""

    def set_page(self, path: str) -> None:
        """Records the page of the gateway that the request was routed to."""

    def end(self, status: int, received: int, sent: int) -> None:
        """Records the status and the sizes of both bodies on the wire, in bytes."""


class Observer(Protocol):
    """Observes every request."""

    def start(self, method: str, request_id: str, peer: str, trace: Trace, /) -> RequestObserver:
        """Returns the observer of a new request.

        `method` is unvalidated client input. `peer` is the address of the connection; empty if it
        is unknown.
        """


class NullObserver:
    """Records nothing, as the observer of all requests and of one."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace = ()) -> None:
        self.trace = trace

    def start(self, _method: str, _id: str, _peer: str, trace: Trace, /) -> RequestObserver:
        return NullObserver(trace)

    def set_route(self, rpc: str, template: str) -> None:
        """Records nothing."""

    def set_page(self, path: str) -> None:
        """Records nothing."""

    def end(self, status: int, received: int, sent: int) -> None:
        """Records nothing."""
