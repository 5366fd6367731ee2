"""Reads the fields that clients set from requests and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from ...rpc.messages import milliseconds
from .fields import NO_PROFILE, PROFILE, Kind
from .rules import NO_VALUES, Row


def profile_of(request: Message) -> dict[str, Any]:
    """Returns the profile in a request or row. Fields without a value are as in NO_PROFILE."""
    message_type: Any = type(request)
    return {name: read(request) for name, read in _readers(message_type)}


@cache
def _readers(
    message_type: type[Message],
) -> Sequence[tuple[str, Callable[[Any], Any]]]:
    fields = message_type.DESCRIPTOR.fields_by_name
    return [
        (name, attrgetter(name))
        if name in fields and field.kind is Kind.TEXT
        else (name, partial(_read, name if name in fields else "", NO_PROFILE[name]))
        for name, field in PROFILE.items()
    ]


def _read(name: str, default: Any, message: Any) -> Any:
    if not name or not message.HasField(name):
        return default
    value = getattr(message, name)
    if isinstance(value, Timestamp):
        return milliseconds(value)
    return int(value) if isinstance(value, bool) else value


def row_of(message: Any) -> Row:
    """Returns a BulkSubscriber or an ImportSubscriber as a row, with the faults of the gateway."""
    values: Mapping[str, Any] | None
    try:
        values = dict(message.custom_fields) if message.HasField("custom_fields") else NO_VALUES
    except ValueError:  # A member has no value, not even null.
        values = None
    return Row(
        message.email,
        profile_of(message),
        message.is_confirmed or None,
        message.tags[:],
        values,
        [fault.field for fault in message.faults],
    )
