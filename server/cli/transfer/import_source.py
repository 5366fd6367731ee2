"""What an import reads: a file, packed or not, or standard input, in pieces."""

from __future__ import annotations

import asyncio
import gzip
import stat
import sys
import zlib
from collections.abc import AsyncIterator
from io import BufferedIOBase
from os import fstat
from typing import BinaryIO, NoReturn

from ..output import ExitCode
from .failing import TransferError
from .files import STANDARD, Form
from .remote import PIECE

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Source:
    """The bytes that are to be imported, and how many of them have been sent.

    Only a file can be read again from its beginning, so only an import of a file can
    go on after it broke off.
    """

    def __init__(self, name: str) -> None:
        """Raises TransferError if there is no such file."""
        self.name = "standard input" if name == STANDARD else name
        self._raw = self._open(name)
        found = fstat(self._raw.fileno())
        self._is_file = stat.S_ISREG(found.st_mode)
        self._size = found.st_size
        self.can_resume = self._is_file and name != STANDARD
        # What a file is known by again; a change gives it another size or time.
        self.identity = (found.st_size, found.st_mtime_ns)
        self._unpacked: BinaryIO | BufferedIOBase = self._raw
        if self.can_resume and name.endswith(".gz"):
            self._unpacked = gzip.GzipFile(fileobj=self._raw)
        self._pipe: asyncio.StreamReader | None = None
        self._first = b""
        self._lines = 0
        self.ended = False
        self.fault: TransferError | None = None

    def _open(self, name: str) -> BinaryIO:
        if name == STANDARD:
            return sys.stdin.buffer
        try:
            return open(name, "rb")
        except FileNotFoundError:
            raise TransferError(f"There is no file {name}.", ExitCode.USAGE) from None
        except OSError as error:
            self._fail(error.strerror)

    async def look(self) -> Form:
        """Returns the form that the first character speaks for: JSON begins with a brace."""
        self._first = await self._read()
        begin = self._first.removeprefix(_BYTE_ORDER_MARK).lstrip()
        return Form.NDJSON if begin.startswith(b"{") else Form.CSV

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields all bytes. Raises TransferError, and notes it in `fault`, where they end badly."""
        piece = self._first or await self._read()
        while piece:
            self._lines += piece.count(b"\n")
            yield piece
            piece = await self._read()
        self.ended = True

    def total_lines(self) -> int | None:
        """Returns how many lines there are: a guess until all are read, None for a pipe."""
        if self.ended:
            return self._lines
        if not self._is_file or not self._lines:
            return None
        return self._lines * self._size // max(self._raw.tell(), 1)

    def close(self) -> None:
        """Closes the file."""
        self._unpacked.close()
        self._raw.close()

    async def _read(self) -> bytes:
        try:
            pipe = await self._opened_pipe()
            return await pipe.read(PIECE) if pipe else self._unpacked.read(PIECE)
        except (OSError, EOFError, zlib.error) as error:
            self._fail(str(error))

    async def _opened_pipe(self) -> asyncio.StreamReader | None:
        """Returns a reader for what may let one wait, which must not keep answers from coming."""
        waits = not self._is_file and stat.S_ISFIFO(fstat(self._raw.fileno()).st_mode)
        if waits and self._pipe is None:
            pipe = self._pipe = asyncio.StreamReader(limit=PIECE)
            await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(pipe), self._raw
            )
        return self._pipe

    def _fail(self, why: str | None) -> NoReturn:
        self.fault = TransferError(f"{self.name} cannot be read: {why}.", ExitCode.USAGE)
        raise self.fault
