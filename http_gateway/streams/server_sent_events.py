"""Server-sent events as defined by the HTML standard, for the EventSource of browsers.

    data: {"email": "ada@example.com"}      a record; a CSV line is an array of cells
    event: error                            the last event of a failed stream
    event: end                              the last event of a complete stream

An EventSource reconnects until it is closed. A page should close it at `end` and `error`. While
there are no records, comments are sent so that proxies keep the connection open.
"""

from __future__ import annotations

from typing import Any

import orjson

from ..routing.stream_fields import ResponseRecords

CONTENT_TYPE = "text/event-stream"
END = b"event: end\ndata: {}\n\n"
KEEPALIVE = b":\n\n"


def encode(fields: ResponseRecords, reply: Any) -> bytes:
    """Returns the records and CSV lines of a response message as events."""
    text = bytearray()
    for record in fields.of(reply):
        text += b"data: %b\n\n" % orjson.dumps(fields.write(record))
    for line in getattr(reply, fields.csv_field) if fields.csv_field is not None else ():
        text += b"data: %b\n\n" % orjson.dumps(list(line.cells))
    for other in fields.other_records(reply):
        text += b"data: %b\n\n" % orjson.dumps(other)
    return bytes(text)


def encode_error(error: bytes) -> bytes:
    """Returns the event for an error in JSON."""
    return b"event: error\ndata: %b\n\n" % error
