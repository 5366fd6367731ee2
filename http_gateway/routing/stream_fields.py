"""Maps the records of an HTTP stream to fields of the messages of a streaming rpc.

Records are the elements of the repeated field that the binding names: `body` for requests,
`response_body` for responses. A message can also have a repeated field of lines, for
text/csv. If `body` is `*`, or there is no `response_body`, every message is one record. Another
message field of a response, such as a summary, is a record with its name: {"summary": {...}}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..codec.fields import max_items
from ..codec.transcode import (
    ItemsReader,
    MessageReader,
    MessageWriter,
    items_reader,
    reader,
    writer,
)
from ..policy import Annotations
from .templates import BindingError

# The most records in one request message. More are not faster and block the event loop longer.
MAX_RECORDS = 2_000


@dataclass(frozen=True, slots=True)
class RequestRecords:
    """The fields of request messages that hold the records of a body."""

    # The repeated field; empty if each message is a record.
    name: str
    json_name: str
    read: MessageReader
    # The field of a record that lists its errors, and the reader of such records; None if an error
    # ends the stream.
    row_errors_field: str | None
    read_rows: ItemsReader | None
    # The field of CSV lines; None if text/csv is not accepted.
    csv_field: str | None
    max_per_message: int
    # The field that names the character encoding of a body; None if it must be UTF-8.
    charset_field: FieldDescriptor | None = None
    # The field that limits the records of the response, if any.
    limits_field: FieldDescriptor | None = None

    def fewer_records(self, request: Any) -> list[str]:
        """Returns query parameters that return fewer records than the request, if any."""
        field = self.limits_field
        if field is None or field.enum_type is None:
            return []
        now = getattr(request, field.name) or 1
        return [f"{field.json_name}={v.name}" for v in field.enum_type.values if v.number > now]


@dataclass(frozen=True, slots=True)
class FormatField:
    """The request field that selects the format of a streamed response."""

    name: str
    # The enum values by media type.
    values: Mapping[str, int]

    def is_set(self, request: Any) -> bool:
        return bool(getattr(request, self.name))

    def set(self, request: Any, media_type: str) -> None:
        setattr(request, self.name, self.values[media_type])

    def selects(self, request: Any, media_type: str) -> bool:
        return bool(getattr(request, self.name) == self.values.get(media_type))


class OtherField(NamedTuple):
    """A message field beside the records of a response."""

    name: str
    json_name: str
    write: MessageWriter


@dataclass(frozen=True, slots=True)
class ResponseRecords:
    """The fields of response messages that hold the records of a response."""

    # The repeated field; empty if each message is a record.
    name: str
    write: MessageWriter
    # The field of CSV lines; None if text/csv is not available.
    csv_field: str | None
    # None if no request field selects between NDJSON and CSV.
    format: FormatField | None = None
    # The message fields beside the records, such as a summary. A message that has one is
    # followed by a record with the name and value of the field.
    others: tuple[OtherField, ...] = ()
    # The request field that selects fields of the records, and the JSON names of those that are
    # always written otherwise.
    selecting: str = ""
    always_written: frozenset[str] = frozenset()

    def selected_by(self, request: Any) -> ResponseRecords:
        """Returns these fields with a writer of what a request selects."""
        names = getattr(request, self.selecting) if self.selecting else ()
        if not names:
            return self
        omitted = self.always_written - {name.partition(".")[0] for name in names}
        return replace(self, write=partial(_write_without, self.write, omitted))

    def of(self, reply: Any) -> Iterable[Any]:
        return getattr(reply, self.name) if self.name else (reply,)

    def clear_others(self, reply: Any) -> None:
        for field in self.others:
            reply.ClearField(field.name)

    def other_records(self, reply: Any) -> Iterable[dict[str, Any]]:
        """Yields the records of the message fields beside the records."""
        for field in self.others:
            if reply.HasField(field.name):
                yield {field.json_name: field.write(getattr(reply, field.name))}


def _write_without(write: MessageWriter, omitted: frozenset[str], record: Any) -> Any:
    return {name: value for name, value in write(record).items() if name not in omitted}


def request_records(
    request: Descriptor, body: str, in_path: frozenset[str], annotations: Annotations
) -> RequestRecords:
    """Returns the record fields of a request. Raises BindingError if `body` is not such a field.

    `in_path` names the fields that the path sets.
    """
    if body == "*":
        read = reader(request, in_path, annotations=annotations)
        return RequestRecords("", "", read, None, None, csv_field=None, max_per_message=1)
    field = _records(request, body, "client-streaming method needs a body", annotations)
    element, lines = _element(field), _csv_field(request, annotations)
    options = annotations.of_field
    errors_field = annotations.row_errors_field(element)
    bounds = [max_items(repeated) for repeated in (field, lines) if repeated is not None]
    return RequestRecords(
        name=field.name,
        json_name=field.json_name,
        read=reader(element, annotations=annotations),
        row_errors_field=errors_field,
        read_rows=items_reader(element, annotations) if errors_field else None,
        csv_field=lines.name if lines else None,
        max_per_message=min([MAX_RECORDS, *filter(None, bounds)]),
        charset_field=next((f for f in request.fields if options(f).body_charset), None),
        limits_field=next((f for f in request.fields if options(f).limits_records), None),
    )


def response_records(
    request: Descriptor, reply: Descriptor, response_body: str, annotations: Annotations
) -> ResponseRecords:
    """Returns the record fields of a response. Raises BindingError as `request_records` does."""
    if not response_body:
        return ResponseRecords("", writer(reply, annotations=annotations), csv_field=None)
    needed = "server-streaming method needs a response_body"
    field = _records(reply, response_body, needed, annotations)
    lines, options = _csv_field(reply, annotations), annotations.of_field
    return ResponseRecords(
        name=field.name,
        write=writer(_element(field), annotations=annotations),
        csv_field=lines.name if lines else None,
        format=_format(request, annotations),
        selecting=next((f.name for f in request.fields if options(f).selects_fields), ""),
        always_written=frozenset(
            each.json_name for each in _element(field).fields if annotations.is_always_written(each)
        ),
        others=tuple(
            OtherField(
                other.name, other.json_name, writer(other.message_type, annotations=annotations)
            )
            for other in reply.fields
            if other.message_type is not None and not other.is_repeated
        ),
    )


def _format(request: Descriptor, annotations: Annotations) -> FormatField | None:
    """Returns the first request field with enum values that declare media types."""
    for field in request.fields:
        if field.enum_type is None or field.is_repeated:
            continue
        types = {annotations.media_type(value): value.number for value in field.enum_type.values}
        types.pop("", None)
        if types:
            return FormatField(field.name, types)
    return None


def _records(
    message: Descriptor, name: str, needed: str, annotations: Annotations
) -> FieldDescriptor:
    field = message.fields_by_name.get(name)
    element = field.message_type if field is not None and field.is_repeated else None
    if (
        field is None
        or element is None
        or element.GetOptions().map_entry
        or element.full_name == annotations.csv_line
    ):
        raise BindingError(f"a {needed} that names a repeated message field")
    return field


def _element(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None
    return field.message_type


def _csv_field(message: Descriptor, annotations: Annotations) -> FieldDescriptor | None:
    for field in message.fields:
        kind = field.message_type
        if kind is not None and field.is_repeated and kind.full_name == annotations.csv_line:
            return field
    return None
