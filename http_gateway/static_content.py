"""Content that does not change while the process runs: compressed once, cached by clients."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from hashlib import sha256

from aiohttp import web

from .compression import accepts_gzip, gzipped
from .responses import HTML, Response

# Handles a GET request with its request ID.
Page = Callable[[web.BaseRequest, str], Awaitable[Response]]

_TAG = re.compile(r'"[^"]*"|\*')
# Clients store the content and revalidate it each time, so that they notice an upgrade.
REVALIDATED = "no-cache"
# The content of a URL that contains a hash of it, and content that clients do not store.
IMMUTABLE, NOT_STORED = "public, max-age=31536000, immutable", "no-store"


class StaticContent:
    """A body, plain and compressed with gzip, each with its own strong ETag."""

    def __init__(
        self,
        body: bytes,
        content_type: str,
        headers: Mapping[str, str] | None = None,
        caching: str = REVALIDATED,
    ) -> None:
        self._content_type = content_type
        self._headers = dict(headers or {})
        tag = sha256(body).hexdigest()[:32]
        always = {"Cache-Control": caching, "Vary": "Accept-Encoding"}
        self._plain = (body, {"ETag": f'"{tag}"', **always})
        self._gzipped = (gzipped(body), {"ETag": f'"{tag}-gzip"', **always})

    def response(self, request: web.BaseRequest, request_id: str) -> Response:
        """Returns the content, or 304 if the client has it."""
        is_gzipped = accepts_gzip(request)
        body, caching = self._gzipped if is_gzipped else self._plain
        if has_tag(request, caching["ETag"]):
            return Response(304, request_id, more=caching)
        more = {**self._headers, **caching}
        if is_gzipped:
            more["Content-Encoding"] = "gzip"
        return Response(200, request_id, body, content_type=self._content_type, more=more)


def has_tag(request: web.BaseRequest, tag: str) -> bool:
    """Whether If-None-Match contains the tag or `*`."""
    tags = ",".join(request.headers.getall("If-None-Match", ()))
    return bool({tag, "*"} & set(_TAG.findall(tags)))


def static_page(build: Callable[[], StaticContent]) -> Page:
    """Returns a page with content that is built once, in a thread, while calls continue."""
    build = cache(build)

    async def page(request: web.BaseRequest, request_id: str) -> Response:
        content = await asyncio.to_thread(build)
        return content.response(request, request_id)

    return page


def redirect(status: int, url: str, more: Mapping[str, str] | None = None) -> Page:
    """Returns a page that redirects to a URL."""
    headers = {"Location": url, **(more or {})}

    async def page(_request: web.BaseRequest, request_id: str) -> Response:
        return Response(status, request_id, b"", content_type=HTML, more=dict(headers))

    return page
