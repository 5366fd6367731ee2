"""Answers, written as bytes in one piece.

aiohttp runs whatever has `prepare`, `write_eof` and `keep_alive`. Its own
Response keeps headers in a multi-dictionary, prepares them in five steps and
streams the body; for a small JSON answer whose headers are known that took a
sixth of the time of a look-up. This one is a status line, a few headers and a body.
"""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from aiohttp import web

# What a client may leave unread before its next answer waits, and for how long.
UNREAD_BYTES = 64 * 1024
READ_SECONDS = 10.0

JSON = "application/json"
REQUEST_ID = "X-Request-Id"

# The status of a call that was cancelled, as google.rpc.Code documents it. It is in no RFC.
CANCELLED = 499
_PHRASES = {CANCELLED: "Client Closed Request"} | {
    status.value: status.phrase for status in HTTPStatus
}
_LINES = {
    status: f"HTTP/1.1 {status} {phrase}\r\nServer: roster\r\nX-Content-Type-Options: nosniff\r\n"
    for status, phrase in _PHRASES.items()
}


class Response:
    """A status, a body or none, JSON unless it says otherwise, and the id of the request.

    `more` are further headers; none of their values may hold a line break.
    """

    __slots__ = ("body", "content_type", "headers", "keep_alive", "status")

    def __init__(
        self,
        status: int,
        request_id: str,
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        more: dict[str, str] | None = None,
        close: bool = False,
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.headers = {REQUEST_ID: request_id, **(more or {})}
        self.keep_alive = not close

    @property
    def sent(self) -> int:
        """How many bytes the body has."""
        return len(self.body) if self.body else 0

    async def prepare(self, request: web.BaseRequest) -> None:
        """Writes all of it. Raises ConnectionResetError if the client has gone."""
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client has gone")
        self.keep_alive = self.keep_alive and request.keep_alive
        connection = ""
        if not self.keep_alive:
            connection = "Connection: close\r\n"
        elif request.version < (1, 1):
            connection = "Connection: keep-alive\r\n"
        data = self.written(connection, with_body=request.method != "HEAD")
        transport.write(data)
        if transport.get_write_buffer_size() > UNREAD_BYTES:
            await wait_for_reader(request, transport)

    def written(self, connection: str, *, with_body: bool) -> bytes:
        """Returns the bytes of it; `connection` is the line that says what becomes of that."""
        head = opening(self.status, self.headers)
        if self.body is not None:
            head.append(
                f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n"
            )
        head += (connection, "\r\n")
        data = "".join(head).encode("ascii")
        return data + self.body if with_body and self.body is not None else data

    async def write_eof(self) -> None:
        """Everything was written by `prepare`."""


def opening(status: int, headers: dict[str, str]) -> list[str]:
    """Returns the status line, what every answer says, and these headers; the rest may follow."""
    head = [_LINES[status], "Date: ", _date(int(time.time())), "\r\n"]
    for name, value in headers.items():
        head += (name, ": ", value, "\r\n")
    return head


async def wait_for_reader(request: web.BaseRequest, transport: asyncio.Transport) -> None:
    """Waits until the client has read on; cuts it off if it takes no byte for READ_SECONDS."""
    drained = asyncio.ensure_future(request.writer.drain())
    try:
        unread = transport.get_write_buffer_size()
        while not (await asyncio.wait([drained], timeout=READ_SECONDS))[0]:
            before, unread = unread, transport.get_write_buffer_size()
            if unread >= before:
                transport.abort()
                raise ConnectionResetError("the client does not read")
        await drained
    finally:
        drained.cancel()


@lru_cache(2)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
