"""Content that does not change while the process runs: compressed once, cached by clients."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256

from aiohttp import web

from .compression import accepts_gzip, gzipped
from .responses import Response

_TAG = re.compile(r'"[^"]*"|\*')
# Clients store the content and revalidate it each time, so that they notice an upgrade.
_CACHING = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding"}


class StaticContent:
    """A body, plain and compressed with gzip, each with its own strong ETag."""

    def __init__(
        self, body: bytes, content_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self._content_type = content_type
        self._headers = dict(headers or {})
        tag = sha256(body).hexdigest()[:32]
        self._plain = (body, {"ETag": f'"{tag}"', **_CACHING})
        self._gzipped = (gzipped(body), {"ETag": f'"{tag}-gzip"', **_CACHING})

    def response(self, request: web.BaseRequest, request_id: str) -> Response:
        """Returns the content, or 304 if the client has it."""
        is_gzipped = accepts_gzip(request)
        body, caching = self._gzipped if is_gzipped else self._plain
        if _has(request, caching["ETag"]):
            return Response(304, request_id, more=caching)
        more = {**self._headers, **caching}
        if is_gzipped:
            more["Content-Encoding"] = "gzip"
        return Response(200, request_id, body, content_type=self._content_type, more=more)


def _has(request: web.BaseRequest, tag: str) -> bool:
    """Whether If-None-Match contains the tag or `*`."""
    tags = ",".join(request.headers.getall("If-None-Match", ()))
    return bool({tag, "*"} & set(_TAG.findall(tags)))
