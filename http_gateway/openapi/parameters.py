"""What a request says outside its body: in the path, in the query, in headers."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from ..responses import REQUEST_ID
from ..routing.fields import Fields, json_path
from ..routing.query import MAX_PARAMETERS
from ..timeouts import HEADER as TIMEOUT
from . import bounds, examples, values
from .comments import comment, meanings
from .paths import Slot
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
        " with 409. A rejected request changes nothing, and its key can be used again."
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
    "schema": {"type": "string", "pattern": "^[0-9]{1,8}[HMSmun]$"},
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
    """Refers to the headers that a request may have."""
    names = ["IdempotencyKey"] if idempotency_key else []
    return [
        {"$ref": f"#/components/parameters/{name}"} for name in (*names, "RequestId", "Timeout")
    ]


def in_path(slot: Slot) -> Parameter:
    """Returns the parameter for a field that the path holds, or for a part of one."""
    parameter: Parameter = {"name": slot.name, "in": "path", "required": True}
    text = _ANY_NUMBER if slot.takes_rest else ""
    if slot.fields is None:
        return {**parameter, "description": text or _ANY_TEXT, "schema": _SEGMENT}
    if slot.whole:
        said = [comment(slot.fields[-1]), f"`{json_path(slot.fields)}` is `{slot.whole}`.", text]
        return {**parameter, "description": _paragraphs(said), "schema": _SEGMENT}
    return {**parameter, **_told(slot.fields, {"minLength": 1, **_schema(slot.fields[-1])}, text)}


def in_query(fields: Fields) -> Parameter:
    """Returns the parameter for a field that the query may hold."""
    field, schema = fields[-1], _schema(fields[-1])
    if field.is_repeated:
        items = {**values.in_url(field), **bounds.of_items(field)}
        schema = {"type": "array", "items": items, **bounds.of_field(field)}
        schema["maxItems"] = min(MAX_PARAMETERS, schema.get("maxItems", MAX_PARAMETERS))
    required = {"required": True} if all(map(bounds.is_required, fields)) else {}
    return {"name": json_path(fields), "in": "query", **required, **_told(fields, schema)}


def _schema(field: FieldDescriptor) -> Schema:
    return {**values.in_url(field), **bounds.of_field(field)}


def _told(fields: Fields, schema: Schema, more: str = "") -> Parameter:
    field, said = fields[-1], [comment(fields[-1])]
    if field.enum_type is not None:
        said += [_ANY_CASE, meanings(field.enum_type)]
    text, shown = _paragraphs([*said, more]), examples.declared(field)
    return {
        **({"description": text} if text else {}),
        "schema": schema,
        **({} if shown is None else {"example": shown}),
    }


def _paragraphs(texts: list[str]) -> str:
    return "\n\n".join(filter(None, texts))
