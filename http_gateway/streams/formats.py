"""The forms that the records of an answer may have, and which of them a client is given.

NDJSON is for programs, CSV for tables where the reply has lines of one, and
server-sent events are for whoever asks for them by `Accept`, such as a browser's
EventSource. They are asked for by their name alone, never by `*/*`: where
`text/event-stream` is named, and neither NDJSON nor CSV with a higher quality.

Between NDJSON and CSV a field of the request chooses. If the request leaves it
unspecified, `Accept` does (RFC 9110): the highest quality, then the more specific media
range, then the order of the field's values. If `Accept` allows neither, the server's
default is sent.
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

# Writes the records of a reply; no bytes where it has none.
Write = Callable[[ResponseRecords, Any], bytes]


@dataclass(frozen=True, slots=True)
class Form:
    """A form of records in an answer."""

    content_type: str
    write: Write
    # Writes an error, which comes as JSON, as the last record; None where it has no place.
    error: Callable[[bytes], bytes] | None = None
    # What comes after the last record, and what may come where there is none for long.
    end: bytes = b""
    heartbeat: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def _lines_of_json(fields: ResponseRecords, reply: Any) -> bytes:
    return ndjson.written(fields.write, fields.of(reply))


def _lines_of_cells(fields: ResponseRecords, reply: Any) -> bytes:
    assert fields.csv_field is not None
    return csv_lines.written(getattr(reply, fields.csv_field))


NDJSON = Form(ndjson.CONTENT_TYPE, _lines_of_json, ndjson.error, heartbeat=ndjson.HEARTBEAT)
CSV = Form("text/csv; charset=utf-8", _lines_of_cells)
EVENTS = Form(
    server_sent_events.CONTENT_TYPE,
    server_sent_events.written,
    server_sent_events.error,
    end=server_sent_events.END,
    heartbeat=server_sent_events.HEARTBEAT,
    headers={"Cache-Control": "no-store"},
)


def form_asked_for(request: web.BaseRequest) -> Form | None:
    """Returns the form that the headers ask for, if they do."""
    accept = ",".join(request.headers.getall("Accept", ()))
    if server_sent_events.CONTENT_TYPE not in accept.lower():
        return None
    given = qualities(accept)
    wanted = given.get(server_sent_events.CONTENT_TYPE, 0.0)
    others = max((given.get(kind, 0.0) for kind in _OTHERS), default=0.0)
    return EVENTS if wanted and wanted >= others else None


def choose_format(request: web.BaseRequest, fields: ResponseRecords, message: Any) -> None:
    """Sets the format that `Accept` asks for, unless the message of a request has one."""
    accept = ",".join(request.headers.getall("Accept", ()))
    if fields.format is None or not accept or fields.format.is_set(message):
        return
    given = qualities(accept)
    best, media_type = max(
        ((_preference(media_type, given), media_type) for media_type in fields.format.values),
        key=itemgetter(0),
    )
    if best.quality and form_asked_for(request) is None:
        fields.format.set(message, media_type)


def form_given(request: web.BaseRequest, fields: ResponseRecords, message: Any) -> Form | None:
    """Returns the form of an answer to a request and its message.

    None where the first reply decides.
    """
    if (requested := form_asked_for(request)) is not None:
        return requested
    if fields.csv_field is None:
        return NDJSON
    if fields.format is None:
        return None
    return CSV if fields.format.selects(message, csv_lines.CONTENT_TYPE) else NDJSON


def form_of(fields: ResponseRecords, reply: Any) -> Form:
    """Returns the form that the records of a reply have by themselves."""
    return CSV if fields.csv_field is not None and getattr(reply, fields.csv_field) else NDJSON


_OTHERS = (*ndjson.CONTENT_TYPES, csv_lines.CONTENT_TYPE)


class _Preference(NamedTuple):
    """How much a media type is wanted: its quality, and how closely it is named."""

    quality: float
    closeness: int


def _preference(media_type: str, given: Mapping[str, float]) -> _Preference:
    """Returns what the closest media range that fits says."""
    names = ndjson.CONTENT_TYPES if media_type == ndjson.CONTENT_TYPE else {media_type}
    named = [given[name] for name in names if name in given]
    if named:
        return _Preference(max(named), 2)
    for closeness, media_range in ((1, f"{media_type.partition('/')[0]}/*"), (0, "*/*")):
        if media_range in given:
            return _Preference(given[media_range], closeness)
    return _Preference(0.0, 0)
