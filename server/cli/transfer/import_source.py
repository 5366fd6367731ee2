"""What an import reads: a file or standard input, packed or not, in pieces of whole lines."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import BinaryIO

from ...console import ExitCode
from ...output_file import STANDARD
from .errors import TransferError
from .files import Form
from .packing import DAMAGED, MAGIC_BYTES, Unpacker, packing_of
from .service_client import PIECE

STANDARD_INPUT = 0
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# A longer line is passed on in pieces; the service refuses it.
_LONGEST_LINE = 1 << 20


class Source:
    """The bytes that are to be imported, and how many of them have been sent.

    Only a file can be read again from its beginning, so only an import of a file can
    go on after it broke off.
    """

    def __init__(self, name: str) -> None:
        """Raises TransferError if there is no such file."""
        self._raw = self._open(name)
        found = os.fstat(self._raw.fileno())
        self._is_file = stat.S_ISREG(found.st_mode)
        self._size = found.st_size
        is_standard = name == STANDARD or _is_standard_input(found)
        self.name = "standard input" if is_standard else name
        self.can_resume = self._is_file and not is_standard
        # What a file is known by again; a change gives it another size or time.
        self.identity = (found.st_size, found.st_mtime_ns)
        self._pipe: asyncio.StreamReader | None = None
        self._content = self._unpacked()
        self._first = b""
        self._lines = 0
        # The number of the last line that is not blank.
        self.last_line = 0
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
            raise TransferError(
                f"{name} cannot be read: {error.strerror}.", ExitCode.USAGE
            ) from error

    async def look(self) -> Form:
        """Returns the form that the first character speaks for: JSON begins with a brace."""
        self._first = await anext(self._content, b"")
        begin = self._first.removeprefix(_BYTE_ORDER_MARK).lstrip()
        return Form.NDJSON if begin.startswith(b"{") else Form.CSV

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields all bytes in pieces of whole lines.

        If they cannot be read to their end, notes that in `fault`, and ends before the line that
        was cut off: the service then takes the rows before it, and reports each.
        """
        begun = b""
        try:
            async for piece in self._all():
                cut = piece.rfind(b"\n") + 1
                if cut or len(begun) > _LONGEST_LINE:
                    yield self._counted(begun + piece[:cut])
                    begun = piece[cut:]
                else:
                    begun += piece
        except TransferError:
            return
        if begun:
            yield self._counted(begun)
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
        self._raw.close()

    def _counted(self, data: bytes) -> bytes:
        text = data.rstrip()
        if text:
            self.last_line = self._lines + text.count(b"\n") + 1
        self._lines += data.count(b"\n")
        return data

    async def _all(self) -> AsyncIterator[bytes]:
        if self._first:
            yield self._first
        async for piece in self._content:
            yield piece

    async def _unpacked(self) -> AsyncIterator[bytes]:
        """Yields the content. Raises TransferError, which `fault` is then, where it ends badly."""
        try:
            piece = await self._beginning()
            packing = packing_of(piece)
            unpacker = Unpacker(packing) if packing else None
            while piece:
                for content in unpacker.unpack(piece) if unpacker else (piece,):
                    yield content
                piece = await self._read()
            if unpacker:
                unpacker.finish()
        except (OSError, *DAMAGED) as error:
            reason = error.strerror if isinstance(error, OSError) else f"it is damaged: {error}"
            self.fault = TransferError(f"{self.name} cannot be read: {reason}.", ExitCode.USAGE)
            raise self.fault from error

    async def _beginning(self) -> bytes:
        """Returns the first bytes, enough to recognize how they are packed."""
        begin = piece = await self._read()
        while piece and len(begin) < MAGIC_BYTES:
            piece = await self._read()
            begin += piece
        return begin

    async def _read(self) -> bytes:
        pipe = await self._opened_pipe()
        return await pipe.read(PIECE) if pipe else self._raw.read(PIECE)

    async def _opened_pipe(self) -> asyncio.StreamReader | None:
        """Returns a reader for what may let one wait, which must not keep answers from coming."""
        waits = not self._is_file and stat.S_ISFIFO(os.fstat(self._raw.fileno()).st_mode)
        if waits and self._pipe is None:
            pipe = self._pipe = asyncio.StreamReader(limit=PIECE)
            await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(pipe), self._raw
            )
        return self._pipe


def _is_standard_input(found: os.stat_result) -> bool:
    """Whether a file that is open is the one that standard input comes from."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(STANDARD_INPUT), found)
    return False
