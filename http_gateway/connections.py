"""Connections: what aiohttp's leave open.

aiohttp tells a handler that its client has gone only when it reads or writes; a
stream may do neither for long, while its call still costs the server something. It
waits for a request's head for as long as the client likes to send it. And where the
framing of a body goes wrong in its midst, whoever reads the body is not told.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import BadStatusLine
from aiohttp.web_protocol import RequestHandler

from . import errors
from .error_responses import connection_error
from .responses import Response
from .routing.methods import METHODS

log = logging.getLogger(__name__)

# How long the head of a request may take to arrive, in seconds, from its first byte.
HEAD_SECONDS = 10.0
# How long what a client goes on sending is read and thrown away, so that it sees the
# answer before its connection is reset.
LINGERING_SECONDS = 2.0
# A request line as an error of aiohttp's parser shows it, by Python's `repr`.
_REQUEST_LINE = re.compile(
    r"""^ *b(['"])(?P<method>[-!#$%&'*+.^_`|~0-9A-Za-z]+) \S+ HTTP/1\.[01]\1$""", re.MULTILINE
)
# How many connections are refused with an answer at once.
MAX_REFUSED = 100


class Connection(RequestHandler):
    """A connection with a place for what is called once it is lost, or once it shall end.

    From the moment when it shall end, aiohttp takes nothing from it any more.
    """

    on_lost: Callable[[], object] | None = None
    on_closing: Callable[[], object] | None = None
    # The body of the request that came last.
    _body: StreamReader | None = None
    _head_is_due: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._expect_no_head()
        if self.on_lost is not None:
            self.on_lost()

    def close(self) -> None:
        super().close()
        self._expect_no_head()
        if self.on_closing is not None:
            self.on_closing()

    def data_received(self, data: bytes) -> None:
        known = len(self._messages)
        super().data_received(data)
        if len(self._messages) > known:
            self._follow_bodies(known)
            self._expect_no_head()
        else:
            self._expect_rest_of_head()

    def _expect_rest_of_head(self) -> None:
        if self._head_is_due is None and self._waits_for_head():
            self._head_is_due = self._loop.call_later(HEAD_SECONDS, self._give_up_head)

    def _waits_for_head(self) -> bool:
        # aiohttp has a waiter as long as there is no whole head of a next request.
        # It does not say whether a part of one came already, together with the request before;
        # a connection of which no more comes than that counts as idle.
        return self._waiter is not None and not self._waiter.done() and not self._close

    def _follow_bodies(self, known: int) -> None:
        """Ends each body that another message follows before its end: its framing was broken."""
        for place in range(known, len(self._messages)):
            if self._body is not None and not self._body.is_eof():
                self._body.set_exception(web.RequestPayloadError("the body is badly framed"))
                # Else aiohttp would read it to its end, after the answer.
                self._body.feed_eof()
            self._body = self._messages[place][1]

    def _expect_no_head(self) -> None:
        if self._head_is_due is not None:
            self._head_is_due.cancel()
            self._head_is_due = None

    def _give_up_head(self) -> None:
        self._head_is_due = None
        self.close()
        message = f"The request headers did not arrive within {HEAD_SECONDS:.0f} seconds."
        if self.transport is not None:
            reject_connection(self.transport, "REQUEST_TIMEOUT", message)

    def handle_error(  # type: ignore[override]
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> Response:
        """Answers what aiohttp's parser refuses. A client's fault is no traceback in the log."""
        if status >= 500:
            log.error("a response could not be created", exc_info=exc)
            return connection_error("INTERNAL", errors.FAILED)
        if isinstance(exc, BadStatusLine) and _has_unknown_method(exc.message):
            return connection_error(
                "METHOD_NOT_IMPLEMENTED", "This HTTP method is not implemented."
            )
        return connection_error("VALIDATION_ERROR", "The request is not well-formed HTTP.")


def _has_unknown_method(message: str) -> bool:
    """Whether a parser's error shows a well-formed request line but for its method.

    Methods are case-sensitive, so `get` is unknown. Other bytes that do not begin with a known
    method, such as a TLS handshake, are not HTTP.
    """
    line = _REQUEST_LINE.search(message)
    return line is not None and line["method"] not in METHODS


class RejectedConnection(asyncio.Protocol):
    """A connection beyond the limit, which receives an error response and is closed.

    `others` are the connections being rejected; if there are MAX_REFUSED, this one is aborted.
    """

    def __init__(self, others: set[RejectedConnection]) -> None:
        self._others = others

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # By its class a transport of uvloop is none of asyncio's, though it does the same.
        transport = cast("asyncio.Transport", transport)
        if len(self._others) >= MAX_REFUSED:
            transport.abort()
            return
        self._others.add(self)
        reject_connection(
            transport, "UNAVAILABLE", "The maximum number of connections is open. Try again later."
        )

    def connection_lost(self, exc: BaseException | None) -> None:
        self._others.discard(self)


def reject_connection(transport: asyncio.Transport, reason: str, message: str) -> None:
    """Sends an error response before any request, and closes the connection."""
    response = connection_error(reason, message)
    transport.write(response.written("Connection: close\r\n", with_body=True))
    if not transport.can_write_eof():
        # TLS has no half that could be ended.
        transport.close()
        return
    transport.write_eof()
    asyncio.get_running_loop().call_later(LINGERING_SECONDS, transport.abort)


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
