"""Reads the file or standard input of an import in chunks of complete lines.

Compressed files and ZIP archives are unpacked.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import BinaryIO

from rosterd.http_gateway.streams import archives

from ...serving.console import CommandError, ExitCode
from ...storage.output_file import STANDARD
from ..common.files import CHUNK_BYTES, FileFormat, format_by_suffix
from .compression import DECOMPRESSION_ERRORS, MAGIC_BYTES, Decompressor, detect_compression

STANDARD_INPUT = 0
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The service rejects longer rows. A line can have four times as many bytes in another encoding. A
# longer one, such as the content of a compression bomb, is not sent.
_MAX_ROW_BYTES = 1 << 20
_MAX_LINE_BYTES = 4 * _MAX_ROW_BYTES


class Source:
    """The input of an import. Only a regular file can be read again to resume an import."""

    def __init__(self, name: str) -> None:
        """Raises CommandError if the file cannot be opened."""
        self._raw = self._open(name)
        status = os.fstat(self._raw.fileno())
        self._is_file = stat.S_ISREG(status.st_mode)
        self._size = status.st_size
        is_standard = name == STANDARD or _is_standard_input(status)
        self.name = "standard input" if is_standard else name
        self.can_resume = self._is_file and not is_standard
        # Detects a changed file.
        self.identity = (status.st_size, status.st_mtime_ns)
        self._pipe: asyncio.StreamReader | None = None
        self._content = self._decompressed()
        # The first chunk, once the format is detected.
        self.first = b""
        self._lines = 0
        self.ended = False
        self.error: CommandError | None = None

    def _open(self, name: str) -> BinaryIO:
        if name == STANDARD:
            return sys.stdin.buffer
        try:
            return open(name, "rb")
        except FileNotFoundError:
            raise CommandError(f"The file {name} does not exist.", ExitCode.USAGE) from None
        except OSError as error:
            raise CommandError(
                f"{name} cannot be read: {error.strerror}.", ExitCode.USAGE
            ) from error

    async def detect_format(self) -> FileFormat:
        """Returns NDJSON if the content starts with a brace or bracket, else by the suffix."""
        self.first = await anext(self._content, b"")
        if self.starts_as_json:
            return FileFormat.NDJSON
        return format_by_suffix(self.name) or FileFormat.CSV

    @property
    def starts_as_json(self) -> bool:
        """Whether the first chunk starts with a brace or bracket."""
        return self.first.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith((b"{", b"["))

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the content in chunks of complete lines.

        On a read error or at a line that is too long, sets `error` and ends before that line, so
        that the service imports the rows before it and reports their results.
        """
        line = b""
        # An array can be one line.
        is_array = self.first.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"[")
        try:
            async for chunk in self._all():
                # A CR at the end can be a part of CRLF.
                cut = max(chunk.rfind(b"\n"), chunk.rfind(b"\r", 0, -1)) + 1
                if cut or (is_array and line):
                    yield self._counted(line + chunk[:cut])
                    line = chunk[cut:]
                else:
                    line += chunk
                if len(line) > _MAX_LINE_BYTES:
                    self.error = CommandError(
                        f"{self.name} cannot be imported: line {self._lines + 1:,} has more than"
                        f" {_MAX_LINE_BYTES:,} bytes. A row can have at most {_MAX_ROW_BYTES:,}.",
                        ExitCode.USAGE,
                    )
                    return
        except CommandError:
            return
        if line:
            yield line
        self.ended = True

    def _counted(self, data: bytes) -> bytes:
        self._lines += data.count(b"\n")
        return data

    def total_lines(self, sent: int) -> int | None:
        """Returns the number of lines after `sent` lines.

        It is an estimate until all are read, and None for a pipe.
        """
        if self.ended:
            return sent
        if not self._is_file or not sent:
            return None
        return sent * self._size // max(self._raw.tell(), 1)

    def close(self) -> None:
        self._raw.close()

    async def _all(self) -> AsyncIterator[bytes]:
        if self.first:
            yield self.first
        async for chunk in self._content:
            yield chunk

    async def _decompressed(self) -> AsyncIterator[bytes]:
        """Yields the content. On failure, sets `error` and raises it."""
        try:
            chunk = await self._start()
            if archives.is_archive(chunk):
                async for content in self._unpacked(chunk):
                    yield content
                return
            compression = detect_compression(chunk)
            decompressor = Decompressor(compression) if compression else None
            while chunk:
                for content in decompressor.decompress(chunk) if decompressor else (chunk,):
                    yield content
                chunk = await self._read()
            if decompressor:
                decompressor.finish()
        except archives.ArchiveError as error:
            self.error = CommandError(f"{self.name} {error}", ExitCode.USAGE)
            raise self.error from error
        except (OSError, *DECOMPRESSION_ERRORS) as error:
            reason = error.strerror if isinstance(error, OSError) else f"it is damaged: {error}"
            self.error = CommandError(f"{self.name} cannot be read: {reason}.", ExitCode.USAGE)
            raise self.error from error

    async def _unpacked(self, start: bytes) -> AsyncIterator[bytes]:
        """Yields the content of an archive, which is copied unless it is a file."""
        with tempfile.TemporaryFile() as copy:
            while not self._is_file and start:
                copy.write(start)
                if copy.tell() > archives.MAX_BYTES:
                    raise archives.ArchiveError("is too large for a ZIP archive.")
                start = await self._read()
            for content in archives.content(self._raw if self._is_file else copy):
                yield content

    async def _start(self) -> bytes:
        """Returns the first bytes, enough to detect the compression."""
        start = chunk = await self._read()
        while chunk and len(start) < MAGIC_BYTES:
            chunk = await self._read()
            start += chunk
        return start

    async def _read(self) -> bytes:
        pipe = await self._open_pipe()
        return await pipe.read(CHUNK_BYTES) if pipe else self._raw.read(CHUNK_BYTES)

    async def _open_pipe(self) -> asyncio.StreamReader | None:
        """Returns a reader for a FIFO, whose blocking reads would delay responses."""
        is_fifo = not self._is_file and stat.S_ISFIFO(os.fstat(self._raw.fileno()).st_mode)
        if is_fifo and self._pipe is None:
            pipe = self._pipe = asyncio.StreamReader(limit=CHUNK_BYTES)
            await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(pipe), self._raw
            )
        return self._pipe


def _is_standard_input(status: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(STANDARD_INPUT), status)
    return False
