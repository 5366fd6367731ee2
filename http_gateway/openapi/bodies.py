"""Describes request and response bodies: media types, schemas and examples.

OpenAPI 3.1 has no keyword for the records of a stream. A stream is described as text, with
the schema of one record as its `contentSchema`.
"""

from __future__ import annotations

from typing import Any

from google.api import annotations_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..policy import Policy
from ..responses import JSON
from ..routing.bindings import Binding
from ..routing.bodies import WHOLE
from ..routing.fields import is_struct
from ..routing.forms import FormReader
from ..routing.stream_fields import RequestRecords, ResponseRecords
from ..streams import csv_lines, ndjson, server_sent_events
from . import bounds, examples, parameters, values
from .comments import comment
from .field_locations import not_in_body
from .schemas import Schemas
from .values import Schema

Content = dict[str, Any]

# The media types that describe bodies of any type: forms, which are submitted by POST, and others.
FORM = "application/x-www-form-urlencoded"
BYTES = "application/octet-stream"
HTML = "text/html"
_PAGE: Content = {"schema": {"type": "string"}}
_LINES = "JSON objects, one per line."
_LINES_DESCRIPTION = (
    f"{_LINES} If the call fails after the first record, the last line is the error. If no"
    " record is sent for a while, an empty line is sent as a keepalive; ignore it."
)
_FORM_DESCRIPTION = (
    "An HTML form in UTF-8, which needs no script. An empty field is treated as absent. Errors are"
    " returned as a page if `Accept` contains `text/html`."
)
_KEY = (
    "API key, unless there is an `Authorization` header. Its scope must be exactly the required"
    " one, because a form is public."
)
_REDIRECT = "URL to which the browser is redirected, if its origin is in {}."
_EVENTS_DESCRIPTION = (
    "The same records as Server-Sent Events, selected by `Accept`: each record is the data of one"
    " event. The last event has the type `end`, or `error` if the call failed."
)


def request_body(binding: Binding, schemas: Schemas) -> Content | None:
    """Returns the body of a request, or None if it has none."""
    request, policy = binding.request_class.DESCRIPTOR, schemas.policy
    excluded = not_in_body(binding, policy.annotations)
    if binding.request_records is not None:
        record = _record(request, binding.request_records)
        name = binding.request_records.name
        schema = schemas.input_reference(record, frozenset() if name else excluded)
        content = {
            ndjson.CONTENT_TYPE: {
                **_text(ndjson.CONTENT_TYPE, _LINES, schema),
                "example": examples.ndjson(record, policy.annotations),
            },
            **_csv_content(request, binding.request_records.csv_field, policy, with_example=True),
        }
        return {"content": content}
    if binding.takes_http_body:
        field = request.fields_by_name[binding.body]
        about = comment(field, policy)
        if binding.http_method == "POST":
            return {"content": {FORM: {"schema": {"type": "object", "description": about}}}}
        schema = {"type": "string", "format": "binary", "description": about}
        text = policy.annotations.of_field(field).example
        return {"content": {BYTES: {"schema": schema, **_example(text or None)}}}
    if binding.read_body is None:
        return None
    if binding.body == WHOLE:
        schema = schemas.input_reference(request, excluded)
        example = examples.of_message(request, policy.annotations, excluded)
        if binding.method.GetOptions().Extensions[annotations_pb2.http].put:
            example = examples.last_member_only(example)
    else:
        field = request.fields_by_name[binding.body]
        schema = schemas.input_property(field)
        example = examples.of_field(field, policy.annotations)
    content = {JSON: {"schema": schema, **_example(example)}}
    if binding.form is not None:
        schema = _form(request, binding.form, excluded, policy)
        content[FORM] = {"schema": schema, **_example(example)}
    return {"required": not binding.optional_body, "content": content}


