"""Describes response headers."""

from __future__ import annotations

from typing import Any


def _header(description: str, example: str, kind: str = "string") -> dict[str, Any]:
    shown: Any = int(example) if kind == "integer" else example
    return {"description": description, "schema": {"type": kind}, "example": shown}


HEADERS = {
    "X-Request-Id": {
        **_header(
            "ID of the request. The server log contains it.",
            "5a1c9d3e7b20f4680000000001c3",
        ),
        "required": True,
    },
    "RateLimit": _header(
        "If a rate limit is configured: the remaining number of calls, and the seconds until"
        " another one is available.",
        '"default";r=40;t=1',
    ),
    "RateLimit-Policy": _header(
        "If a rate limit is configured: the number of calls an account can make, and the period in"
        " seconds.",
        '"default";q=100;w=1',
    ),
    "Idempotency-Replayed": _header(
        "`true` if this is the stored response to an earlier request with this idempotency key.",
        "true",
    ),
    "Link": _header(
        'URL of the next page as `<URL>; rel="next"` (RFC 8288). Absent on the last page.',
        '</api/subscribers?limit=20&pageToken=AAEC>; rel="next"',
    ),
    "WWW-Authenticate": _header("The authentication scheme.", "Bearer"),
    "Retry-After": _header("Seconds to wait before a retry.", "1", "integer"),
}
