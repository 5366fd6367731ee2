"""Connections that tell whoever streams over them when they end.

aiohttp tells a handler that its client has gone only when it reads or writes. A
stream may do neither for long, while its call still costs the server something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aiohttp import web
from aiohttp.web_protocol import RequestHandler


class Connection(RequestHandler):
    """A connection with a place for what is called once it is lost, or once it shall end.

    From the moment when it shall end, aiohttp takes nothing from it any more.
    """

    on_lost: Callable[[], object] | None = None
    on_closing: Callable[[], object] | None = None

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    def close(self) -> None:
        super().close()
        if self.on_closing is not None:
            self.on_closing()


@contextmanager
def watched(
    request: web.BaseRequest, *, on_lost: Callable[[], object], on_closing: Callable[[], object]
) -> Iterator[None]:
    """Has one of these called if the request's connection comes to its end meanwhile."""
    connection = request.protocol
    assert isinstance(connection, Connection)
    connection.on_lost, connection.on_closing = on_lost, on_closing
    if request.transport is None:
        on_lost()
    try:
        yield
    finally:
        connection.on_lost = connection.on_closing = None
