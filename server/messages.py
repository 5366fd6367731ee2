"""What services share when they read requests and write answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from grpc.aio import ServicerContext

from .errors import Detail, ValidationError, invalid
from .ids import first_id_at

# The largest message, in bytes: what gRPC clients and servers accept by default.
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
# The size at which a message of a stream is cut, in bytes. More per message is no faster.
MAX_STREAMED_BYTES = 1024 * 1024
# Bytes that a repeated field adds to each of its messages: a tag and a length.
_FRAMING_BYTES = 6

MessageType = TypeVar("MessageType", bound=Message)
# What a handler is told of its call, whatever the messages of the rpc are.
Context = ServicerContext[Any, Any]


def timestamp(milliseconds: int) -> Timestamp:
    """Returns the moment as a message."""
    value = Timestamp()
    set_timestamp(value, milliseconds)
    return value


def set_timestamp(target: Timestamp, milliseconds: int) -> None:
    """Sets a moment that is part of another message, which is cheaper than copying one."""
    target.seconds = milliseconds // 1000
    target.nanos = milliseconds % 1000 * 1_000_000


def milliseconds(value: Timestamp) -> int:
    """Returns the moment as a number, cut off at the millisecond."""
    return value.seconds * 1000 + value.nanos // 1_000_000


def first_id_at_or_after(value: Timestamp) -> str:
    """Returns the least id of what is made at the moment or later, by whole milliseconds."""
    return first_id_at(value.seconds * 1000 - (-value.nanos // 1_000_000))


def first_id_after(value: Timestamp) -> str:
    """Returns the least id of what is made later than the moment, by whole milliseconds."""
    return first_id_at(milliseconds(value) + 1)


def plain(struct: Struct) -> dict[str, Any]:
    """Returns the members of an object as they are in Python; null is None.

    Raises ValidationError for `customFields` if one has no value, not even null.
    """
    try:
        return dict(struct) if struct.fields else {}
    except ValueError:
        raise invalid("customFields", "INVALID_VALUE", "has a property without a value") from None


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


def split_message(reply: MessageType) -> Iterator[MessageType]:
    """Yields a message of a stream as messages of at most MAX_STREAMED_BYTES each.

    The message holds records in repeated fields. A record that is larger by itself is a
    message of its own.
    """
    if reply.ByteSize() <= MAX_STREAMED_BYTES:
        yield reply
        return
    for field, records in reply.ListFields():
        piece, size = type(reply)(), 0
        for record in records:
            own = record.ByteSize() + _FRAMING_BYTES
            if size and size + own > MAX_STREAMED_BYTES:
                yield piece
                piece, size = type(reply)(), 0
            getattr(piece, field.name).append(record)
            size += own
        yield piece


def check_page(reply: Message) -> None:
    """Raises ValidationError for `limit` if a page is too large for one message.

    Only pages of subscribers and of events can be, and with what is stored within its
    bounds not those of 20.
    """
    if reply.ByteSize() > MAX_MESSAGE_BYTES:
        text = f"must be lower, because this page is larger than {MAX_MESSAGE_BYTES >> 20} MiB"
        raise invalid("limit", "OUT_OF_RANGE", text)
