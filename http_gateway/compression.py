"""Compression of responses with gzip, for clients that accept it (RFC 9110, section 12.5.3).

Pages and the OpenAPI document are compressed once; the JSON of a call that is answered once,
each time. Streams are not compressed: every record has to reach the client at once.

Compression can leak a secret to an attacker who sees the length of a response, if the response
also holds text of the attacker's choice (BREACH). Browsers attach no credentials to a request by
themselves here, since keys come in a header that the caller sets, and a response type with a
field that is declared `debug_redact`, such as the secret of a new key, is never compressed.
"""

from __future__ import annotations

import asyncio
import zlib
from functools import lru_cache

from aiohttp import web

from .headers import qualities
from .responses import Response

# A smaller body fits into the packet of its headers, and is not compressed.
MIN_BYTES = 1_024
# For what is compressed for each request, and for what is compressed once.
FAST, BEST = 1, 9
# After so many bytes other requests have a turn.
SLICE_BYTES = 64 * 1_024
# The parameter of zlib for the gzip format.
_GZIP = 31


def accepts_gzip(request: web.BaseRequest) -> bool:
    """Returns whether the client accepts gzip, and does not prefer the body as it is."""
    return _accepts_gzip(",".join(request.headers.getall("Accept-Encoding", ())))


@lru_cache(64)
def _accepts_gzip(accepted: str) -> bool:
    given = qualities(accepted)
    quality = given.get("gzip", given.get("*", 0.0))
    return quality > 0 and quality >= given.get("identity", 0.0)


def gzipped(body: bytes) -> bytes:
    """Returns a body that is compressed once, as small as it gets."""
    return zlib.compress(body, BEST, _GZIP)


async def compress(response: Response, request: web.BaseRequest) -> None:
    """Compresses the body of a response, unless it is small or the client does not accept that.

    Other requests have their turns meanwhile.
    """
    if response.body is None or len(response.body) < MIN_BYTES:
        return
    response.headers["Vary"] = "Accept-Encoding"
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
