"""What services share when they read requests and write answers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from grpc.aio import ServicerContext

from .errors import Detail, ValidationError, invalid
from .ids import first_id_at

# What a handler is told of its call, whatever the messages of the rpc are.
Context = ServicerContext[Any, Any]


def timestamp(milliseconds: int) -> Timestamp:
    """Returns the moment as a message."""
    moment = Timestamp()
    set_timestamp(moment, milliseconds)
    return moment


def set_timestamp(target: Timestamp, milliseconds: int) -> None:
    """Sets a moment that is part of another message, which is cheaper than copying one."""
    target.seconds = milliseconds // 1000
    target.nanos = milliseconds % 1000 * 1_000_000


def milliseconds(moment: Timestamp) -> int:
    """Returns the moment as a number, cut off at the millisecond."""
    return moment.seconds * 1000 + moment.nanos // 1_000_000


def first_id_from(moment: Timestamp) -> str:
    """Returns the least id of what is made at the moment or later, by whole milliseconds."""
    return first_id_at(moment.seconds * 1000 - (-moment.nanos // 1_000_000))


def first_id_after(moment: Timestamp) -> str:
    """Returns the least id of what is made later than the moment, by whole milliseconds."""
    return first_id_at(milliseconds(moment) + 1)


def plain(struct: Struct) -> dict[str, Any]:
    """Returns the members of an object as they are in Python; null is None.

    Raises ValidationError for `customFields` if one has no value, not even null.
    """
    try:
        return dict(struct) if struct.fields else {}
    except ValueError:
        raise invalid("customFields", "INVALID_VALUE", "has a member without a value") from None


def changed_fields(request: Message, allowed: Collection[str]) -> set[str]:
    """Returns which of the allowed fields an update request changes (AIP-134).

    Without a mask they are those that are not empty; `*` stands for all. Raises
    ValidationError for a path that names anything else.
    """
    if not request.HasField("update_mask"):
        return {field.name for field, _ in request.ListFields() if field.name in allowed}
    paths: list[str] = list(request.update_mask.paths)  # type: ignore[attr-defined]
    if "*" in paths:
        return set(allowed)
    unknown = [path for path in paths if path not in allowed]
    if unknown:
        raise ValidationError(
            [Detail("updateMask", "INVALID_VALUE", f"{path} cannot be updated") for path in unknown]
        )
    return set(paths)
