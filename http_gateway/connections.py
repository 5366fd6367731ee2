"""Connections of the HTTP server.

They add to aiohttp's a time limit for the request line and headers, an error for a body with
invalid framing, a callback for the end of the connection, and early rejections.

While the gateway is overloaded, its event loop is slow. A complete request on an idle connection
is therefore rejected when its data arrives, not in a handler, which starts two turns of the loop
later (`P5 overload` in `tests/faults/promises`).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any, cast

from aiohttp import StreamReader, web
from aiohttp.http import HttpProcessingError, HttpRequestParser
from aiohttp.http_exceptions import BadStatusLine
from aiohttp.web_protocol import RequestHandler

from . import errors
from .body import discard
from .errors import connection_error
from .load_shedding import LoadShedder
from .options import Options
from .request import Request
from .responses import Response
from .routing.methods import METHODS

log = logging.getLogger(__name__)

# The longest request line and header field, in bytes, and the most fields. A line can have a query
# of 4,000 characters, with up to 12 bytes each.
HEAD_LIMITS: dict[str, Any] = {"max_line_size": 65_536, "max_field_size": 8_190, "max_headers": 128}
# A request line in an error message of aiohttp's parser, which quotes it with `repr`.
_REQUEST_LINE = re.compile(
    r"""^ *b(['"])(?P<method>[-!#$%&'*+.^_`|~0-9A-Za-z]+) \S+ HTTP/1\.[01]\1$""", re.MULTILINE
)


class Connection(RequestHandler):
    """A connection of a server."""

    def __init__(
        self, server: web.Server, options: Options, load: LoadShedder, **aiohttp_options: Any
    ) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, **aiohttp_options)
        self._options = options
        self._load = load
        self._time = loop.time
        # The time of the last response from a handler.
        self._responded_at = loop.time()
        # Called when the connection will close after the current response. From then on aiohttp
        # discards what the client sends.
        self.on_closing: Callable[[], object] | None = None
        # The body of the request that was parsed last.
        self._last_body: StreamReader | None = None
        # Parsed requests without a response.
        self._unanswered = 0
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._stop_head_timer()

    def close(self) -> None:
        super().close()
        self._stop_head_timer()
        if self.on_closing is not None:
            self.on_closing()

    def data_received(self, data: bytes) -> None:
        queued = len(self._messages)
        is_idle = not self._unanswered and (self._last_body is None or self._last_body.is_eof())
        may_reject = self._load.is_full and is_idle and self._head_timer is None
        if may_reject and self._reject(data):
            return
        super().data_received(data)
        if len(self._messages) > queued:
            self._fail_incomplete_bodies(queued)
            self._unanswered += len(self._messages) - queued
            self._stop_head_timer()
        elif is_idle and self._head_timer is None:
            self._head_timer = asyncio.get_running_loop().call_later(
                self._options.head_seconds, self._reject_slow_head
            )

    def _reject(self, data: bytes) -> bool:
        """Rejects a complete request of an overloaded gateway. Returns whether it did."""
        # aiohttp does not see rejected requests, and would close their connection as idle.
        is_stale = self._time() - self._responded_at > self._options.keepalive_seconds / 2
        load = self._load
        if load.is_draining or is_stale or self.transport is None:
            return False
        head, end, body = data.partition(b"\r\n\r\n")
        try:
            loop = asyncio.get_running_loop()
            parser = HttpRequestParser(self, loop, 2**16, **HEAD_LIMITS)
            messages, _, _ = parser.feed_data(head + end)
        except HttpProcessingError:
            return False
        if len(messages) != 1:
            return False
        message = messages[0][0]
        path = message.path.partition("?")[0]
        if (
            message.chunked
            or len(body) != int(message.headers.get("Content-Length", 0))
            or message.should_close
            or message.method == "HEAD"
            or load.has_room(path)
        ):
            return False
        response = load.reject(message, path, self.transport)
        self.transport.write(response.encode(self._options, ""))
        return True

    def _fail_incomplete_bodies(self, queued: int) -> None:
        """Ends each body that is followed by a message, which here is a parser error.

        aiohttp's parser in C does not report invalid framing to the reader of the body. The
        queue of messages, which is private to aiohttp, is the only sign of it.
        """
        for index in range(queued, len(self._messages)):
            if self._last_body is not None and not self._last_body.is_eof():
                self._last_body.set_exception(web.RequestPayloadError("invalid framing"))
                # Otherwise aiohttp would read it to its end after the response.
                self._last_body.feed_eof()
            self._last_body = self._messages[index][1]

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        try:
            finished = await super().finish_response(request, resp, start_time)
            if isinstance(request, Request) and request.has_stream and resp.status != 401:
                await self._discard_stream(request)
            return finished
        finally:
            self._unanswered -= 1
            self._responded_at = self._time()

    async def _discard_stream(self, request: Request) -> None:
        """Discards the rest of a stream while it arrives, before aiohttp closes the connection."""
        if not request.content.is_eof() and self.transport is not None:
            discarding = asyncio.ensure_future(discard(request, self._options.lingering_seconds))
            self.on_closing = discarding.cancel
            try:
                await asyncio.wait([discarding])
            finally:
                discarding.cancel()
                self.on_closing = None

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _reject_slow_head(self) -> None:
        self._head_timer = None
        self.close()
        if self.transport is not None:
            seconds = self._options.head_seconds
            message = f"The request headers did not arrive within {seconds:.0f} seconds."
            reject_connection(self.transport, self._options, "REQUEST_TIMEOUT", message)

    def handle_error(  # type: ignore[override]
        self,
        _request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        _message: str | None = None,
    ) -> Response:
        """Returns the response for a request that aiohttp cannot parse, or a failed response."""
        if status >= 500:
            log.error("a response could not be created", exc_info=exc)
            return connection_error("INTERNAL", errors.INTERNAL.message)
        if isinstance(exc, BadStatusLine) and _has_unknown_method(exc.message):
            return connection_error(
                "METHOD_NOT_IMPLEMENTED", "This HTTP method is not implemented."
            )
        return connection_error("VALIDATION_ERROR", "The request is not well-formed HTTP.")


def _has_unknown_method(message: str) -> bool:
    """Whether a parser's error shows a request line that is well-formed except for its method.

    Methods are case-sensitive, so `get` is unknown. Other bytes that do not begin with a known
    method, such as a TLS handshake, are not HTTP.
    """
    line = _REQUEST_LINE.search(message)
    return line is not None and line["method"] not in METHODS


class RejectedConnection(asyncio.Protocol):
    """A connection beyond the limit, which receives an error response and is closed.

    It is aborted if too many `rejected` connections are not closed yet.
    """

    def __init__(self, options: Options, rejected: set[RejectedConnection]) -> None:
        self._options = options
        self._rejected = rejected

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A transport of uvloop has the methods of asyncio's, but not its class.
        transport = cast("asyncio.Transport", transport)
        if len(self._rejected) >= self._options.max_rejected_connections:
            transport.abort()
            return
        self._rejected.add(self)
        message = "The maximum number of connections is open. Try again later."
        reject_connection(transport, self._options, "UNAVAILABLE", message)

    def connection_lost(self, _exc: BaseException | None) -> None:
        self._rejected.discard(self)


def reject_connection(
    transport: asyncio.Transport, options: Options, reason: str, message: str
) -> None:
    """Sends an error response before any request, and closes the connection."""
    response = connection_error(reason, message)
    transport.write(response.encode(options, "Connection: close\r\n"))
    if not transport.can_write_eof():
        # A TLS connection cannot be closed in one direction only.
        transport.close()
        return
    transport.write_eof()
    asyncio.get_running_loop().call_later(options.lingering_seconds, transport.abort)
