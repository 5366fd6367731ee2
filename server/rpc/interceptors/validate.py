"""Trims the text of a request, and validates it against the bounds in the protobuf files.

A request with fields that the protobuf files do not have is rejected. The in-process channel passes
messages of the same protobuf files, so only requests in bytes are searched for such fields.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.unknown_fields import UnknownFieldSet

from roster.buf.validate import validate_pb2
from roster.v1 import http_pb2

from ...values.texts import has_control_characters, json_name, trim
from ..errors import MAX_DETAILS, Detail, FieldNotImplemented, RosterError, ValidationError, invalid
from .base import Call, Interceptor, Method
from .bounds import Bounds, bounds_of, has_independent_items

_FIRST_SECOND, _END_SECOND = -62_135_596_800, 253_402_300_800


class Validate(Interceptor):
    """Raises ValidationError. Runs after Authorize, so that services receive valid requests."""

    def wrap(self, handler: Any) -> Any:
        return handler._replace(request_deserializer=strict(handler.request_deserializer))

    def intercept(self, call: Call) -> None:
        if call.method.client_streaming:
            call.request = self._validated(call.method, call.request)
        else:
            self._check(call.method, call.request)

    async def _validated(
        self, method: Method, requests: AsyncIterable[Message | None]
    ) -> AsyncIterator[Message]:
        async for request in requests:
            self._check(method, request)
            assert request is not None
            yield request

    def _check(self, method: Method, request: Any) -> None:
        if request is None:
            raise undecodable_request()
        if isinstance(request, RosterError):
            raise request
        checks = checks_of(request.DESCRIPTOR, method.path_fields)
        faults = [*checks.faults(request), *checks.bounds.faults(request)]
        if faults:
            raise ValidationError(faults)


def undecodable_request() -> ValidationError:
    """Returns the error for a request that `tolerant` could not decode."""
    return invalid("", "INVALID_FORMAT", "is not a message of the type that the rpc takes")


def tolerant(deserialize: Callable[[bytes], Message]) -> Callable[[bytes], Message | None]:
    """Returns a deserializer that returns None for bytes that are not a message.

    grpc.aio decodes a request before any interceptor runs, and would send the name of the
    exception to the client.
    """

    def read(data: bytes) -> Message | None:
        try:
            return deserialize(data)
        except DecodeError:
            return None

    return read


def strict(deserialize: Callable[[bytes], Message]) -> Callable[[bytes], Any]:
    """Returns a deserializer that returns FieldNotImplemented for a message with unknown fields.

    Like `tolerant`, it returns None for bytes that are not a message.
    """
    tolerated = tolerant(deserialize)

    def read(data: bytes) -> Message | RosterError | None:
        message = tolerated(data)
        if message is None:
            return None
        # This runs in the protobuf library, and takes 0.5 µs for a small message. Another size can
        # also be another encoding of the same fields.
        message.DiscardUnknownFields()
        if message.ByteSize() == len(data):
            return message
        unknown = list(islice(_unknown_fields(deserialize(data), ""), MAX_DETAILS))
        return FieldNotImplemented(unknown) if unknown else message

    return read


def _unknown_fields(message: Message, path: str) -> Iterator[str]:
    """Yields the paths of unknown fields, which end with their numbers."""
    fields: Any = UnknownFieldSet(message)
    for unknown in fields:
        yield f"{path}{unknown.field_number}"
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        name = f"{path}{field.json_name}"
        if not field.is_repeated:
            yield from _unknown_fields(value, f"{name}.")
        elif field.message_type.GetOptions().map_entry:
            # Scalar values have no unknown fields.
            for key in value:
                if isinstance(value[key], Message):
                    yield from _unknown_fields(value[key], f"{name}.{key}.")
        else:
            for index, each in enumerate(value):
                yield from _unknown_fields(each, f"{name}[{index}].")


class TextField(NamedTuple):
    """A string field and its options."""

    name: str
    json_name: str
    is_repeated: bool
    is_trimmed: bool
    is_multiline: bool
    # The declared values by their `_choice_key`; empty if another spelling is an error.
    choices: Mapping[str, str]

    def faults(self, request: Any) -> Iterator[Detail]:
        """Trims the field, or corrects its spelling, if it is declared so.

        Yields values with control characters.
        """
        if self.is_repeated:
            values = getattr(request, self.name)
            for index, value in enumerate(values):
                if self._is_invalid(value):
                    yield self._fault(f"{self.json_name}[{index}]")
                elif self.is_trimmed and (trimmed := trim(value)) != value:
                    values[index] = trimmed
            return
        value = getattr(request, self.name)
        if self._is_invalid(value):
            yield self._fault(self.json_name)
        elif self.is_trimmed and (trimmed := trim(value)) != value:
            setattr(request, self.name, trimmed)
        elif self.choices:
            setattr(request, self.name, self.choices.get(_choice_key(value), value))

    def _is_invalid(self, value: str) -> bool:
        # Trimming removes surrounding line breaks, but no other control characters.
        if self.is_trimmed and has_control_characters(value, multiline=True):
            return True
        text = value.strip() if self.is_trimmed else value
        return has_control_characters(text, multiline=self.is_multiline)

    def _fault(self, path: str) -> Detail:
        others = " other than tabs and line breaks" if self.is_multiline else " or line breaks"
        return Detail(path, "INVALID_CHARACTER", f"must not contain control characters{others}")


class Checks(NamedTuple):
    """The checks of a message type."""

    text_fields: Sequence[TextField]
    times: Sequence[str]
    messages: Mapping[str, Checks]
    repeated: Mapping[str, Checks]
    bounds: Bounds

    def faults(self, request: Any) -> Iterator[Detail]:
        """Trims the text of a message and of those in it. Yields invalid text and times."""
        for field in self.text_fields:
            if getattr(request, field.name):
                yield from field.faults(request)
        for name in self.times:
            if request.HasField(name) and not _is_time(getattr(request, name)):
                yield Detail(json_name(name), "INVALID_FORMAT", "is not a valid timestamp")
        for name, checks in self.messages.items():
            if request.HasField(name):
                for fault in checks.faults(getattr(request, name)):
                    yield replace(fault, field=f"{json_name(name)}.{fault.field}")
        for name, checks in self.repeated.items():
            for index, each in enumerate(getattr(request, name)):
                for fault in checks.faults(each):
                    yield replace(fault, field=f"{json_name(name)}[{index}].{fault.field}")


@cache
def checks_of(message: Descriptor, path_fields: frozenset[str]) -> Checks:
    """Returns the checks that the options of a message type declare.

    Text in the path is not checked: an ID that is not valid is not found. Neither are rows, which
    are repeated messages without bounds, and other items that the service validates one by one.
    """
    own = [
        field
        for field in message.fields
        if field.message_type is not None
        and field.message_type.file.package == message.file.package
    ]
    return Checks(
        text_fields=[
            _text_field(field)
            for field in message.fields
            if field.type == FieldDescriptor.TYPE_STRING
            and field.name not in path_fields
            and not has_independent_items(field)
        ],
        times=[
            field.name
            for field in message.fields
            if field.message_type is Timestamp.DESCRIPTOR and not field.is_repeated
        ],
        messages={
            field.name: checks_of(field.message_type, frozenset())
            for field in own
            if not field.is_repeated
        },
        repeated={
            field.name: checks_of(field.message_type, frozenset())
            for field in own
            if field.is_repeated and any(bounds_of(field.message_type))
        },
        bounds=bounds_of(message),
    )


def _text_field(field: FieldDescriptor) -> TextField:
    options = field.GetOptions().Extensions
    choices = (
        getattr(options[validate_pb2.field].string, "in") if options[http_pb2.any_case] else ()
    )
    return TextField(
        field.name,
        field.json_name,
        field.is_repeated,
        options[http_pb2.trimmed],
        options[http_pb2.multiline],
        {_choice_key(choice): choice for choice in choices},
    )


def _choice_key(text: str) -> str:
    """Returns a value for comparison without regard to letter case and repeated spaces."""
    return " ".join(text.lower().split())


def _is_time(value: Timestamp) -> bool:
    """Whether a time is in the years 1 to 9999, as its type requires."""
    return _FIRST_SECOND <= value.seconds < _END_SECOND and 0 <= value.nanos < 1_000_000_000
