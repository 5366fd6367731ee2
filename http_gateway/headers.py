"""Converts request headers to gRPC metadata, and response metadata to headers.

Only the listed names are converted, so a header cannot imitate metadata of the server or the
gateway.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from .observability import Trace
from .request_errors import single_violation

Metadata = tuple[tuple[str, str | bytes], ...]

IDEMPOTENCY_KEY = "idempotency-key"
# Headers of a request that reach the server, beside the trace context, and metadata of a
# call that reaches the client.
_FORWARDED = ("authorization", "x-api-key", IDEMPOTENCY_KEY)
_RETURNED = {
    "ratelimit": "RateLimit",
    "ratelimit-policy": "RateLimit-Policy",
    "retry-after": "Retry-After",
    "idempotency-replayed": "Idempotency-Replayed",
}
FORWARDED_FOR = "x-forwarded-for"
# The last bytes of X-Forwarded-For that are forwarded: about a dozen hops.
MAX_WAY = 512
_UNPRINTABLE = "unprintable"


def forwarded(request: web.BaseRequest, request_id: str, trace: Trace) -> Metadata:
    """Returns the metadata of a request, including its trace context.

    Metadata allows only printable ASCII. Any other value cannot be a valid key, and is replaced
    by a placeholder that is not one either.
    """
    headers = request.headers
    metadata: list[tuple[str, str | bytes]] = [("x-request-id", request_id)]
    if hops := _forwarded_for(request):
        metadata.append((FORWARDED_FOR, hops))
    for name in _FORWARDED:
        if name in headers:
            for value in headers.getall(name):
                metadata.append((name, value if _is_printable(value) else _UNPRINTABLE))
    metadata += trace
    return tuple(metadata)


def _forwarded_for(request: web.BaseRequest) -> str:
    """Returns X-Forwarded-For with the address of the peer appended; empty without a peer address.

    The server decides which hops to trust, starting with the last.
    """
    seen = request.remote
    if not seen or FORWARDED_FOR not in request.headers:
        return seen or ""
    said = ",".join(request.headers.getall(FORWARDED_FOR))[-MAX_WAY:]
    return f"{said},{seen}" if _is_printable(said) else seen


def check(metadata: Metadata) -> None:
    """Raises RequestError if the idempotency key could not be passed on.

    Otherwise two requests with different keys would share the placeholder.
    """
    if (IDEMPOTENCY_KEY, _UNPRINTABLE) in metadata:
        raise single_violation("INVALID_CHARACTER", "must be printable ASCII", "Idempotency-Key")


def returned(said: Iterable[tuple[str, str | bytes]]) -> dict[str, str]:
    """Returns the response headers for trailing metadata, or for initial metadata of a stream."""
    found = {}
    for name, value in said:
        if name in _RETURNED and isinstance(value, str) and _is_printable(value):
            found[_RETURNED[name]] = value
    return found


def qualities(text: str) -> dict[str, float]:
    """Returns the quality of each value that a header such as Accept names; 0 if it is no number.

    The names are in lower case.
    """
    given = {}
    for each in text.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        try:
            given[name] = min(max(float(quality), 0.0), 1.0)
        except ValueError:
            given[name] = 0.0
    return given


def _is_printable(value: str) -> bool:
    return value.isascii() and value.isprintable()
