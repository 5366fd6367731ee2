"""Makes PNG files of screens smaller: they have few colors, so that one byte a pixel is enough."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

COLORS = 256
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def smaller(png: bytes) -> bytes:
    """Returns the image with a palette of its most frequent colors, and the nearest for others."""
    width, height, size, rows = _decoded(png)
    pixels = [row[index : index + 3] for row in rows for index in range(0, width * size, size)]
    counts = Counter(pixels)
    palette = [color for color, _ in counts.most_common(COLORS)]
    indexes = {color: _nearest(color, palette) for color in counts}
    body = bytearray()
    for start in range(0, width * height, width):
        body.append(0)
        body += bytes(indexes[pixel] for pixel in pixels[start : start + width])
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", b"".join(palette)),
        (b"IDAT", zlib.compress(bytes(body), 9)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def _nearest(color: bytes, palette: list[bytes]) -> int:
    red, green, blue = color
    return min(
        range(len(palette)),
        key=lambda index: (
            (palette[index][0] - red) ** 2
            + (palette[index][1] - green) ** 2
            + (palette[index][2] - blue) ** 2
        ),
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def _decoded(png: bytes) -> tuple[int, int, int, list[bytes]]:
    """Returns the width, the height, the bytes of a pixel and the rows."""
    chunks = list(_chunks(png))
    width, height, depth, kind = struct.unpack(">IIBB", chunks[0][1][:10])
    assert depth == 8
    size = {2: 3, 6: 4}[kind]
    data = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    rows: list[bytes] = []
    above = bytes(width * size)
    for start in range(0, len(data), width * size + 1):
        above = _unfiltered(data[start], data[start + 1 : start + 1 + width * size], above, size)
        rows.append(above)
    return width, height, size, rows


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = len(_SIGNATURE)
    while position < len(png):
        (length,) = struct.unpack_from(">I", png, position)
        yield png[position + 4 : position + 8], png[position + 8 : position + 8 + length]
        position += length + 12


def _unfiltered(kind: int, row: bytes, above: bytes, size: int) -> bytes:
    result = bytearray(row)
    for index in range(len(row)):
        left = result[index - size] if index >= size else 0
        corner = above[index - size] if index >= size else 0
        guess = (0, left, above[index], (left + above[index]) // 2, 0)[kind]
        if kind == 4:
            guess = _paeth(left, above[index], corner)
        result[index] = (row[index] + guess) & 255
    return bytes(result)


def _paeth(left: int, above: int, corner: int) -> int:
    estimate = left + above - corner
    return min((left, above, corner), key=lambda each: abs(estimate - each))
