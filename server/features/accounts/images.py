"""Reads the type and the dimensions of PNG, JPEG, GIF and WebP images from their structure.

Public pages show logos, so a file that only begins like an image, is cut off, contradicts
itself or unpacks to more than its dimensions is not one. SVG is not accepted: it can contain
scripts.
"""

from __future__ import annotations

import zlib
from struct import error as StructError  # noqa: N812 - the name of the library is in lower case
from struct import unpack_from
from typing import NamedTuple

# Pixels.
MAX_SIDE = 2_048

_PNG, _JPEG, _WEBP = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"WEBP"
# Samples per pixel, by color type.
_PNG_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# By interlace method, the first pixel (x, y) and the steps (x, y) of each pass.
_PNG_PASSES = {
    0: ((0, 0, 1, 1),),
    1: (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ),
}
# Start of a frame, of any coding.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_SCAN, _JPEG_END = 0xDA, b"\xff\xd9"
_GIF_EXTENSION, _GIF_IMAGE, _GIF_END = 0x21, 0x2C, 0x3B


class Image(NamedTuple):
    """The media type of an image, and its dimensions in pixels."""

    media_type: str
    width: int
    height: int

    @property
    def is_too_large(self) -> bool:
        return max(self.width, self.height) > MAX_SIDE


def read_image(data: bytes) -> Image | None:
    """Returns the image in a file, or None if it is not a whole one."""
    try:
        image = _image(data)
    except (ValueError, LookupError, StructError, zlib.error):
        return None
    return image if image and image.width and image.height else None


def _image(data: bytes) -> Image | None:
    if data.startswith(_PNG):
        return Image("image/png", *_png(data))
    if data.startswith(_JPEG):
        return Image("image/jpeg", *_jpeg(data))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return Image("image/gif", *_gif(data))
    if data.startswith(b"RIFF") and data[8:12] == _WEBP:
        return Image("image/webp", *_webp(data))
    return None


def _check(condition: bool) -> None:
    if not condition:
        raise ValueError


def _png(data: bytes) -> tuple[int, int]:
    chunks: list[tuple[bytes, bytes]] = []
    position = len(_PNG)
    while position < len(data):
        length, kind = unpack_from(">I4s", data, position)
        content = data[position + 8 : position + 8 + length]
        (checksum,) = unpack_from(">I", data, position + 8 + length)
        _check(checksum == zlib.crc32(kind + content))
        chunks.append((kind, content))
        position += 12 + length
    _check(
        chunks[0][0] == b"IHDR" and [kind for kind, _ in chunks].index(b"IEND") == len(chunks) - 1
    )
    width, height, depth, color, *_, interlace = unpack_from(">IIBBBBB", chunks[0][1])
    if max(width, height) <= MAX_SIDE:
        bits, size = depth * _PNG_SAMPLES[color], 0
        for left, top, across, down in _PNG_PASSES[interlace]:
            columns, rows = -((left - width) // across), -((top - height) // down)
            size += rows * (1 + (columns * bits + 7) // 8) if columns > 0 and rows > 0 else 0
        pixels = b"".join(content for kind, content in chunks if kind == b"IDAT")
        unpacked = zlib.decompressobj().decompress(pixels, size + 1)
        _check(len(unpacked) == size)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int]:
    position, kind, dimensions = 2, 0, (0, 0)
    _check(data.endswith(_JPEG_END))
    while kind != _JPEG_SCAN:
        marker, kind = unpack_from(">BB", data, position)
        _check(marker == 0xFF)
        position += 1
        if kind != 0xFF:  # a fill byte
            (length,) = unpack_from(">H", data, position + 1)
            _check(length >= 2)
            if kind in _JPEG_FRAMES:
                height, width = unpack_from(">HH", data, position + 4)
                dimensions = (width, height)
            position += 1 + length
    return dimensions


def _gif(data: bytes) -> tuple[int, int]:
    width, height, flags = unpack_from("<HHB", data, 6)
    position, images = 13 + _gif_colors(flags), 0
    # Some programs write no end, or zeros between blocks.
    while position < len(data) and data[position] != _GIF_END:
        if not data[position]:
            position += 1
            continue
        if data[position] == _GIF_EXTENSION:
            position += 2
        else:
            _check(data[position] == _GIF_IMAGE)
            left, top, columns, rows, flags = unpack_from("<HHHHB", data, position + 1)
            _check(left + columns <= width and top + rows <= height)
            position += 11 + _gif_colors(flags)
            images += 1
        while size := data[position]:
            position += 1 + size
        position += 1
    _check(images > 0 and position >= len(data) - 1)
    return width, height


def _gif_colors(flags: int) -> int:
    """Returns the number of bytes of a color table."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _webp(data: bytes) -> tuple[int, int]:
    _check(unpack_from("<I", data, 4) == (len(data) - 8,))
    canvas, image = (0, 0), (0, 0)
    position = 12
    while position < len(data):
        kind, length = unpack_from("<4sI", data, position)
        position += 8
        _check(position + length <= len(data))
        if kind == b"VP8X":
            across, down = (data[position + at : position + at + 3] for at in (4, 7))
            canvas = int.from_bytes(across, "little") + 1, int.from_bytes(down, "little") + 1
        elif kind == b"VP8 ":
            _check(data[position + 3 : position + 6] == b"\x9d\x01\x2a")
            across, down = unpack_from("<HH", data, position + 6)
            image = across & 0x3FFF, down & 0x3FFF
        elif kind == b"VP8L":
            marker, bits = unpack_from("<BI", data, position)
            _check(marker == 0x2F)
            image = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        elif kind == b"ANMF":
            image = canvas
        position += length + length % 2
    _check(canvas in ((0, 0), image))
    return image
