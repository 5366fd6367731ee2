"""Reads the fields that clients set from requests and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
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
    texts, read_texts, others = _fields_of(message_type)
    profile = {**NO_PROFILE, **dict(zip(texts, read_texts(request), strict=True))}
    for name in others:
        if request.HasField(name):
            profile[name] = _read(request, name)
    return profile


@cache
def _fields_of(
    message_type: type[Message],
) -> tuple[Sequence[str], Callable[[Any], Sequence[str]], Sequence[str]]:
    """Returns the names of the text fields of a message type, their reader, and other names."""
    names = [name for name in PROFILE if name in message_type.DESCRIPTOR.fields_by_name]
    texts = [name for name in names if PROFILE[name].kind is Kind.TEXT]
    # For two names or more, the reader returns a tuple.
    return texts, attrgetter(*texts), [name for name in names if name not in texts]


def _read(message: Any, name: str) -> Any:
    value = getattr(message, name)
    if isinstance(value, Timestamp):
        return milliseconds(value)
    return int(value) if isinstance(value, bool) else value


def row_of(message: Any) -> Row:
    """Returns a BulkSubscriber or an ImportSubscriber as a row, with the faults of the gateway."""
    values: Mapping[str, Any] | None
    faults = message.faults
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
        [fault.field for fault in faults] if faults else [],
    )
