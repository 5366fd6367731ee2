"""Describes path, query and header parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from ..policy import Policy
from ..responses import REQUEST_ID
from ..routing.fields import Fields, json_path
from ..routing.query import MAX_PARAMETERS
from ..timeouts import HEADER as TIMEOUT
from . import bounds, examples, values
from .comments import comment, meanings
from .paths import PathParameter
from .values import Schema

Parameter = dict[str, Any]

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
_VALUES_IN_ANY_CASE = "Values are case-insensitive."


def components(policy: Policy) -> dict[str, Any]:
    """Returns the parameters that operations share."""
    key = policy.idempotency.parameter
    keys = {"IdempotencyKey": key} if key else {}
    return {**keys, "RequestId": _REQUEST_ID, "Timeout": _TIMEOUT}


def shared(*, idempotency_key: bool) -> list[Parameter]:
    """Returns references to the shared header parameters."""
    names = ["IdempotencyKey"] if idempotency_key else []
    return references([*names, "RequestId", "Timeout"])


def references(names: Iterable[str]) -> list[Parameter]:
    """Returns references to components."""
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


def in_path(path: PathParameter, policy: Policy) -> Parameter:
    """Returns the parameter for a field in the path, or for a segment of one."""
    parameter: Parameter = {"name": path.name, "in": "path", "required": True}
    text = _ANY_NUMBER if path.has_rest else ""
    if path.fields is None:
        return {**parameter, "description": text or _ANY_TEXT, "schema": _SEGMENT}
    field = path.fields[-1]
    if path.field_template:
        template = f"`{json_path(path.fields)}` is `{path.field_template}`."
        description = _paragraphs([comment(field, policy), template, text])
        return {**parameter, "description": description, "schema": _SEGMENT}
    schema = {"minLength": 1, **_schema(field, policy)}
    return {**parameter, **_described(field, schema, policy, text)}


def in_query(fields: Fields, policy: Policy) -> Parameter:
    field = fields[-1]
    described = _described(field, schema_of(field, policy), policy)
    required = {"required": True} if all(map(bounds.is_required, fields)) else {}
    return {"name": json_path(fields), "in": "query", **required, **described}


def in_header(field: FieldDescriptor, header: str, policy: Policy) -> Parameter:
    """Returns the parameter for a field in a header."""
    return {"name": header, "in": "header", **_described(field, _schema(field, policy), policy)}


def schema_of(field: FieldDescriptor, policy: Policy) -> Schema:
    """Returns the schema of a field in a query or form."""
    if not field.is_repeated:
        return _schema(field, policy)
    annotations = policy.annotations
    items = {**values.in_url(field, policy), **bounds.of_items(field, annotations)}
    schema = {"type": "array", "items": items, **bounds.of_field(field, annotations)}
    schema["maxItems"] = min(MAX_PARAMETERS, schema.get("maxItems", MAX_PARAMETERS))
    return schema


def _schema(field: FieldDescriptor, policy: Policy) -> Schema:
    return {**values.in_url(field, policy), **bounds.of_field(field, policy.annotations)}


def _described(field: FieldDescriptor, schema: Schema, policy: Policy, more: str = "") -> Parameter:
    texts = [comment(field, policy)]
    if field.enum_type is not None:
        texts += [_ANY_CASE, meanings(field.enum_type, policy)]
    elif policy.annotations.of_field(field).any_case:
        texts.append(_VALUES_IN_ANY_CASE)
    description = _paragraphs([*texts, more])
    example = examples.declared(field, policy.annotations)
    return {
        **({"description": description} if description else {}),
        **values.deprecated(field),
        "schema": schema,
        **({} if example is None else {"example": example}),
    }


def _paragraphs(texts: list[str]) -> str:
    return "\n\n".join(filter(None, texts))
