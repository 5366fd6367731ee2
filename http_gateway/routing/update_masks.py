"""Derives the update mask of a request from the keys of its body (AIP-134).

Nested objects contribute the paths of their own keys: `{"author": {"name": ""}}` gives
`author.name`. Empty objects, lists, maps and well-known types are one path. A null is treated
as an absent key, unless null is a value of the field (`null_clears`, google.protobuf.Value).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..codec.fields import takes_null
from ..policy import Annotations
from .fields import fields_by_any_name, nested_type

_MASK = "google.protobuf.FieldMask"


class UpdateMask:
    """Fills the field mask of an update request from the keys of its body.

    `updated` is the message type in which the paths start: the request, or its field with the
    JSON name `key`. `excluded` has the paths of URL variables, which identify the resource.
    """

    def __init__(
        self,
        name: str,
        updated: Descriptor,
        excluded: frozenset[str],
        annotations: Annotations,
        key: str | None = None,
    ) -> None:
        self.name = name
        self._updated = updated
        self._excluded = excluded
        self._annotations = annotations
        self._key = key
        # The paths of fields without nested paths, the most common ones.
        flat = [f for f in updated.fields if f.name not in excluded and nested_type(f) is None]
        self._flat = {field.json_name: field.name for field in flat}
        self._nullable = {field.json_name for field in flat if self._null_is_a_value(field)}

    def fill(self, message: Any, body: dict[str, Any]) -> None:
        """Fills the mask of a request, unless the query set it."""
        if self._key is not None:
            if message.HasField(self.name):
                return
            body = body[self._key] or {}
        mask = getattr(message, self.name)
        mask.SetInParent()
        if body.keys() <= self._flat.keys():
            mask.paths.extend(
                [
                    self._flat[key]
                    for key, value in body.items()
                    if value is not None or key in self._nullable
                ]
            )
        else:
            mask.paths.extend(self._paths(body, self._updated, ""))

    def _paths(self, body: dict[str, Any], message: Descriptor, prefix: str) -> Iterator[str]:
        fields = fields_by_any_name(message)
        for key, value in body.items():
            field = fields.get(key)
            # Unknown keys have already been rejected, so this is an ignored one.
            path = prefix + field.name if field is not None else ""
            if field is None or path in self._excluded:
                continue
            if value is None and not self._null_is_a_value(field):
                continue
            nested = nested_type(field)
            if nested is not None and type(value) is dict and value:
                yield from self._paths(value, nested, f"{path}.")
            else:
                yield path

    def _null_is_a_value(self, field: FieldDescriptor) -> bool:
        return takes_null(field) or self._annotations.of_field(field).null_clears


def mask_of(request: Descriptor) -> str | None:
    """Returns the name of the field mask of an update request, or None."""
    field = request.fields_by_name.get("update_mask")
    kind = field.message_type if field and not field.is_repeated else None
    return field.name if field and kind and kind.full_name == _MASK else None