def _form(
    request: Descriptor, form: FormReader, excluded: frozenset[str], policy: Policy
) -> Schema:
    """Returns the schema of a form: its fields are text, as in a query."""
    properties: dict[str, Schema] = {}
    members: dict[str, Schema] = {}
    for field in request.fields:
        described = {"description": comment(field, policy)}
        if field.name not in excluded and is_struct(field):
            members[f"^{field.json_name}\\..+$"] = {"type": "string", **described}
        elif field.name not in excluded:
            schema = parameters.schema_of(field, policy)
            if field.is_repeated:
                schema["items"] = _or_empty(schema["items"])
            properties[field.json_name] = {**schema, **described}
    if form.key:
        properties[form.key] = {"type": "string", "description": _KEY}
    if form.redirect:
        properties[form.redirect] = {
            "type": "string",
            "description": _REDIRECT.format(policy.origins),
        }
    return {
        "type": "object",
        "description": _FORM_DESCRIPTION,
        "properties": properties,
        **({"patternProperties": members} if members else {}),
        "required": [field.json_name for field in request.fields if bounds.is_required(field)],
        "additionalProperties": False,
    }


def _or_empty(item: Schema) -> Schema:
    """Returns the schema of a text extended by the empty one, which is treated as absent.

    It has no `anyOf`, which the Go generator turns into pointers, even in other schemas.
    """
    patterns = {"pattern": f"^({item['pattern'][1:-1]})?$"} if "pattern" in item else {}
    return {k: v for k, v in item.items() if k != "minLength"} | patterns


def success_content(binding: Binding, schemas: Schemas) -> Content:
    """Returns the body of a successful response, with the examples of the policy."""
    responses = schemas.policy.responses().get(binding.method.full_name, {})
    return {
        media_type: {**described, **_example(responses.get(media_type))}
        for media_type, described in _success_content(binding, schemas).items()
    }


def _success_content(binding: Binding, schemas: Schemas) -> Content:
    reply, annotations = binding.response_class.DESCRIPTOR, schemas.policy.annotations
    if binding.response_records is not None:
        return _stream(reply, binding.response_records, schemas)
    if binding.returns_http_body or binding.streams_http_body:
        media_type = annotations.of_method(binding.method).response_media_type
        return {media_type: {"schema": {"type": "string"}}}
    if not binding.response_body:
        content = {JSON: {"schema": schemas.output_reference(reply)}}
        shows_page = binding.form is not None and binding.form.page is not None
        return {**content, **({HTML: _PAGE} if shows_page else {})}
    field = reply.fields_by_name[binding.response_body]
    schema = schemas.output_property(field)
    if field.has_presence:
        schema = values.or_null(schema)
    return {JSON: {"schema": schema}}


def _stream(reply: Descriptor, fields: ResponseRecords, schemas: Schemas) -> Content:
    record = _record(reply, fields)
    others = [
        {
            "type": "object",
            "properties": {
                other.json_name: schemas.output_property(reply.fields_by_name[other.name])
            },
            "required": [other.json_name],
        }
        for other in fields.others
    ]
    alternatives = [schemas.output_reference(record), *others, schemas.error_reference()]
    schema = {"anyOf": alternatives}
    return {
        ndjson.CONTENT_TYPE: _text(ndjson.CONTENT_TYPE, _LINES_DESCRIPTION, schema),
        **_csv_content(reply, fields.csv_field, schemas.policy),
        server_sent_events.CONTENT_TYPE: _text(
            server_sent_events.CONTENT_TYPE, _EVENTS_DESCRIPTION, schema
        ),
    }


def _record(message: Descriptor, fields: RequestRecords | ResponseRecords) -> Descriptor:
    """Returns the type of the records in the messages of a stream."""
    if not fields.name:
        return message
    kind = message.fields_by_name[fields.name].message_type
    assert kind is not None
    return kind


def _text(media_type: str, description: str, record: Schema) -> Content:
    schema = {
        "type": "string",
        "description": description,
        "contentMediaType": media_type,
        "contentSchema": record,
    }
    return {"schema": schema}


def _csv_content(
    message: Descriptor, csv_field: str | None, policy: Policy, *, with_example: bool = False
) -> Content:
    if csv_field is None:
        return {}
    field: FieldDescriptor = message.fields_by_name[csv_field]
    schema = {"type": "string", "description": comment(field, policy)}
    example = examples.csv_text(field, policy.annotations) if with_example else None
    return {csv_lines.CONTENT_TYPE: {"schema": schema, **_example(example)}}


def _example(example: Any) -> Content:
    return {} if example is None else {"example": example}
