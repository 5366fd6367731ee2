"""Determines which request fields are in the query or the body."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor

from ..codec.url_values import text_reader
from ..policy import Annotations
from ..routing.bindings import Binding
from ..routing.bodies import WHOLE
from ..routing.fields import Fields, nested_type
from ..routing.fields import in_query as in_query_of


def in_query(binding: Binding, annotations: Annotations) -> list[Fields]:
    """Returns the fields that are query parameters: neither in the path nor in the body."""
    request = binding.request_class.DESCRIPTOR
    if binding.body == WHOLE:
        return [
            (request.fields_by_name[name],) for name in sorted(in_query_of(request, annotations))
        ]
    csv_field = binding.request_records.csv_field if binding.request_records else None
    in_head = {field.name for field in binding.request_headers}
    elsewhere = frozenset({*binding.variables, *in_head, binding.body, csv_field})
    return list(_parameters(request, (), elsewhere))


def not_in_body(binding: Binding, annotations: Annotations) -> frozenset[str]:
    """Returns the names of the fields that are excluded from a body of the whole request."""
    mask = {binding.update_mask.name} if binding.update_mask else set()
    in_query = in_query_of(binding.request_class.DESCRIPTOR, annotations)
    in_head = {field.name for field in binding.request_headers}
    return frozenset(binding.variables) | mask | in_query | in_head


def _parameters(
    message: Descriptor, parents: Fields, elsewhere: frozenset[str | None]
) -> Iterator[Fields]:
    for field in message.fields:
        fields = (*parents, field)
        if ".".join(part.name for part in fields) in elsewhere:
            continue
        nested = nested_type(field)
        if text_reader(field) is not None:
            yield fields
        elif nested is not None and nested not in [part.containing_type for part in fields]:
            yield from _parameters(nested, fields, elsewhere)
