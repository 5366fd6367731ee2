"""Describes response headers."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from ..policy import Policy
from ..routing.deprecations import DEPRECATION, SUNSET
from .comments import comment
from .examples import declared


def header(description: str, example: Any, kind: str = "string") -> dict[str, Any]:
    """Returns the description of a header."""
    return {"description": description, "schema": {"type": kind}, "example": example}


def of_field(field: FieldDescriptor, policy: Policy) -> dict[str, Any]:
    """Returns the description of a header that carries a field of a response."""
    described = header(comment(field, policy), declared(field, policy.annotations))
    return {name: value for name, value in described.items() if value}


_REQUEST_ID = header(
    "ID of the request. The server log contains it.", "5a1c9d3e7b20f4680000000001c3"
)
_HEADERS = {
    "Link": header(
        'URL of the next page as `<URL>; rel="next"` (RFC 8288). Absent on the last page.',
        '</books?pageToken=AAEC>; rel="next"',
    ),
    "WWW-Authenticate": header("The authentication scheme.", "Bearer"),
    "Retry-After": header("Seconds to wait before a retry.", 1, "integer"),
}

# Those of calls that use something deprecated.
DEPRECATION_HEADERS = {
    DEPRECATION: header(
        "If the request uses something deprecated: `@` and the Unix time of the deprecation (RFC"
        " 9745).",
        "@1801353600",
    ),
    SUNSET: header(
        "If the request uses something deprecated: the time from which it may be gone (RFC 8594).",
        "Sat, 31 Jul 2027 00:00:00 GMT",
    ),
}
# That of calls that begin or end a session.
COOKIE_HEADER = {
    "Set-Cookie": header(
        "The cookie of the session, which scripts cannot read. An empty value deletes it.",
        "__Host-session=c2Vzc2lvbg; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure",
    ),
}


def headers_of(policy: Policy) -> dict[str, Any]:
    """Returns the headers by name. Those of the policy take precedence."""
    described = policy.headers.described
    general = {name: text for name, text in _HEADERS.items() if name not in described}
    return {"X-Request-Id": {**_REQUEST_ID, "required": True}, **described, **general}
