"""Unpacks a body that is a ZIP archive.

The list of the files in an archive is at its end, so the body is stored in a temporary file without
a name until the call ends. Its size and that of all archives at once are limited. Their number is
not, because a client that sends slowly would keep others from importing theirs. Small archives are
always accepted.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncGenerator, Iterator
from typing import IO

from ..request_errors import request_error, single_violation
from .archives import ArchiveError, check_compression, content, is_archive, may_be_archive

log = logging.getLogger(__name__)

# Media types of archives. A body of another supported type can be an archive too.
MEDIA_TYPES = {"application/zip", "application/x-zip-compressed", "application/octet-stream"}
MAX_ARCHIVE_BYTES = 256 << 20
MAX_STORED_BYTES = 4 * MAX_ARCHIVE_BYTES
MAX_SMALL_BYTES = 8 << 20
# Small, because every stream can be an archive.
_IN_MEMORY_BYTES = 64 << 10


class Unpacking:
    """Yields a body, or the content of the file in it if it is an archive."""

    # The bytes of the archives that this process stores now.
    stored_bytes = 0

    def __init__(self, body: AsyncGenerator[bytes, None]) -> None:
        self._body = body
        self._start = b""
        # The name of the file in the archive, once it is read.
        self.names: list[str] = []

    async def is_archive(self) -> bool:
        """Reads the first bytes and returns whether the body is an archive. Must be called once.

        Raises RequestError if it is compressed.
        """
        while may_be_archive(self._start) and (data := await anext(self._body, b"")):
            self._start += data
        try:
            check_compression(self._start)
        except ArchiveError as error:
            raise single_violation("INVALID_FORMAT", str(error)) from None
        return is_archive(self._start)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yields the body if it is not an archive."""
        if self._start:
            yield self._start
        async for data in self._body:
            yield data

    async def unpacked(self) -> AsyncGenerator[bytes, None]:
        """Yields the content of the archive. Raises RequestError."""
        size = 0
        try:
            with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
                async for data in self.pieces():
                    size += len(data)
                    Unpacking.stored_bytes += len(data)
                    _check_sizes(size)
                    await asyncio.to_thread(_write, file, data)
                chunks = content(file, self.names)
                while chunk := await asyncio.to_thread(_next, chunks):
                    yield chunk
        finally:
            Unpacking.stored_bytes -= size


def _check_sizes(size: int) -> None:
    """Raises RequestError if an archive of so many bytes, or all together, are too large."""
    if size > MAX_ARCHIVE_BYTES:
        message = f"An archive must be at most {MAX_ARCHIVE_BYTES >> 20} MiB. Unpack it first."
        raise request_error("PAYLOAD_TOO_LARGE", message, close=True)
    if size > MAX_SMALL_BYTES and Unpacking.stored_bytes > MAX_STORED_BYTES:
        message = "Large archives are being imported. Try again, or unpack it first."
        raise request_error("UNAVAILABLE", message, close=True)


def _write(file: IO[bytes], data: bytes) -> None:
    try:
        file.write(data)
    except OSError:
        log.exception("an archive could not be stored")
        message = "The archive cannot be stored. Unpack it first."
        raise request_error("UNAVAILABLE", message, close=True) from None


def _next(chunks: Iterator[bytes]) -> bytes:
    try:
        return next(chunks, b"")
    except ArchiveError as error:
        raise single_violation("INVALID_FORMAT", str(error)) from None
