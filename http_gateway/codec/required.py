"""Fields of proto2 that a message may not be without.

protobuf does not write a message that lacks one, and gRPC would send an empty message in
its place: so it has to be found before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..request_errors import Violations, join
from .fields import is_map, key_of


def note_missing(message: Any, violations: Violations) -> None:
    """Notes each required field that a message, or one within it, lacks."""
    if not message.IsInitialized():
        for path in _missing(message, ""):
            violations.add(path, "REQUIRED", "is required")


def _missing(message: Any, path: str) -> Iterator[str]:
    for field in message.DESCRIPTOR.fields:
        if field.is_required and not message.HasField(field.name):
            yield join(path, field.json_name)
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        place = join(path, key_of(field))
        if not field.is_repeated:
            yield from _missing(value, place)
        elif not is_map(field):
            for index, item in enumerate(value):
                yield from _missing(item, f"{place}[{index}]")
        elif field.message_type.fields_by_name["value"].message_type is not None:
            for key in sorted(value):
                yield from _missing(value[key], join(place, str(key)))
