"""Reads and builds protobuf messages: timestamps, update masks, structs, sizes, JSON responses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from grpc.aio import ServicerContext

from roster.v1.actors_pb2 import Actor as ActorMessage
from roster.v1.http_pb2 import CsvLine
from roster.v1.rows_pb2 import Import
from roster.v1.uses_pb2 import Use

from ..values.actors import Actor
from ..values.addresses import normal_ip
from ..values.ids import first_id_at
from ..values.texts import json_name
from .errors import Detail, ValidationError, invalid
from .uses import UsesOf

# The largest message, in bytes: what gRPC clients and servers accept by default.
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
# The size at which a message of a stream is split, in bytes.
MAX_STREAMED_BYTES = 1024 * 1024
# Bytes that a repeated field adds to each of its messages: a tag and a length.
_FRAMING_BYTES = 6

HTML = "text/html; charset=utf-8"

MessageType = TypeVar("MessageType", bound=Message)
# The context of a call, for any request and response type.
Context = ServicerContext[Any, Any]


class JsonResponse(ABC):
    """The response of a unary rpc as values, which become JSON or the message when it is sent.

    The gateway in the same process sends the JSON. It skips a message that would be filled and
    read once (`page_of_20` and `create` in `make bench`). Other clients receive the message.
    """

    __slots__ = ()

    @abstractmethod
    def to_message(self) -> Message:
        """Returns the response message."""

    def SerializeToString(self) -> bytes:
        """Returns the serialized message, as a message does."""
        return self.to_message().SerializeToString()

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Returns the ProtoJSON of the message, before a read mask is applied."""


def csv_header(cells: Sequence[str], *, has_bom: bool, delimiter: str = "") -> CsvLine:
    """Returns the header of a CSV file. With a byte order mark, spreadsheets read it as UTF-8."""
    return CsvLine(cells=["\ufeff" * has_bom + cells[0], *cells[1:]], delimiter=delimiter)


def check_bom(*, has_bom: bool, is_csv: bool) -> None:
    """Raises ValidationError for a byte order mark in another format than CSV."""
    if has_bom and not is_csv:
        raise invalid("bom", "INVALID_VALUE", "is accepted only with the format CSV")


def serializer(serialize: Callable[[Message], bytes]) -> Callable[[Message | JsonResponse], bytes]:
    """Returns a serializer of messages that also accepts a JsonResponse."""

    def write(response: Message | JsonResponse) -> bytes:
        return serialize(response.to_message() if isinstance(response, JsonResponse) else response)

    return write


def actor_message(actor: Actor) -> ActorMessage:
    """Returns an actor as the API does."""
    type_ = ActorMessage.Type.Value(actor.type)
    return ActorMessage(type=type_, id=actor.id or None, name=actor.name or None)


def timestamp(milliseconds: int) -> Timestamp:
    """Returns a time in milliseconds as a Timestamp."""
    seconds, remainder = divmod(milliseconds, 1000)
    return Timestamp(seconds=seconds, nanos=remainder * 1_000_000)


def milliseconds(value: Timestamp) -> int:
    """Returns a Timestamp in milliseconds, rounded down."""
    return value.seconds * 1000 + value.nanos // 1_000_000


def microseconds(value: Timestamp, *, up: bool = False) -> int:
    """Returns a Timestamp in microseconds, rounded down or up."""
    nanos = -(-value.nanos // 1000) if up else value.nanos // 1000
    return value.seconds * 1_000_000 + nanos


def first_id_at_or_after(value: Timestamp) -> str:
    """Returns the lowest ID that can be created at the time or later."""
    return first_id_at(value.seconds * 1000 - (-value.nanos // 1_000_000))


def first_id_after(value: Timestamp) -> str:
    """Returns the lowest ID that can be created in a later millisecond."""
    return first_id_at(milliseconds(value) + 1)


def created_range(request: Any) -> tuple[str | None, str | None]:
    """Returns the first ID and the exclusive end ID of `created_after` and `created_before`."""
    has_after, has_before = map(request.HasField, ("created_after", "created_before"))
    return (
        first_id_after(request.created_after) if has_after else None,
        first_id_at_or_after(request.created_before) if has_before else None,
    )


def struct_to_dict(struct: Struct) -> dict[str, Any]:
    """Returns a Struct as a dict; null is None.

    Raises ValidationError for `customFields` if a property has no value.
    """
    try:
        return dict(struct) if struct.fields else {}
    except ValueError:
        raise invalid("customFields", "INVALID_VALUE", "has a property without a value") from None


def check_ip(text: str) -> str:
    """Returns an IP address in its shortest form; empty if the text is.

    Raises ValidationError for `ip`.
    """
    ip = normal_ip(text) if text else ""
    if ip is None:
        raise invalid("ip", "INVALID_FORMAT", "must be an IP address without a zone")
    return ip


def changed_fields(request: Message, allowed: Collection[str]) -> set[str]:
    """Returns the fields that an update request changes (AIP-134).

    Without a mask these are the allowed fields that are not empty; `*` selects all. Raises
    ValidationError for a path that is not allowed.
    """
    if not request.HasField("update_mask"):
        return {field.name for field, _ in request.ListFields() if field.name in allowed}
    paths: list[str] = list(request.update_mask.paths)  # type: ignore[attr-defined]
    if "*" in paths:
        return set(allowed)
    unknown = [path for path in paths if path not in allowed]
    if unknown:
        # In TypeScript and JSON, the fields have these names; in a mask they do not.
        hints = {json_name(name): f"; did you mean {name}?" for name in allowed}
        messages = [f"{path} cannot be updated{hints.get(path, '')}" for path in unknown]
        raise ValidationError(
            [Detail("updateMask", "INVALID_VALUE", message) for message in messages]
        )
    return set(paths)


def add_uses(
    request: Any, resources: Iterable[Any], name: str, users: Iterable[Callable[[], UsesOf]]
) -> None:
    """Adds to each resource, known by its field `name`, its uses if the request includes them.

    Call it after `with_etag`: the entity tag is that of the resource alone, so that a change of a
    segment does not keep a client from updating a tag.
    """
    if Use.USED_BY not in request.include:
        return
    for find in users:
        uses_of = find()
        for resource in resources:
            for use in uses_of(getattr(resource, name)):
                resource.used_by.add(**use._asdict())


def select_results(reply: Any, results: Import.Results.ValueType) -> bool:
    """Removes the results that an import does not return. Returns whether any are left."""
    if results == Import.SUMMARY:
        del reply.results[:]
    elif results == Import.FAILED:
        outcomes = reply.DESCRIPTOR.fields_by_name["results"].message_type.fields_by_name["outcome"]
        is_failed = outcomes.enum_type.values_by_name["FAILED"].number
        failed = [
            result
            for result in reply.results
            if result.outcome == is_failed or getattr(result, "dropped_cells", None)
        ]
        del reply.results[:]
        reply.results.extend(failed)
    return bool(reply.results)


def split_message(reply: MessageType) -> Iterator[MessageType]:
    """Splits a message of a stream into messages of at most MAX_STREAMED_BYTES each.

    The message has records in repeated fields. A larger record is sent in a separate
    message.
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


def check_page(reply: Message, field: str = "limit", bound: str = "be lower") -> None:
    """Raises ValidationError for a field if a page is too large for one message.

    Only pages of subscribers and events can be too large; the default limit always fits.
    """
    if reply.ByteSize() > MAX_MESSAGE_BYTES:
        text = f"must {bound}, because this page is larger than {MAX_MESSAGE_BYTES >> 20} MiB"
        raise invalid(field, "OUT_OF_RANGE", text)
