"""Bodies, either way: which media types they have, their schemas and examples.

A stream is text, of records one after the other. OpenAPI 3.1 has no keyword for a record;
its schema is the `contentSchema` of that text.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from roster.v1 import errors_pb2

from ..responses import JSON
from ..routing.bindings import Binding
from ..routing.bodies import WHOLE
from ..routing.stream_fields import RequestRecords, ResponseRecords
from ..streams import csv_lines, ndjson, server_sent_events
from . import examples, values
from .comments import comment
from .field_locations import not_in_body
from .schemas import Schemas
from .values import Schema

Content = dict[str, Any]

_ERROR = errors_pb2.ErrorResponse.DESCRIPTOR
_LINES = "JSON objects, one per line."
_TOLD_LINES = (
    f"{_LINES} If the call fails after the first record, the last line is the error. If no"
    " record is sent for a while, an empty line is sent as a keepalive; ignore it."
)
_TOLD_EVENTS = (
    "The same records as Server-Sent Events, selected by `Accept`: each record is the data of one"
    " event. The last event has the type `end`, or `error` if the call failed."
)


def request_body(binding: Binding, schemas: Schemas) -> Content | None:
    """Returns the body of a request, or None if it has none."""
    request = binding.request_class.DESCRIPTOR
    excluded = not_in_body(binding)
    if binding.request_records is not None:
        record = _record(request, binding.request_records)
        name = binding.request_records.name
        schema = schemas.taken(record, frozenset() if name else excluded)
        content = {
            ndjson.CONTENT_TYPE: _text(
                ndjson.CONTENT_TYPE, _LINES, schema, examples.ndjson(record)
            ),
            **_table(request, binding.request_records.csv_field),
        }
        return {"content": content}
    if binding.read_body is None:
        return None
    if binding.body == WHOLE:
        schema, example = schemas.taken(request, excluded), examples.of_message(request, excluded)
    else:
        field = request.fields_by_name[binding.body]
        schema, example = schemas.property(field), examples.of_field(field)
    return {"required": True, "content": {JSON: {"schema": schema, **_shown(example)}}}


def answer(binding: Binding, schemas: Schemas) -> Content:
    """Returns the content of a success."""
    reply = binding.response_class.DESCRIPTOR
    if binding.response_records is not None:
        return _stream(reply, binding.response_records, schemas)
    if not binding.response_body:
        example = examples.of_message(reply)
        return {JSON: {"schema": schemas.given(reply), **_shown(example)}}
    field = reply.fields_by_name[binding.response_body]
    schema = schemas.member(field)
    if field.has_presence:
        schema = values.or_null(schema)
    return {JSON: {"schema": schema, **_shown(examples.of_field(field))}}


def _stream(reply: Descriptor, fields: ResponseRecords, schemas: Schemas) -> Content:
    record = _record(reply, fields)
    schema = {"anyOf": [schemas.given(record), schemas.given(_ERROR)]}
    line = examples.ndjson(record)
    as_events = f"data: {line}\n{server_sent_events.END.decode()}"
    return {
        ndjson.CONTENT_TYPE: _text(ndjson.CONTENT_TYPE, _TOLD_LINES, schema, line),
        **_table(reply, fields.csv_field),
        server_sent_events.CONTENT_TYPE: _text(
            server_sent_events.CONTENT_TYPE, _TOLD_EVENTS, schema, as_events
        ),
    }


def _record(message: Descriptor, fields: RequestRecords | ResponseRecords) -> Descriptor:
    """Returns the type of the records in a message of a stream."""
    if not fields.name:
        return message
    kind = message.fields_by_name[fields.name].message_type
    assert kind is not None
    return kind


def _text(media_type: str, told: str, record: Schema, example: str) -> Content:
    schema = {
        "type": "string",
        "description": told,
        "contentMediaType": media_type,
        "contentSchema": record,
    }
    return {"schema": schema, "example": example}


def _table(message: Descriptor, lines: str | None) -> Content:
    if lines is None:
        return {}
    field: FieldDescriptor = message.fields_by_name[lines]
    schema = {"type": "string", "description": comment(field)}
    return {csv_lines.CONTENT_TYPE: {"schema": schema, **_shown(examples.table(field))}}


def _shown(example: Any) -> Content:
    return {} if example is None else {"example": example}
