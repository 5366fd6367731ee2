"""Unpacks a body that is a ZIP archive.

The list of the files in an archive is at its end, so the body is stored in a temporary file without
a name until the call ends. Its size and the number of archives at once are limited.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import IO

from ..request_errors import RequestError, request_error, single_violation
from .archives import ArchiveError, content, is_archive, may_be_archive

log = logging.getLogger(__name__)

# Media types of archives. A body of another supported type can be an archive too.
MEDIA_TYPES = {"application/zip", "application/x-zip-compressed", "application/octet-stream"}
MAX_ARCHIVE_BYTES = 256 << 20
MAX_ARCHIVES = 4
_IN_MEMORY_BYTES = 1 << 20


class Unpacking:
    """Yields a body, or the content of the file in it if it is an archive."""

    # The archives of this process that are stored now.
    stored = 0

    def __init__(self, body: AsyncGenerator[bytes, None]) -> None:
        self._body = body
        self._start = b""
        # The name of the file in the archive, once it is read.
        self.names: list[str] = []

    async def is_archive(self) -> bool:
        """Reads the first bytes and returns whether the body is an archive. Must be called once."""
        while may_be_archive(self._start) and (data := await anext(self._body, b"")):
            self._start += data
        return is_archive(self._start)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yields the body if it is not an archive."""
        if self._start:
            yield self._start
        async for data in self._body:
            yield data

    async def unpacked(self) -> AsyncGenerator[bytes, None]:
        """Yields the content of the archive. Raises RequestError."""
        with self._file() as file:
            size = 0
            async for data in self.pieces():
                size += len(data)
                if size > MAX_ARCHIVE_BYTES:
                    raise _too_large()
                await asyncio.to_thread(_write, file, data)
            chunks = content(file, self.names)
            while chunk := await asyncio.to_thread(_next, chunks):
                yield chunk

    @contextmanager
    def _file(self) -> Iterator[IO[bytes]]:
        if Unpacking.stored >= MAX_ARCHIVES:
            message = f"{MAX_ARCHIVES} archives are being imported. Try again, or unpack it first."
            raise request_error("UNAVAILABLE", message, close=True)
        Unpacking.stored += 1
        try:
            with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
                yield file
        finally:
            Unpacking.stored -= 1


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


def _too_large() -> RequestError:
    message = f"An archive must be at most {MAX_ARCHIVE_BYTES >> 20} MiB. Unpack it first."
    return request_error("PAYLOAD_TOO_LARGE", message, close=True)
