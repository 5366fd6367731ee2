"""HTTP responses that are written in one piece.

aiohttp accepts any object with `prepare`, `write_eof` and `keep_alive`. Its own Response
supports more than these need, at a higher cost for each response.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import orjson

from .options import Options
from .request import Request

# The size of a client's unread data from which the next response waits for the client.
UNREAD_BYTES = 64 * 1024

JSON = "application/json"
HTML = "text/html; charset=utf-8"
REQUEST_ID = "X-Request-Id"

# The status of a canceled call, as documented by google.rpc.Code. No RFC defines it.
CLIENT_CLOSED_REQUEST = 499
_PHRASES = {CLIENT_CLOSED_REQUEST: "Client Closed Request"} | {
    status.value: status.phrase for status in HTTPStatus
}


def json_body(value: Any) -> bytes:
    """Returns JSON with a final newline, so that a shell prompt does not follow it on its line."""
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


class Response:
    """A response with an optional body.

    Header values must not contain line breaks.
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
    def body_size(self) -> int:
        return len(self.body) if self.body else 0

    async def prepare(self, request: Request) -> None:
        """Writes the response. Raises ConnectionResetError if the client disconnected."""
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client disconnected")
        self.keep_alive = self.keep_alive and request.keep_alive and not request.is_draining()
        connection = ""
        if not self.keep_alive:
            connection = "Connection: close\r\n"
        elif request.version < (1, 1):
            connection = "Connection: keep-alive\r\n"
        with_body = request.method != "HEAD"
        transport.write(self.encode(request.options, connection, with_body=with_body))
        if transport.get_write_buffer_size() > UNREAD_BYTES:
            await drain(request, transport)

    def encode(self, options: Options, connection: str, *, with_body: bool = True) -> bytes:
        """Returns the bytes of the response; `connection` is its Connection line or empty."""
        head = head_lines(self.status, options, self.headers)
        body = self.body
        if body is None:
            return f"{head}{connection}\r\n".encode("ascii")
        head += f"Content-Type: {self.content_type}\r\nContent-Length: {len(body)}\r\n"
        data = f"{head}{connection}\r\n".encode("ascii")
        return data + body if with_body else data

    async def write_eof(self) -> None:
        """Everything was written by `prepare`."""


def head_lines(status: int, options: Options, headers: dict[str, str]) -> str:
    """Returns the status line, the headers of every response, and these headers."""
    head = _first_lines(status, options.head_lines, int(time.time()))
    for name, value in headers.items():
        head += f"{name}: {value}\r\n"
    return head


async def drain(
    request: Request,
    transport: asyncio.Transport,
    on_stop: Callable[[], Awaitable[bool]] | None = None,
) -> None:
    """Waits until the client has read enough. Disconnects a client that stops reading.

    Before that, `on_stop` is called. It returns whether the client may read again now.
    """
    drained = asyncio.ensure_future(request.writer.drain())
    try:
        unread = transport.get_write_buffer_size()
        while not (await asyncio.wait([drained], timeout=request.options.write_seconds))[0]:
            before, unread = unread, transport.get_write_buffer_size()
            if unread >= before:
                if on_stop is None or not await on_stop():
                    transport.abort()
                    raise ConnectionResetError("the client does not read the response")
                on_stop = None
        await drained
    finally:
        drained.cancel()


@lru_cache(64)
def _first_lines(status: int, lines: str, second: int) -> str:
    date = formatdate(second, usegmt=True)
    return f"HTTP/1.1 {status} {_PHRASES[status]}\r\n{lines}Date: {date}\r\n"
