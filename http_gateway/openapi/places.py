"""Where the fields of a request are: in the path, in the query, in the body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor

from ..codec.texts import text_reader
from ..routing.bindings import Binding
from ..routing.bodies import WHOLE
from ..routing.fields import Fields, json_path, parts_of, path_field

_VARIABLE = re.compile(r"\{([^=}]+)(?:=[^}]*)?\}")


def path_of(binding: Binding) -> str:
    """Returns the path of a binding with the names of its parameters in braces."""
    request = binding.request_class.DESCRIPTOR
    return _VARIABLE.sub(
        lambda match: f"{{{json_path(path_field(request, match[1]))}}}", binding.template.text
    )


def in_path(binding: Binding) -> list[Fields]:
    """Returns the fields that the path holds, each with the messages on the way to it."""
    request = binding.request_class.DESCRIPTOR
    return [path_field(request, variable.name) for variable in binding.template.variables]


def in_query(binding: Binding) -> list[Fields]:
    """Returns the fields that the query may hold: those that neither path nor body does."""
    if binding.body == WHOLE:
        return []
    lines = binding.requests.lines if binding.requests else None
    elsewhere = frozenset({*binding.variables, binding.body, lines})
    return list(_parameters(binding.request_class.DESCRIPTOR, (), elsewhere))


def not_in_body(binding: Binding) -> frozenset[str]:
    """Returns the names of the fields that a body of the whole request does not hold."""
    mask = {binding.mask.name} if binding.mask else set()
    return frozenset(binding.variables) | mask


def _parameters(
    message: Descriptor, above: Fields, elsewhere: frozenset[str | None]
) -> Iterator[Fields]:
    for field in message.fields:
        fields = (*above, field)
        if ".".join(each.name for each in fields) in elsewhere:
            continue
        within = parts_of(field)
        if text_reader(field) is not None:
            yield fields
        elif within is not None and within not in [each.containing_type for each in fields]:
            yield from _parameters(within, fields, elsewhere)
