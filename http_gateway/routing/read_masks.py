"""Applies the read mask of a request to the JSON of its response (AIP-157).

The server clears the fields that the mask does not contain. JSON writes fields without presence
even if they are empty, so the gateway removes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf.descriptor import MethodDescriptor

from ..policy import Annotations
from .fields import field_in_json
from .templates import BindingError


class ReadMask(NamedTuple):
    """The field mask `name` of a request, which selects fields in one field of the response.

    `key` is the JSON name of that field, and `names` are those of the fields in it.
    """

    name: str
    key: str
    names: Mapping[str, str]

    def apply(self, request: Any, body: dict[str, Any]) -> None:
        """Removes the fields that the mask of a request does not contain.

        A mask that is absent or empty, or contains *, keeps all fields.
        """
        if not request.HasField(self.name):
            return
        paths = getattr(request, self.name).paths
        if not paths or "*" in paths:
            return
        kept = {self.names.get(path) for path in paths}
        value = body.get(self.key)
        for message in value if isinstance(value, list) else [value] if value else []:
            for key in message.keys() - kept:
                del message[key]


def read_mask_of(method: MethodDescriptor, annotations: Annotations) -> ReadMask | None:
    """Returns the read mask of a method, or None. Raises BindingError if it selects nothing."""
    for field in method.input_type.fields:
        selected = annotations.of_field(field).selects
        if selected:
            target = field_in_json(method.output_type, selected, "read mask", annotations)
            if target.message_type is None:
                raise BindingError(f"the read mask selects {selected}, which is not a message")
            names = {each.name: each.json_name for each in target.message_type.fields}
            return ReadMask(field.name, target.json_name, names)
    return None
