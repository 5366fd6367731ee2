"""Reads request bodies.

The headers and the declared size are checked before the body is read. The rest of a rejected
body is not read, and its connection is closed after the response.
"""

from __future__ import annotations

import asyncio
import zlib
from contextlib import suppress

from aiohttp import web

from .headers import is_printable
from .request import Request
from .request_errors import RequestError, request_error

MAX_BODY_BYTES = 1024 * 1024
# The part of a form of a page that is read, and that is decompressed.
_MAX_FORM_BYTES = 64 * 1024
# The media type of a form in an encoding that is not known, or that is damaged.
UNREADABLE = "application/octet-stream"
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_RAW_DEFLATE = -zlib.MAX_WBITS
_GZIP = b"\x1f\x8b"
_MAX_GZIP_MEMBERS = 8


async def read(request: Request, *, any_type: bool = False) -> bytes:
    """Returns a body that is JSON, or one of any media type. Raises RequestError."""
    check_not_compressed(request)
    if not (any_type or _is_json(request.headers.get("Content-Type"))):
        raise request_error(
            "UNSUPPORTED_MEDIA_TYPE",
            "The Content-Type must be application/json with charset UTF-8.",
            close=True,
        )
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise _too_large()
    await send_continue(request)
    if request.content.is_eof():
        return await _read_to_end(request)
    seconds = request.options.body_seconds
    try:
        async with asyncio.timeout(seconds):
            return await _read_to_end(request)
    except TimeoutError:
        raise timeout_error(seconds) from None


async def _read_to_end(request: Request) -> bytes:
    chunks, size = [], 0
    try:
        while chunk := await request.content.readany():
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise _too_large()
    except (web.RequestPayloadError, ConnectionError):
        raise incomplete_error() from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def read_form(request: Request) -> tuple[bytes, str]:
    """Returns the start of a body that the form of a page sends, and its media type.

    Mail programs send forms too, and those of some are compressed with gzip or deflate. A form that
    cannot be read, is too large or does not arrive is still sent: it has the type `UNREADABLE`.
    """
    encoding, content_type = _encoding(request), request.headers.get("Content-Type", "")
    data, is_complete = await _read_start(request)
    if not (is_complete and is_printable(content_type)):
        content_type = UNREADABLE
    if encoding == "identity" and not _is_transfer_compressed(request):
        return data, content_type
    form = _decompressed(data, _GZIP_OR_ZLIB)
    if form is None and encoding == "deflate":
        form = _decompressed(data, _RAW_DEFLATE)
    return (data, UNREADABLE) if form is None else (form, content_type)


async def _read_start(request: Request) -> tuple[bytes, bool]:
    """Returns the start of a body, and whether that is all of it."""
    data = bytearray()
    await send_continue(request)
    with suppress(TimeoutError, web.RequestPayloadError, ConnectionError):
        async with asyncio.timeout(request.options.body_seconds):
            while len(data) <= _MAX_FORM_BYTES and (chunk := await request.content.readany()):
                data += chunk
    return bytes(data[:_MAX_FORM_BYTES]), len(data) <= _MAX_FORM_BYTES and not is_unread(request)


def _decompressed(data: bytes, format_: int) -> bytes | None:
    """Returns the start of the data, or None if it is damaged.

    An empty body has no data. What follows the data is ignored, unless it is more of gzip.
    """
    parts = list[bytes]()
    left = _MAX_FORM_BYTES
    while left and data and (not parts or data.startswith(_GZIP)):
        decompressor = zlib.decompressobj(format_)
        try:
            parts.append(decompressor.decompress(data, left))
        except zlib.error:
            return None
        left -= len(parts[-1])
        is_cut = left and not decompressor.eof
        if is_cut or len(parts) > _MAX_GZIP_MEMBERS:
            return None
        data = decompressor.unused_data
    return b"".join(parts)


def is_unread(request: Request) -> bool:
    """Whether a body was not read to its end, or is malformed."""
    return not request.content.is_eof() or request.content.exception() is not None


async def discard(request: Request, idle_seconds: float) -> bool:
    """Discards the rest of a stream. Returns whether it ended within the limits of the options.

    It must not be idle for `idle_seconds`.
    """
    options, size = request.options, 0
    try:
        async with asyncio.timeout(options.discarded_seconds):
            while size <= options.discarded_bytes:
                async with asyncio.timeout(idle_seconds):
                    data = await request.content.readany()
                if not data:
                    return True
                size += len(data)
    except (TimeoutError, web.RequestPayloadError, ConnectionError):
        pass
    return False


def timeout_error(seconds: float) -> RequestError:
    message = f"The body did not arrive within {seconds:.0f} seconds."
    return request_error("REQUEST_TIMEOUT", message, close=True)


def incomplete_error() -> RequestError:
    message = "The body is incomplete, or its chunked encoding is invalid."
    return request_error("VALIDATION_ERROR", message, close=True)


def _too_large() -> RequestError:
    message = f"The body must be at most {MAX_BODY_BYTES:,} bytes long."
    return request_error("PAYLOAD_TOO_LARGE", message, close=True)


def check_not_compressed(request: Request) -> None:
    """Raises RequestError if the body has a content encoding, or is compressed for the transfer.

    aiohttp decodes no transfer encoding but chunked, and ignores others before it.
    """
    if _encoding(request) != "identity":
        raise _compressed_error("Content-Encoding")
    if _is_transfer_compressed(request):
        raise _compressed_error("Transfer-Encoding")


def _is_transfer_compressed(request: Request) -> bool:
    return request.headers.get("Transfer-Encoding", "chunked").strip().lower() != "chunked"


def _encoding(request: Request) -> str:
    return request.headers.get("Content-Encoding", "identity").strip().lower()


def _compressed_error(name: str) -> RequestError:
    message = f"Compressed bodies are not supported. Send the body without {name}."
    return request_error("UNSUPPORTED_MEDIA_TYPE", message, close=True)


async def send_continue(request: Request) -> None:
    """Sends 100 Continue if the client expects it."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _is_json(content_type: str | None) -> bool:
    """Whether a content type is JSON in UTF-8, which is the default."""
    if content_type is None or content_type == "application/json":
        return True
    return text_type(content_type) == "application/json"


def text_type(content_type: str) -> str | None:
    """Returns the media type of a content type in lower case; None if it is not in UTF-8."""
    kind, charset = media_type(content_type)
    return kind if charset in ("", "utf-8", "utf8") else None


def media_type(content_type: str) -> tuple[str, str]:
    """Returns the media type and the charset of a content type, in lower case."""
    kind, _, parameters = content_type.partition(";")
    charset = ""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip('"').lower()
    return kind.strip().lower(), charset
