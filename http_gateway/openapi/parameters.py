"""Describes path, query and header parameters."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from ..responses import REQUEST_ID
from ..routing.fields import Fields, json_path
from ..routing.query import MAX_PARAMETERS
from ..timeouts import HEADER as TIMEOUT
from . import bounds, examples, values
from .comments import comment, meanings
from .paths import PathParameter
from .values import Schema

Parameter = dict[str, Any]

_IDEMPOTENCY_KEY: Parameter = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": (
        "A unique string, chosen by the client, that identifies this request. When the request"
        " succeeds, its response is stored under the key for 24 hours per account, in the"
        " transaction of the write. The same request with the same key then returns that response,"
        " with `Idempotency-Replayed: true`, and has no second effect. A different request with"
        " the same key fails with 422; a request that arrives while the first one is running fails"
        " with 409. If the data of a person whom the request or the response names was erased"
        " since, the same request fails with 409. A rejected request changes nothing, and its key"
        " can be used again."
    ),
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[ -~]*[!-~][ -~]*$",
    },
    "example": "8e03978e-40d5-43e8-bc93-6894a57f9324",
}
_REQUEST_ID: Parameter = {
    "name": REQUEST_ID,
    "in": "header",
    "description": (
        "ID of the request, which the server log contains: 1 to 64 letters, digits, dots,"
        " underscores and hyphens. If absent or invalid, an ID is generated."
    ),
    "schema": {"type": "string"},
    "example": "checkout-7f3a",
}
_TIMEOUT: Parameter = {
    "name": TIMEOUT,
    "in": "header",
    "description": (
        "Timeout of the call: up to eight digits and a unit: H (hours), M (minutes), S (seconds),"
        " m (milliseconds), u (microseconds) or n (nanoseconds). It can shorten the default"
        " timeout, not extend it."
    ),
    "schema": {"type": "string", "maxLength": 9, "pattern": "^0*[1-9][0-9]*[HMSmun]$"},
    "example": "20S",
}
_SEGMENT: Schema = {"type": "string", "minLength": 1}
_ANY_TEXT = "Any text."
_ANY_NUMBER = (
    "Matches any number of segments, including none. Slashes between segments are not encoded."
)
_ANY_CASE = "Value names are case-insensitive."
# The parameters that operations share.
COMPONENTS = {
    "IdempotencyKey": _IDEMPOTENCY_KEY,
    "RequestId": _REQUEST_ID,
    "Timeout": _TIMEOUT,
}


def shared(*, idempotency_key: bool) -> list[Parameter]:
    """Returns references to the shared header parameters."""
    names = ["IdempotencyKey"] if idempotency_key else []
    return [
        {"$ref": f"#/components/parameters/{name}"} for name in (*names, "RequestId", "Timeout")
    ]


def in_path(path: PathParameter) -> Parameter:
    """Returns the parameter for a field in the path, or for a segment of one."""
    parameter: Parameter = {"name": path.name, "in": "path", "required": True}
    text = _ANY_NUMBER if path.has_rest else ""
    if path.fields is None:
        return {**parameter, "description": text or _ANY_TEXT, "schema": _SEGMENT}
    field = path.fields[-1]
    if path.field_template:
        template = f"`{json_path(path.fields)}` is `{path.field_template}`."
        description = _paragraphs([comment(field), template, text])
        return {**parameter, "description": description, "schema": _SEGMENT}
    return {**parameter, **_described(field, {"minLength": 1, **_schema(field)}, text)}


def in_query(fields: Fields) -> Parameter:
    field, schema = fields[-1], schema_of(fields[-1])
    required = {"required": True} if all(map(bounds.is_required, fields)) else {}
    return {"name": json_path(fields), "in": "query", **required, **_described(field, schema)}


def schema_of(field: FieldDescriptor) -> Schema:
    """Returns the schema of a field in a query or form."""
    if not field.is_repeated:
        return _schema(field)
    items = {**values.in_url(field), **bounds.of_items(field)}
    schema = {"type": "array", "items": items, **bounds.of_field(field)}
    schema["maxItems"] = min(MAX_PARAMETERS, schema.get("maxItems", MAX_PARAMETERS))
    return schema


def _schema(field: FieldDescriptor) -> Schema:
    return {**values.in_url(field), **bounds.of_field(field)}


def _described(field: FieldDescriptor, schema: Schema, more: str = "") -> Parameter:
    texts = [comment(field)]
    if field.enum_type is not None:
        texts += [_ANY_CASE, meanings(field.enum_type)]
    description, example = _paragraphs([*texts, more]), examples.declared(field)
    return {
        **({"description": description} if description else {}),
        "schema": schema,
        **({} if example is None else {"example": example}),
    }


def _paragraphs(texts: list[str]) -> str:
    return "\n\n".join(filter(None, texts))
