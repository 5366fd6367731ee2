"""Which fields an update changes, where the client did not say: those in its body (AIP-134).

An object within is entered, so that only what it holds is changed: a body with
`{"author": {"name": ""}}` has the path author.name. An empty one, a list, a map and what
is no object of fields are named as a whole. A key whose value is null is as if it were
absent, unless null is a value of the field (`null_clears`, google.protobuf.Value).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from roster.v1 import http_pb2

from ..codec.fields import takes_null
from .fields import by_name, parts_of

_MASK = "google.protobuf.FieldMask"


class UpdateMask:
    """The field mask of an update request, made of the keys of a body.

    `changed` is the type of what the paths begin in: the request, or its field of the
    JSON name `key`. `excluded` are those that the path of the URL holds: it says what is
    changed, not how.
    """

    def __init__(
        self, name: str, changed: Descriptor, excluded: frozenset[str], key: str | None = None
    ) -> None:
        self.name = name
        self._changed = changed
        self._excluded = excluded
        self._key = key
        # The paths of most keys, those of fields that nothing is entered of.
        flat = [f for f in changed.fields if f.name not in excluded and parts_of(f) is None]
        self._flat = {field.json_name: field.name for field in flat}
        self._nullable = {field.json_name for field in flat if _null_is_a_value(field)}

    def fill(self, message: Any, given: dict[str, Any]) -> None:
        """Fills the mask of a request, unless it has one, by what its body gave."""
        if self._key is not None:
            if message.HasField(self.name):
                return
            given = given[self._key] or {}
        mask = getattr(message, self.name)
        mask.SetInParent()
        if given.keys() <= self._flat.keys():
            mask.paths.extend(
                [
                    self._flat[key]
                    for key, value in given.items()
                    if value is not None or key in self._nullable
                ]
            )
        else:
            mask.paths.extend(self._paths(given, self._changed, ""))

    def _paths(self, given: dict[str, Any], message: Descriptor, above: str) -> Iterator[str]:
        fields = by_name(message)
        for key, value in given.items():
            field = fields.get(key)
            # A key that is no field is one that the message type ignores.
            path = above + field.name if field is not None else ""
            if field is None or path in self._excluded:
                continue
            if value is None and not _null_is_a_value(field):
                continue
            within = parts_of(field)
            if within is not None and type(value) is dict and value:
                yield from self._paths(value, within, f"{path}.")
            else:
                yield path


def _null_is_a_value(field: FieldDescriptor) -> bool:
    return takes_null(field) or bool(field.GetOptions().Extensions[http_pb2.null_clears])


def mask_of(request: Descriptor) -> str | None:
    """Returns the name of the field mask of an update request, or None."""
    field = request.fields_by_name.get("update_mask")
    kind = field.message_type if field and not field.is_repeated else None
    return field.name if field and kind and kind.full_name == _MASK else None
