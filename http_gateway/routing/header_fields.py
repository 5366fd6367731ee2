"""Fields that HTTP carries in headers: those with the option `header`.

Such a field is text. If a request repeats the header, its values are joined by commas.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from multidict import MultiMapping

from ..headers import is_printable
from ..policy import Annotations
from ..request_errors import single_violation
from .templates import BindingError

IF_MATCH = "If-Match"


class HeaderField(NamedTuple):
    """A field of a request or response, by its proto name, and its header."""

    name: str
    header: str


def header_fields(message: Descriptor, annotations: Annotations) -> tuple[HeaderField, ...]:
    """Returns the fields of a message with the option `header`. Raises BindingError."""
    fields = [(field, annotations.of_field(field).header) for field in message.fields]
    for field, header in fields:
        if header and (field.type != FieldDescriptor.TYPE_STRING or field.is_repeated):
            raise BindingError(f"header is set for {field.name}, which is not text")
    return tuple(HeaderField(field.name, header) for field, header in fields if header)


def headers_by_json_name(request: Descriptor, fields: Iterable[HeaderField]) -> dict[str, str]:
    """Returns the headers of fields of a request, by the JSON names of the fields."""
    return {request.fields_by_name[name].json_name: header for name, header in fields}


def read_headers(fields: Iterable[HeaderField], headers: MultiMapping[str], message: Any) -> None:
    """Sets the fields of a request from its headers. Raises RequestError.

    It also raises it for an If-Match that no field takes: the client expects that the operation
    has no effect if the condition is false.
    """
    takes_condition = False
    for name, header in fields:
        takes_condition = takes_condition or header == IF_MATCH
        if header in headers:
            value = ", ".join(headers.getall(header))
            if not is_printable(value):
                raise single_violation("INVALID_CHARACTER", "must be printable ASCII", header)
            setattr(message, name, value)
    if IF_MATCH in headers and not takes_condition:
        raise single_violation("UNKNOWN_FIELD", "is not supported by this operation", IF_MATCH)
