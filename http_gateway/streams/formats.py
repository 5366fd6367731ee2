"""Formats of streamed responses, and their selection for a request.

- Server-sent events, if `Accept` contains `text/event-stream`, and neither NDJSON nor CSV with a
  higher quality. Ranges such as `*/*` do not select them.
- NDJSON or CSV otherwise. A field of the request selects one of them. If it is unspecified,
  `Accept` does (RFC 9110): by the highest quality, then by the more specific media range, then
  by the order of the field's values. If `Accept` allows neither, the server's default is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from aiohttp import web

from ..headers import qualities
from ..routing.stream_fields import ResponseRecords
from . import csv_lines, ndjson, server_sent_events


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """A format of streamed responses."""

    content_type: str
    # Encodes the records of a response message; no bytes if it has none.
    encode: Callable[[ResponseRecords, Any], bytes]
    # Encodes an error in JSON as the last record; None if the format has no errors.
    encode_error: Callable[[bytes], bytes] | None = None
    # The end of a complete stream, and a record that is sent to keep the connection open.
    end: bytes = b""
    keepalive: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def _encode_csv(fields: ResponseRecords, reply: Any) -> bytes:
    assert fields.csv_field is not None
    return csv_lines.encode(getattr(reply, fields.csv_field))


NDJSON = ResponseFormat(
    ndjson.CONTENT_TYPE, ndjson.encode, ndjson.encode_error, keepalive=ndjson.KEEPALIVE
)
CSV = ResponseFormat("text/csv; charset=utf-8", _encode_csv)
EVENTS = ResponseFormat(
    server_sent_events.CONTENT_TYPE,
    server_sent_events.encode,
    server_sent_events.encode_error,
    end=server_sent_events.END,
    keepalive=server_sent_events.KEEPALIVE,
    headers={"Cache-Control": "no-store"},
)


def accepts_events(request: web.BaseRequest) -> bool:
    """Whether the headers select server-sent events."""
    accept = ",".join(request.headers.getall("Accept", ()))
    if server_sent_events.CONTENT_TYPE not in accept.lower():
        return False
    by_type = qualities(accept)
    quality = by_type.get(server_sent_events.CONTENT_TYPE, 0.0)
    others = (*ndjson.CONTENT_TYPES, csv_lines.CONTENT_TYPE)
    return quality > 0 and quality >= max(by_type.get(name, 0.0) for name in others)


def choose_format(request: web.BaseRequest, fields: ResponseRecords, message: Any) -> None:
    """Sets the format field of a request message from `Accept`, unless it is set."""
    accept = ",".join(request.headers.getall("Accept", ()))
    if fields.format is None or not accept or fields.format.is_set(message):
        return
    by_type = qualities(accept)
    best, media_type = max(
        ((_preference(media_type, by_type), media_type) for media_type in fields.format.values),
        key=itemgetter(0),
    )
    if best.quality and not accepts_events(request):
        fields.format.set(message, media_type)


def format_of_request(
    request: web.BaseRequest, fields: ResponseRecords, message: Any
) -> ResponseFormat | None:
    """Returns the format that a request selects; None if it depends on the first response."""
    if accepts_events(request):
        return EVENTS
    if fields.csv_field is None:
        return NDJSON
    if fields.format is None:
        return None
    return CSV if fields.format.selects(message, csv_lines.CONTENT_TYPE) else NDJSON


def format_of_reply(fields: ResponseRecords, reply: Any) -> ResponseFormat:
    """Returns the format that a response message determines."""
    return CSV if fields.csv_field is not None and getattr(reply, fields.csv_field) else NDJSON


class _Preference(NamedTuple):
    """The quality of a media type, and the specificity of the media range that matches it."""

    quality: float
    specificity: int


def _preference(media_type: str, by_type: Mapping[str, float]) -> _Preference:
    """Returns the preference for a media type by the most specific range that matches it."""
    names = ndjson.CONTENT_TYPES if media_type == ndjson.CONTENT_TYPE else {media_type}
    exact = [by_type[name] for name in names if name in by_type]
    if exact:
        return _Preference(max(exact), 2)
    for specificity, media_range in ((1, f"{media_type.partition('/')[0]}/*"), (0, "*/*")):
        if media_range in by_type:
            return _Preference(by_type[media_range], specificity)
    return _Preference(0.0, 0)
