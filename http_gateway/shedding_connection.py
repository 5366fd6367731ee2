"""Connections that reject requests as soon as they are parsed while the gateway is overloaded.

A complete request on an idle connection is rejected before it reaches its handler. Reading
from that client is then paused until the load shedder resumes it. A client that respects
Retry-After is not delayed; the data of one that retries at once stays in the socket buffer.
All other requests are rejected later, by their handler.
"""

from __future__ import annotations

from typing import Any, cast

from aiohttp import web
from aiohttp.http_parser import RawRequestMessage

from .connections import Connection
from .load_shedding import LoadShedder
from .request_ids import accepted_or_new
from .responses import REQUEST_ID


class Request(web.BaseRequest):
    """A request whose response closes the connection if the gateway drains."""

    @property
    def keep_alive(self) -> bool:
        return (
            super().keep_alive and not cast("SheddingConnection", self._protocol).load.is_draining
        )


class SheddingConnection(Connection):
    """A connection that rejects requests itself while the gateway is overloaded."""

    def __init__(self, manager: Any, load: LoadShedder, **options: Any) -> None:
        super().__init__(manager, **options)
        self.load = load
        # Parsed requests that have not reached their handler yet.
        self._pending = 0

    def data_received(self, data: bytes) -> None:
        if not self._is_idle():
            known = len(self._messages)
            super().data_received(data)
            self._hand_over(len(self._messages) - known)
            return
        # Without its waiter, aiohttp only puts the request by. It may have none as it is, if it
        # has not yet looked up from the request before.
        waiter, self._waiter = self._waiter, None
        super().data_received(data)
        self._waiter = waiter
        if not self._messages:
            self._expect_rest_of_head()
            return
        if self.load.is_full and self._refuse():
            return
        self._hand_over(len(self._messages))
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _is_idle(self) -> bool:
        """Whether every request has its response and no part of the next one has arrived."""
        return (
            not self._pending
            and not self._request_in_progress
            and (self._body is None or self._body.is_eof())
            and self._head_is_due is None
            and not self._close
        )

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._hand_over(-self._pending)

    async def _handle_request(self, *arguments: Any) -> Any:
        if self._pending:
            self._hand_over(-1)
        return await super()._handle_request(*arguments)

    def _hand_over(self, count: int) -> None:
        self._pending += count
        self.load.pending += count

    def _refuse(self) -> bool:
        """Rejects the parsed request if that is possible here. Returns whether it did."""
        message, payload = self._messages[0]
        transport = self.transport
        if (
            len(self._messages) > 1
            or not isinstance(message, RawRequestMessage)
            or not payload.is_eof()
            or message.should_close
            or message.method == "HEAD"
            or self.load.is_exempt(message.path)
            or transport is None
            or self._parser is None
        ):
            return False
        self._messages.clear()
        self._parser.message_consumed()
        response = self.load.error_response(accepted_or_new(message.headers.get(REQUEST_ID)))
        transport.write(response.written("", with_body=True))
        # It was no idle connection until now.
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        transport.pause_reading()
        self.load.resume_later(self)
        return True

    def resume(self) -> None:
        """Resumes reading, unless the connection is closed."""
        transport = self.transport
        if transport is not None and not transport.is_closing():
            transport.resume_reading()
