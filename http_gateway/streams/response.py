"""A response that is written in parts and waits for a slow reader.

Over HTTP/1.1 each part is a chunk, and the last chunk marks the end of the response.
HTTP/1.0 has no chunks: the end of the connection is the end of the response.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from .. import responses
from ..responses import REQUEST_ID, UNREAD_BYTES, wait_for_reader


class StreamResponse:
    """A response to one request; nothing is sent before `begin`.

    Every method that writes raises ConnectionError if the client has gone, or does
    not read: one that took no byte for READ_SECONDS is cut off.
    """

    def __init__(self, request: web.BaseRequest, status: int, request_id: str) -> None:
        self._request = request
        self._head = {REQUEST_ID: request_id}
        self._is_chunked = request.version >= (1, 1)
        self.status = status
        # How many bytes of the body were written.
        self.sent = 0
        self._loop = asyncio.get_running_loop()
        # When bytes were last written, on the clock of the event loop.
        self.written_at = self._loop.time()
        self.is_head = request.method == "HEAD"
        self.content_type = ""
        self.keep_alive = request.keep_alive and self._is_chunked

    @property
    def has_begun(self) -> bool:
        """Whether a status was sent, after which there can be no other."""
        return bool(self.content_type)

    async def begin(self, content_type: str, more: dict[str, str] | None = None) -> None:
        """Writes the status line and the headers, these among them."""
        self.content_type = content_type
        head = responses.opening(self.status, {**self._head, **(more or {})})
        head.append(f"Content-Type: {content_type}\r\n")
        if self._is_chunked:
            head.append("Transfer-Encoding: chunked\r\n")
        if not self.keep_alive:
            head.append("Connection: close\r\n")
        head.append("\r\n")
        await self._send("".join(head).encode("ascii"))

    async def write(self, data: bytes) -> None:
        """Writes a part, which may not be empty, and waits while the client has much to read."""
        if not self.is_head:
            self.sent += len(data)
            await self._send(b"%x\r\n%b\r\n" % (len(data), data) if self._is_chunked else data)

    async def end(self) -> None:
        """Writes the last chunk."""
        if self._is_chunked and not self.is_head:
            await self._send(b"0\r\n\r\n")

    def break_off(self) -> None:
        """Aborts the connection, so that the client detects an incomplete response."""
        self.keep_alive = False
        if self._request.transport is not None:
            self._request.transport.abort()

    async def prepare(self, request: web.BaseRequest) -> None:
        """Everything was written already."""

    async def write_eof(self) -> None:
        """Everything was written already."""

    async def _send(self, data: bytes) -> None:
        transport = self._request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has gone")
        transport.write(data)
        self.written_at = self._loop.time()
        if transport.get_write_buffer_size() > UNREAD_BYTES:
            await wait_for_reader(self._request, transport)
