"""Reads request bodies.

The body is the whole request without the path variables (`*`), one of its fields of any
type, or absent. A field of the type google.api.HttpBody takes a body of any media type.
"""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor

from ..codec.fields import has_independent_items
from ..codec.transcode import MessageReader, reader
from ..policy import Annotations
from .fields import field_in_json, nested_type
from .templates import BindingError
from .update_masks import UpdateMask, mask_of

WHOLE = "*"
_HTTP_BODY = "google.api.HttpBody"
# The methods for which content has no defined semantics (RFC 9110).
_WITHOUT_BODY = frozenset({"GET", "HEAD", "TRACE"})
_UPDATES = frozenset({"PUT", "PATCH"})


def check_body(
    http_method: str,
    body: str,
    request: Descriptor,
    variables: frozenset[str],
    annotations: Annotations,
) -> None:
    """Raises BindingError if the HTTP method or path cannot be combined with such a body.

    DELETE can have a body. The path can set a field within the body field (AIP-134) and takes
    precedence over the body.
    """
    if not body:
        return
    if http_method in _WITHOUT_BODY:
        raise BindingError(f"{http_method} has no body")
    if body in variables:
        raise BindingError(f"the field {body!r} is both the body and a variable of the path")
    if body != WHOLE:
        field_in_json(request, body, "body", annotations)


def is_http_body(message: Descriptor | None) -> bool:
    """Whether a message is a body of any media type, which has no JSON form."""
    return message is not None and message.full_name == _HTTP_BODY


def takes_http_body(request: Descriptor, body: str) -> bool:
    """Whether a body is one field of the type google.api.HttpBody."""
    field = request.fields_by_name.get(body)
    return field is not None and not field.is_repeated and is_http_body(field.message_type)


def body_reader(
    request: Descriptor,
    body: str,
    variables: frozenset[str],
    mask: UpdateMask | None,
    annotations: Annotations,
) -> MessageReader | None:
    """Returns a function that reads JSON into a request; None if the body is absent or not JSON.

    It returns the object by JSON field names of the request. The paths of violations start at
    the request, as those of the server do.
    """
    if not body or takes_http_body(request, body):
        return None
    if body == WHOLE:
        excluded = variables | ({mask.name} if mask else set())
        return reader(request, excluded, annotations=annotations)
    field = field_in_json(request, body, "body", annotations)
    others = frozenset(other.name for other in request.fields if other is not field)
    read = reader(request, others, annotations=annotations)
    return lambda value, path, violations, message: read(
        {field.json_name: value}, path, violations, message
    )


def row_arrays(request: Descriptor, annotations: Annotations) -> frozenset[str]:
    """Returns the keys of a request whose arrays have rows or texts that fail independently."""
    return frozenset(
        key
        for field in request.fields
        if has_independent_items(field)
        or (field.message_type is not None and annotations.row_errors_field(field.message_type))
        for key in (field.name, field.json_name)
    )


def update_mask_of(
    http_method: str,
    request: Descriptor,
    body: str,
    variables: frozenset[str],
    annotations: Annotations,
) -> UpdateMask | None:
    """Returns the UpdateMask that fills the field mask of an update from its body, or None.

    If the body is the whole request, its keys are the mask, and the mask field itself is an
    unknown key. This is the one deviation from google.api.http. If the body is one field, the
    mask is a query parameter and is derived from the body only if absent. Its paths start in
    that field.
    """
    name = mask_of(request)
    if name is None or not body or http_method not in _UPDATES or name in {body, *variables}:
        return None
    if body == WHOLE:
        return UpdateMask(name, request, variables, annotations)
    field = field_in_json(request, body, "body", annotations)
    updated = nested_type(field)
    if updated is None or is_http_body(updated):
        return None
    in_path = {variable.removeprefix(f"{body}.") for variable in variables}
    return UpdateMask(name, updated, frozenset(in_path), annotations, key=field.json_name)
