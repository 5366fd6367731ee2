"""Detects, compresses and decompresses gzip and Zstandard files.

Data is decompressed in chunks of at most CHUNK_BYTES, so that a compression bomb cannot exhaust
the memory. A stream can consist of several members (gzip) or frames (Zstandard).
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

from ..common.files import CHUNK_BYTES, GZIP_SUFFIX, ZSTD_SUFFIX

# Raised by decompression if the data is corrupt or truncated.
DECOMPRESSION_ERRORS = (zlib.error, zstd.ZstdError, EOFError)
_GZIP_LEVEL = 6


class _MemberDecompressor(Protocol):
    """Decompresses one member. b"" as data continues with data that was passed before."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gunzip:
    """Adapts zlib to the interface of the other decompressors of the standard library."""

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


class Compression(NamedTuple):
    """A compression format. A stream starts with one of the `magic` numbers."""

    name: str
    suffix: str
    magic: tuple[bytes, ...]
    decompressor: Callable[[], _MemberDecompressor]
    compress: Callable[[BinaryIO], AbstractContextManager[BinaryIO]]


def _compress_gzip(file: BinaryIO) -> AbstractContextManager[BinaryIO]:
    compressed = gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0)
    return cast(AbstractContextManager[BinaryIO], compressed)


def _compress_zstd(file: BinaryIO) -> AbstractContextManager[BinaryIO]:
    return cast(AbstractContextManager[BinaryIO], zstd.ZstdFile(file, "wb"))


COMPRESSIONS = (
    Compression("gzip", GZIP_SUFFIX, (b"\x1f\x8b",), _Gunzip, _compress_gzip),
    Compression(
        "Zstandard",
        ZSTD_SUFFIX,
        # A frame, or a skippable frame, which some programs write first.
        (b"\x28\xb5\x2f\xfd", *(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))),
        zstd.ZstdDecompressor,
        _compress_zstd,
    ),
)
# Number of bytes that identify a format.
MAGIC_BYTES = 4


def detect_compression(data: bytes) -> Compression | None:
    """Returns the format of a stream that starts with this data, or None if uncompressed."""
    return next(
        (compression for compression in COMPRESSIONS if data.startswith(compression.magic)), None
    )


def compression_by_suffix(name: str) -> Compression | None:
    """Returns the format for the suffix of a file name, if it has one."""
    return next(
        (compression for compression in COMPRESSIONS if name.lower().endswith(compression.suffix)),
        None,
    )


class Decompressor:
    """Decompresses one stream."""

    def __init__(self, compression: Compression) -> None:
        self._compression = compression
        self._member: _MemberDecompressor | None = None

    def decompress(self, data: bytes) -> Iterator[bytes]:
        """Yields the decompressed data. Raises one of DECOMPRESSION_ERRORS."""
        while True:
            if self._member is None:
                # Zeros after the last member are padding of a tape block.
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._member = self._compression.decompressor()
            chunk = self._member.decompress(data, CHUNK_BYTES)
            if chunk:
                yield chunk
            data = b""
            if self._member.eof:
                data, self._member = self._member.unused_data, None
            elif len(chunk) < CHUNK_BYTES:
                return

    def finish(self) -> None:
        """Raises EOFError if the stream is truncated."""
        if self._member is not None:
            raise EOFError(f"the {self._compression.name} data is truncated")
