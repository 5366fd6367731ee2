"""Which field of a streaming rpc's messages holds the records that HTTP sends and gets.

A stream over HTTP is a text of records, one after the other. In the messages of the
rpc they are the elements of one repeated field, which the binding names: `body` for
what the client streams, `response_body` for what the server does. Beside it there may
be a repeated field of CsvLine, for the same as text/csv. Or every message is a record
as it is: with the body `*`, and where no response body is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from roster.v1 import http_pb2

from ..codec.fields import max_items
from ..codec.transcode import MessageReader, MessageWriter, reader, row_errors_field, writer

_CSV_LINE = "roster.v1.CsvLine"
# How many records a request message has at most. More would be no faster, and would
# keep the event loop from everyone else for longer.
MAX_RECORDS = 2_000


@dataclass(frozen=True, slots=True)
class RequestRecords:
    """Where the records of a body go in the messages that a client streams."""

    # The repeated field; empty where each message is a record.
    name: str
    json_name: str
    read: MessageReader
    # The field of a record in which its violations are noted; None where a fault ends the stream.
    row_errors_field: str | None
    # The field for the lines of a table; None where no text/csv is taken.
    csv_field: str | None
    # How many a message holds at most.
    max_per_message: int


@dataclass(frozen=True, slots=True)
class FormatField:
    """The field of a request that chooses the format of a streamed response."""

    name: str
    # The values of the field by the media type that each stands for.
    values: Mapping[str, int]

    def is_set(self, request: Any) -> bool:
        """Returns whether a request chooses a format."""
        return bool(getattr(request, self.name))

    def set(self, request: Any, media_type: str) -> None:
        """Has a request choose a media type."""
        setattr(request, self.name, self.values[media_type])

    def chooses(self, request: Any, media_type: str) -> bool:
        """Returns whether a request chooses a media type."""
        return bool(getattr(request, self.name) == self.values.get(media_type))


@dataclass(frozen=True, slots=True)
class ResponseRecords:
    """Where the records of an answer are in the messages that a server streams."""

    # The repeated field; empty where each message is a record.
    name: str
    write: MessageWriter
    # The field for the lines of a table; None where the answer is never text/csv.
    csv_field: str | None
    # None where no field of the request chooses between records and lines.
    format: FormatField | None = None

    def of(self, reply: Any) -> Iterable[Any]:
        """Returns the records of a reply."""
        return getattr(reply, self.name) if self.name else (reply,)


def request_records(
    request: Descriptor, body: str, in_path: frozenset[str] = frozenset()
) -> RequestRecords | None:
    """Returns where the records of a body go, or None if the request has no place for them.

    `in_path` names the fields that the path fills.
    """
    if body == "*":
        read = reader(request, in_path)
        return RequestRecords(
            "", "", read, row_errors_field=None, csv_field=None, max_per_message=1
        )
    field = _records(request, body)
    if field is None:
        return None
    element, lines = _element(field), _lines(request)
    bounds = [max_items(each) for each in (field, lines) if each is not None]
    return RequestRecords(
        name=field.name,
        json_name=field.json_name,
        read=reader(element),
        row_errors_field=row_errors_field(element),
        csv_field=lines.name if lines else None,
        max_per_message=min([MAX_RECORDS, *filter(None, bounds)]),
    )


def response_records(
    request: Descriptor, reply: Descriptor, response_body: str
) -> ResponseRecords | None:
    """Returns where the records of an answer are, or None if the reply has no place for them."""
    if not response_body:
        return ResponseRecords("", writer(reply), csv_field=None)
    field = _records(reply, response_body)
    if field is None:
        return None
    lines = _lines(reply)
    return ResponseRecords(
        name=field.name,
        write=writer(_element(field)),
        csv_field=lines.name if lines else None,
        format=_format(request),
    )


def _format(request: Descriptor) -> FormatField | None:
    """Returns the first field of a request whose values stand for media types."""
    for field in request.fields:
        if field.enum_type is None or field.is_repeated:
            continue
        types = {
            value.GetOptions().Extensions[http_pb2.media_type]: value.number
            for value in field.enum_type.values
        }
        types.pop("", None)
        if types:
            return FormatField(field.name, types)
    return None


def _records(message: Descriptor, name: str) -> FieldDescriptor | None:
    field = message.fields_by_name.get(name)
    if field is None or not field.is_repeated or field.message_type is None:
        return None
    element = _element(field)
    return None if element.GetOptions().map_entry or element.full_name == _CSV_LINE else field


def _element(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None
    return field.message_type


def _lines(message: Descriptor) -> FieldDescriptor | None:
    for field in message.fields:
        kind = field.message_type
        if kind is not None and field.is_repeated and kind.full_name == _CSV_LINE:
            return field
    return None
