"""Headers that are metadata on the other side of the gateway, both ways.

Two lists say which; all else stays on its own side, so that no header can pass for
something that the server or the gateway says itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from . import traces
from .faults import invalid_body

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
_UNPRINTABLE = "unprintable"


def forwarded(request: web.BaseRequest, request_id: str) -> Metadata:
    """Returns what of the headers reaches the server.

    Metadata takes printable ASCII only; a value of anything else could be no
    valid key either, and is passed on as a word that is none.
    """
    headers = request.headers
    metadata: list[tuple[str, str | bytes]] = [("x-request-id", request_id)]
    for name in _FORWARDED:
        if name in headers:
            for value in headers.getall(name):
                metadata.append((name, value if _is_printable(value) else _UNPRINTABLE))
    if traces.PARENT in headers:
        metadata += traces.trace_of(headers)
    return tuple(metadata)


def check(metadata: Metadata) -> None:
    """Raises RequestFault if the idempotency key could not be passed on.

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


def _is_printable(value: str) -> bool:
    return value.isascii() and value.isprintable()
