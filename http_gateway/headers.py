"""Headers that are metadata on the other side of the gateway, both ways.

Two lists say which; all else stays on its own side, so that no header can pass for
something that the server or the gateway says itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from .observability import Trace
from .request_errors import invalid_body

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
# How much is passed on of the hops that a request says it has made: a dozen of them.
MAX_WAY = 512
_UNPRINTABLE = "unprintable"


def forwarded(request: web.BaseRequest, request_id: str, trace: Trace) -> Metadata:
    """Returns what of the headers reaches the server, with the trace that the request belongs to.

    Metadata takes printable ASCII only; a value of anything else could be no
    valid key either, and is passed on as a word that is none.
    """
    headers = request.headers
    metadata: list[tuple[str, str | bytes]] = [("x-request-id", request_id)]
    if way := _way(request):
        metadata.append((FORWARDED_FOR, way))
    for name in _FORWARDED:
        if name in headers:
            for value in headers.getall(name):
                metadata.append((name, value if _is_printable(value) else _UNPRINTABLE))
    metadata += trace
    return tuple(metadata)


def _way(request: web.BaseRequest) -> str:
    """Returns the hops that the request has made by its own word, and whom it came from last.

    It is for the server to judge how much of that it believes; what was written last counts
    most. Empty where nobody knows whom it came from.
    """
    seen = request.remote
    if not seen or FORWARDED_FOR not in request.headers:
        return seen or ""
    said = ",".join(request.headers.getall(FORWARDED_FOR))[-MAX_WAY:]
    return f"{said},{seen}" if _is_printable(said) else seen


def check(metadata: Metadata) -> None:
    """Raises RequestError if the idempotency key could not be passed on.

    Two requests must not meet under one word that stands for what each of them sent.
    """
    if (IDEMPOTENCY_KEY, _UNPRINTABLE) in metadata:
        raise invalid_body("INVALID_CHARACTER", "must be printable ASCII", "Idempotency-Key")


def returned(said: Iterable[tuple[str, str | bytes]]) -> dict[str, str]:
    """Returns what of the metadata that a call was answered with reaches the client.

    That is what came at its end, or, where the answer is a stream, at its start.
    """
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
