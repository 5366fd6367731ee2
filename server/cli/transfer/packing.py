"""gzip and Zstandard: recognizing, unpacking and packing files.

A stream is unpacked piece by piece, and no piece is longer than PIECE, whatever it unpacks
to. A stream may have several members (gzip) or frames (Zstandard), one after the other.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, NamedTuple, Protocol, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from .files import GZIP_ENDING, ZSTD_ENDING
from .service_client import PIECE

# What unpacking raises if the data is damaged or ends early.
DAMAGED = (zlib.error, zstd.ZstdError, EOFError)
_GZIP_LEVEL = 6


class _Decompressor(Protocol):
    """Unpacks one member; with b"" it goes on with what it was given before."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gunzip:
    """Gives zlib the interface that the other decompressors of the standard library have."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


class Packing(NamedTuple):
    """A form in which files are packed."""

    name: str
    ending: str
    # A stream begins with one of these.
    magic: tuple[bytes, ...]
    decompressor: Callable[[], _Decompressor]
    pack: Callable[[BinaryIO], AbstractContextManager[BinaryIO]]


def _pack_gzip(file: BinaryIO) -> AbstractContextManager[BinaryIO]:
    packed = gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0)
    return cast(AbstractContextManager[BinaryIO], packed)


def _pack_zstd(file: BinaryIO) -> AbstractContextManager[BinaryIO]:
    return cast(AbstractContextManager[BinaryIO], zstd.ZstdFile(file, "wb"))


PACKINGS = (
    Packing("gzip", GZIP_ENDING, (b"\x1f\x8b",), _Gunzip, _pack_gzip),
    Packing(
        "Zstandard",
        ZSTD_ENDING,
        # A frame, or one that is skipped, with which some programs begin.
        (b"\x28\xb5\x2f\xfd", *(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))),
        zstd.ZstdDecompressor,
        _pack_zstd,
    ),
)
# How many bytes are needed to recognize a form.
MAGIC_BYTES = 4


def packing_of(data: bytes) -> Packing | None:
    """Returns the form in which a stream is packed that begins with this data, if it is."""
    return next((each for each in PACKINGS if data.startswith(each.magic)), None)


def packing_by_ending(name: str) -> Packing | None:
    """Returns the form that the end of a file's name stands for, if it stands for one."""
    return next((each for each in PACKINGS if name.lower().endswith(each.ending)), None)


class Unpacker:
    """Unpacks one stream."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._member: _Decompressor | None = None

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """Yields what the next bytes unpack to. Raises one of DAMAGED."""
        while True:
            if self._member is None:
                # Zeros after the last member fill up a block of a tape.
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._member = self._packing.decompressor()
            piece = self._member.decompress(data, PIECE)
            if piece:
                yield piece
            data = b""
            if self._member.eof:
                data, self._member = self._member.unused_data, None
            elif len(piece) < PIECE:
                return

    def finish(self) -> None:
        """Raises EOFError if the stream has not come to its end."""
        if self._member is not None:
            raise EOFError(f"the {self._packing.name} data ends early")
