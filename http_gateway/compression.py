"""Compression of responses with gzip, for clients that accept it (RFC 9110, section 12.5.3).

Pages and the OpenAPI document are compressed once, responses of unary calls each time. Streams
are not compressed, because each record must reach the client immediately.

If a response contains a secret and text of an attacker's choice, its compressed length can leak
the secret (BREACH). Browsers add no credentials to requests here, since the caller sets the
header with the key. Response types with a `debug_redact` field, such as the secret of a new
key, are never compressed.
"""

from __future__ import annotations

import asyncio
import zlib
from functools import lru_cache

from aiohttp import web

from .headers import add_vary, qualities
from .responses import Response

# Smaller bodies fit into one packet with their headers, and are not compressed.
MIN_BYTES = 1_024
# Compression levels for responses, and for static content.
FAST, BEST = 1, 9
# Compression yields to the event loop after each slice.
SLICE_BYTES = 64 * 1_024
# The parameter of zlib for the gzip format.
_GZIP = 31


def accepts_gzip(request: web.BaseRequest) -> bool:
    """Whether the client accepts gzip and does not prefer `identity`."""
    return _accepts_gzip(",".join(request.headers.getall("Accept-Encoding", ())))


@lru_cache(64)
def _accepts_gzip(accepted: str) -> bool:
    by_name = qualities(accepted)
    quality = by_name.get("gzip", by_name.get("*", 0.0))
    return quality > 0 and quality >= by_name.get("identity", 0.0)


def gzipped(body: bytes) -> bytes:
    """Compresses static content."""
    return zlib.compress(body, BEST, _GZIP)


async def compress(response: Response, request: web.BaseRequest) -> None:
    """Compresses the body of a response if it is large enough and the client accepts gzip."""
    if response.body is None or len(response.body) < MIN_BYTES:
        return
    add_vary(response.headers, "Accept-Encoding")
    if accepts_gzip(request):
        response.headers["Content-Encoding"] = "gzip"
        response.body = await _in_slices(response.body)


async def _in_slices(body: bytes) -> bytes:
    compressor = zlib.compressobj(FAST, wbits=_GZIP)
    parts = []
    for start in range(0, len(body), SLICE_BYTES):
        if start:
            await asyncio.sleep(0)
        parts.append(compressor.compress(body[start : start + SLICE_BYTES]))
    return b"".join((*parts, compressor.flush()))
