"""Finds missing required fields of proto2 messages.

protobuf does not serialize a message without them, and gRPC would send an empty message
instead. Requests are therefore checked first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..request_errors import Violations, join
from .fields import is_map, key_of


def add_missing(message: Any, violations: Violations) -> None:
    """Adds a violation for each missing required field of a message and those within it."""
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
        field_path = join(path, key_of(field))
        if not field.is_repeated:
            yield from _missing(value, field_path)
        elif not is_map(field):
            for index, item in enumerate(value):
                yield from _missing(item, f"{field_path}[{index}]")
        elif field.message_type.fields_by_name["value"].message_type is not None:
            for key in sorted(value):
                yield from _missing(value[key], join(field_path, str(key)))
