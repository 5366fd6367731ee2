"""Reading a body: its headers first, then no more of it than is taken.

The limits are looked at before anything is read. What is over them, too slow or
of another kind is left unread, and the connection is closed after the answer.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from .request_errors import RequestError, request_error

MAX_BODY_BYTES = 1024 * 1024
# How long the whole body may take to arrive.
BODY_SECONDS = 10.0


async def read(request: web.BaseRequest) -> bytes:
    """Returns the body. Raises RequestError if it cannot be taken."""
    headers = request.headers
    check_not_compressed(request)
    if not _is_json(headers.get("Content-Type")):
        raise request_error(
            "UNSUPPORTED_MEDIA_TYPE",
            "The Content-Type must be application/json with charset UTF-8.",
            close=True,
        )
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise _too_large()
    await send_continue(request)
    if request.content.is_eof():
        return await _all(request)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _all(request)
    except TimeoutError:
        raise timeout_error() from None


async def _all(request: web.BaseRequest) -> bytes:
    chunks, size = [], 0
    try:
        while chunk := await request.content.readany():
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise _too_large()
    except (web.RequestPayloadError, ConnectionError):
        raise request_error(
            "VALIDATION_ERROR",
            "The body is incomplete, or its chunked encoding is invalid.",
            close=True,
        ) from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def timeout_error() -> RequestError:
    """Returns the fault of a body that does not arrive in time."""
    message = f"The body did not arrive within {BODY_SECONDS:.0f} seconds."
    return request_error("REQUEST_TIMEOUT", message, close=True)


def _too_large() -> RequestError:
    message = f"The body must be at most {MAX_BODY_BYTES:,} bytes long."
    return request_error("PAYLOAD_TOO_LARGE", message, close=True)


def check_not_compressed(request: web.BaseRequest) -> None:
    """Raises RequestError if the body says that it is compressed."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise request_error(
            "UNSUPPORTED_MEDIA_TYPE",
            "Compressed bodies are not supported. Send the body without Content-Encoding.",
            close=True,
        )


async def send_continue(request: web.BaseRequest) -> None:
    """Tells a client that waits to be asked for its body to send it."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _is_json(content_type: str | None) -> bool:
    """Whether a content type says JSON in UTF-8; none at all is taken as that."""
    if content_type is None or content_type == "application/json":
        return True
    return text_type(content_type) == "application/json"


def text_type(content_type: str) -> str | None:
    """Returns the media type of a content type in lower case; None if it is not in UTF-8."""
    kind, _, parameters = content_type.partition(";")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in (
            "utf-8",
            "utf8",
        ):
            return None
    return kind.strip().lower()
