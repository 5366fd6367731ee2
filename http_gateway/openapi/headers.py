"""Headers of answers."""

from __future__ import annotations

from typing import Any


def _header(description: str, example: str, kind: str = "string") -> dict[str, Any]:
    shown: Any = int(example) if kind == "integer" else example
    return {"description": description, "schema": {"type": kind}, "example": shown}


HEADERS = {
    "X-Request-Id": {
        **_header(
            "The id under which the service's log keeps the request.",
            "5a1c9d3e7b20f4680000000001c3",
        ),
        "required": True,
    },
    "RateLimit": _header(
        "Where there is a limit: how many calls are left, and in how many seconds there is"
        " another.",
        '"default";r=40;t=1',
    ),
    "RateLimit-Policy": _header(
        "Where there is a limit: how many calls an account may make in how many seconds.",
        '"default";q=100;w=1',
    ),
    "Idempotency-Replayed": _header(
        "`true` if this is the stored response to an earlier request with this idempotency key.",
        "true",
    ),
    "Link": _header(
        'Leads to the next page, as `<URL>; rel="next"` (RFC 8288); absent on the last one.',
        '</api/subscribers?limit=20&pageToken=AAEC>; rel="next"',
    ),
    "WWW-Authenticate": _header("The scheme by which a key is sent.", "Bearer"),
    "Retry-After": _header("In how many seconds to try again.", "1", "integer"),
}
