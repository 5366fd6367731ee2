"""A streamed response.

In HTTP/1.1 its parts are chunks. HTTP/1.0 has no chunks, so the connection is closed at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..request import Request
from ..responses import REQUEST_ID, UNREAD_BYTES, drain, head_lines


class StreamResponse:
    """A response to one request; nothing is sent before `start`.

    Methods that write wait for a slow client, and raise ConnectionError if the client
    disconnected or stopped reading.
    """

    def __init__(
        self,
        request: Request,
        status: int,
        request_id: str,
        on_stop: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`on_stop` is called if the client stops reading, as in `drain`."""
        self._request = request
        self._on_stop = on_stop
        self._head = {REQUEST_ID: request_id, **request.response_headers}
        self._is_chunked = request.version >= (1, 1)
        self.status = status
        # The bytes of the body that were written.
        self.body_size = 0
        self._loop = asyncio.get_running_loop()
        # The time of the last write, on the clock of the event loop.
        self.written_at = self._loop.time()
        self.is_head = request.method == "HEAD"
        self.content_type = ""
        is_open = request.keep_alive and not request.is_draining()
        self.keep_alive = is_open and self._is_chunked

    @property
    def has_started(self) -> bool:
        """Whether the status was sent."""
        return bool(self.content_type)

    @property
    def has_unread(self) -> bool:
        """Whether the client has to read before more can be sent to it."""
        transport = self._request.transport
        return transport is not None and transport.get_write_buffer_size() > 0

    async def start(
        self, content_type: str, more: dict[str, str] | None = None, length: int | None = None
    ) -> None:
        """Writes the status line and the headers.

        With the `length` of the body, there are no chunks, and the parts must have as many bytes.
        """
        self.content_type = content_type
        if length is not None:
            self._is_chunked = False
            self.keep_alive = self._request.keep_alive and not self._request.is_draining()
        head = head_lines(self.status, self._request.options, {**self._head, **(more or {})})
        head += f"Content-Type: {content_type}\r\n"
        if length is not None:
            head += f"Content-Length: {length}\r\n"
        elif self._is_chunked:
            head += "Transfer-Encoding: chunked\r\n"
        if not self.keep_alive:
            head += "Connection: close\r\n"
        await self._send(f"{head}\r\n".encode("ascii"))

    async def write(self, data: bytes) -> None:
        """Writes a part, which must not be empty."""
        if not self.is_head:
            self.body_size += len(data)
            await self._send(b"%x\r\n%b\r\n" % (len(data), data) if self._is_chunked else data)

    async def end(self) -> None:
        """Writes the last chunk."""
        if self._is_chunked and not self.is_head:
            await self._send(b"0\r\n\r\n")

    def abort(self) -> None:
        """Aborts the connection, so that the client detects an incomplete response."""
        self.keep_alive = False
        if self._request.transport is not None:
            self._request.transport.abort()

    async def prepare(self, _request: Request) -> None:
        """Everything was written already."""

    async def write_eof(self) -> None:
        """Everything was written already."""

    async def _send(self, data: bytes) -> None:
        transport = self._request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client disconnected")
        transport.write(data)
        self.written_at = self._loop.time()
        if transport.get_write_buffer_size() > UNREAD_BYTES:
            await drain(self._request, transport, self._on_stop)
