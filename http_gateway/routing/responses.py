"""What becomes of a response over HTTP: its status, its body and the Link header beside it.

The body is the whole response, or one of its fields.
"""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, MethodDescriptor
from roster.v1 import http_pb2

from ..codec.transcode import MessageWriter, writer
from .fields import field_in_json
from .templates import BindingError


def response_writer(response: Descriptor, response_body: str) -> MessageWriter:
    """Returns what writes a response, or the one field of it that is the body.

    A field that is absent is null.
    """
    write = writer(response)
    if not response_body:
        return write
    key = field_in_json(response, response_body, "response body").json_name
    return lambda reply: write(reply).get(key)


def success_status(method: MethodDescriptor, response_body: str) -> int:
    """Returns the status of a success. Raises BindingError if it has no place for what is sent."""
    status: int = method.GetOptions().Extensions[http_pb2.success_status] or 200
    if status == 204 and (response_body or method.server_streaming):
        raise BindingError("a response with status 204 has no body")
    return status


def next_link(method: MethodDescriptor) -> str | None:
    """Returns the name of the response's field that leads to the next page, or None.

    Raises BindingError if the next page cannot be asked for.
    """
    names = [
        f.name for f in method.output_type.fields if f.GetOptions().Extensions[http_pb2.next_link]
    ]
    if not names:
        return None
    if len(names) > 1 or "page_token" not in method.input_type.fields_by_name:
        raise BindingError("next_link needs exactly one field and a page_token in the request")
    return names[0]


def holds_secret(message: Descriptor, known: frozenset[str] = frozenset()) -> bool:
    """Returns whether a message, or one within it, has a field declared `debug_redact`."""
    if message.full_name in known:
        return False
    known |= {message.full_name}
    return any(
        field.GetOptions().debug_redact
        or (field.message_type is not None and holds_secret(field.message_type, known))
        for field in message.fields
    )
