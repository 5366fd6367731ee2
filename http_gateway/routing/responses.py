"""Derives the HTTP status, body and Link header of a response from the protos."""

from __future__ import annotations

from typing import NamedTuple

from google.protobuf.descriptor import Descriptor, MethodDescriptor

from ..codec.transcode import MessageWriter, writer
from ..policy import Annotations
from .fields import field_in_json
from .templates import BindingError


def response_writer(
    response: Descriptor, response_body: str, annotations: Annotations
) -> MessageWriter:
    """Returns the writer of a response, or of its `response_body` field; null if that is absent."""
    write = writer(response, annotations=annotations)
    if not response_body:
        return write
    key = field_in_json(response, response_body, "response body", annotations).json_name
    return lambda reply: write(reply).get(key)


class ConditionalStatus(NamedTuple):
    """The status of a response in which the bool `field` is true."""

    field: str
    status: int


def conditional_status(
    method: MethodDescriptor, annotations: Annotations
) -> ConditionalStatus | None:
    """Returns the `status_if_true` of a response, or None. Raises BindingError for several."""
    statuses = [
        ConditionalStatus(field.name, status)
        for field in method.output_type.fields
        if (status := annotations.of_field(field).status_if_true)
    ]
    if len(statuses) > 1:
        raise BindingError("status_if_true is set for several fields")
    return statuses[0] if statuses else None


def next_link(method: MethodDescriptor, annotations: Annotations) -> str | None:
    """Returns the name of the response field with the next page token, or None.

    Raises BindingError if there are several, or the request has no `page_token`.
    """
    names = [f.name for f in method.output_type.fields if annotations.of_field(f).next_link]
    if not names:
        return None
    if len(names) > 1 or "page_token" not in method.input_type.fields_by_name:
        raise BindingError("next_link needs exactly one field and a page_token in the request")
    return names[0]


def cookie(method: MethodDescriptor, annotations: Annotations) -> str | None:
    """Returns the name of the response field that is sent as a cookie, or None.

    Raises BindingError if there are several, or the rpc streams.
    """
    names = [f.name for f in method.output_type.fields if annotations.of_field(f).cookie]
    if len(names) > 1 or (names and (method.client_streaming or method.server_streaming)):
        raise BindingError("cookie needs exactly one field of a unary response")
    return names[0] if names else None


def holds_secret(message: Descriptor, visited: frozenset[str] = frozenset()) -> bool:
    """Returns whether a message or one within it has a `debug_redact` field."""
    if message.full_name in visited:
        return False
    visited |= {message.full_name}
    return any(
        field.GetOptions().debug_redact
        or (field.message_type is not None and holds_secret(field.message_type, visited))
        for field in message.fields
    )
