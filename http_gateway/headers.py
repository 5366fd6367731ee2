"""Converts request headers to gRPC metadata, and response metadata to headers.

Only the names in the policy are converted, so a header cannot imitate metadata of the server or the
gateway.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from .observability import Trace
from .policy import HeaderPolicy
from .request_errors import single_violation

Metadata = tuple[tuple[str, str | bytes], ...]

IDEMPOTENCY_KEY = "idempotency-key"
# The metadata with the API key in a form.
FORM_KEY = "x-form-key"
ACCEPT_LANGUAGE = "accept-language"
FORWARDED_FOR = "x-forwarded-for"
# The bytes of X-Forwarded-For that are forwarded, from its end: about a dozen hops.
MAX_FORWARDED_FOR = 512
_UNPRINTABLE = "unprintable"


def request_metadata(
    request: web.BaseRequest, request_id: str, trace: Trace, forwarded: Iterable[str]
) -> Metadata:
    """Returns the gRPC metadata for the headers of a request.

    Those in `forwarded` are sent in addition to the trace context.

    Metadata allows only printable ASCII. Any other value cannot be a valid key: its words that are
    not printable are replaced by a placeholder that is not one either, so that the scheme of
    Authorization is kept. Accept-Language, which is optional, is omitted.
    """
    headers = request.headers
    metadata: list[tuple[str, str | bytes]] = [("x-request-id", request_id)]
    if hops := _forwarded_for(request):
        metadata.append((FORWARDED_FOR, hops))
    for name in forwarded:
        if name in headers:
            for value in headers.getall(name):
                metadata.append((name, printable(value)))
    if ACCEPT_LANGUAGE in headers:
        languages = ",".join(headers.getall(ACCEPT_LANGUAGE))
        if is_printable(languages):
            metadata.append((ACCEPT_LANGUAGE, languages))
    metadata += trace
    return tuple(metadata)


def _forwarded_for(request: web.BaseRequest) -> str:
    """Returns X-Forwarded-For with the address of the peer appended; empty without a peer address.

    The server decides which hops to trust, starting with the last.
    """
    peer = request.remote
    if not peer or FORWARDED_FOR not in request.headers:
        return peer or ""
    hops = ",".join(request.headers.getall(FORWARDED_FOR))[-MAX_FORWARDED_FOR:]
    return f"{hops},{peer}" if is_printable(hops) else peer


def check_idempotency_key(request: web.BaseRequest) -> None:
    """Raises RequestError if the idempotency key cannot be sent as metadata.

    Otherwise two requests with different keys would share the placeholder.
    """
    if not all(map(is_printable, request.headers.getall(IDEMPOTENCY_KEY, ()))):
        raise single_violation("INVALID_CHARACTER", "must be printable ASCII", "Idempotency-Key")


def response_headers(
    metadata: Iterable[tuple[str, str | bytes]], policy: HeaderPolicy
) -> dict[str, str]:
    """Returns the response headers for trailing metadata, or for initial metadata of a stream."""
    headers = {}
    for name, value in metadata:
        header = policy.returned.get(name)
        if header is not None and isinstance(value, str) and is_printable(value):
            headers[header] = value
    return headers


def add_vary(headers: dict[str, str], names: str) -> None:
    """Adds header names to Vary."""
    headers["Vary"] = f"{headers['Vary']}, {names}" if "Vary" in headers else names


def qualities(header: str) -> dict[str, float]:
    """Returns the quality of each value of a header such as Accept, by its name in lower case.

    An invalid quality is 0.
    """
    result = {}
    for item in header.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        try:
            result[name] = min(max(float(quality), 0.0), 1.0)
        except ValueError:
            result[name] = 0.0
    return result


def quality(header: str, media_type: str) -> float:
    """Returns the quality of a media type in an Accept header, by the most specific range."""
    accepted, kind = qualities(header), media_type.partition("/")[0]
    names = (media_type, f"{kind}/*", "*/*")
    return next((accepted[name] for name in names if name in accepted), 0.0)


def printable(value: str) -> str:
    """Returns the value of a header as a value of metadata, with placeholders for some words."""
    if is_printable(value):
        return value
    words = value.split(" ")
    return " ".join(word if is_printable(word) else _UNPRINTABLE for word in words)


def is_printable(value: str) -> bool:
    """Whether text can be the value of a header or of metadata."""
    return value.isascii() and value.isprintable()
