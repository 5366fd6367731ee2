"""Where the fields of a request are that the path does not hold: in the query, in the body."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor

from ..codec.url_values import text_reader
from ..routing.bindings import Binding
from ..routing.bodies import WHOLE
from ..routing.fields import Fields, nested_type


def in_query(binding: Binding) -> list[Fields]:
    """Returns the fields that the query may hold: those that neither path nor body does."""
    if binding.body == WHOLE:
        return []
    lines = binding.request_records.csv_field if binding.request_records else None
    elsewhere = frozenset({*binding.variables, binding.body, lines})
    return list(_parameters(binding.request_class.DESCRIPTOR, (), elsewhere))


def not_in_body(binding: Binding) -> frozenset[str]:
    """Returns the names of the fields that a body of the whole request does not hold."""
    mask = {binding.update_mask.name} if binding.update_mask else set()
    return frozenset(binding.variables) | mask


def _parameters(
    message: Descriptor, above: Fields, elsewhere: frozenset[str | None]
) -> Iterator[Fields]:
    for field in message.fields:
        fields = (*above, field)
        if ".".join(each.name for each in fields) in elsewhere:
            continue
        within = nested_type(field)
        if text_reader(field) is not None:
            yield fields
        elif within is not None and within not in [each.containing_type for each in fields]:
            yield from _parameters(within, fields, elsewhere)
