"""Server-sent events, by the HTML standard: a record is an event, for a browser's EventSource.

    data: {"email": "ada@example.com"}      a record; a line of a table is an array of its cells
    event: error                            the last event of a stream that failed
    event: end                              the last event of a complete stream

An EventSource opens a stream again and again, unless it is closed: by `end` and by
`error` a page knows when. While there are no records, comments are sent, so that no proxy
closes the connection as idle.
"""

from __future__ import annotations

from typing import Any

import orjson

from ..routing.stream_fields import ResponseRecords

CONTENT_TYPE = "text/event-stream"
END = b"event: end\ndata: {}\n\n"
HEARTBEAT = b":\n\n"


def written(fields: ResponseRecords, reply: Any) -> bytes:
    """Returns the records of a reply, or else the lines that it has, as events."""
    text = bytearray()
    for record in fields.of(reply):
        text += b"data: %b\n\n" % orjson.dumps(fields.write(record))
    for line in getattr(reply, fields.csv_field) if fields.csv_field is not None else ():
        text += b"data: %b\n\n" % orjson.dumps(list(line.cells))
    return bytes(text)


def error(body: bytes) -> bytes:
    """Returns the event for an error, which comes as JSON."""
    return b"event: error\ndata: %b\n\n" % body
