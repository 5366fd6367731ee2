"""Builds the messages of the corpus from the descriptors of all types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from google.api.httpbody_pb2 import HttpBody
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from roster.v1 import errors_pb2, http_pb2

from ..fronts import METHODS

# An unknown field, as a later version of the protos may send.
LATER_FIELD = b"\x82\x7d\x05later"  # field 2000, length-delimited

CASES = ("unset", "every field", "highest", "lowest", "of a later version")

WORDS = {
    "every field": "Grüße, 世界",
    "highest": "\U0001f469\u200d\U0001f4bb e\u0301 \u202etext\u202c \u2028 \x00\x7f \"\\/<>&'\t\n",
    "lowest": "",
}
DOUBLES = {"every field": 7.0, "highest": 1.7976931348623157e308, "lowest": -5e-324}
NUMBERS = {"every field": 7, "highest": 2**31 - 1, "lowest": -(2**31)}
TIMESTAMPS = {
    "every field": Timestamp(seconds=1_790_000_000, nanos=247_000_000),
    "highest": Timestamp(seconds=253_402_300_799, nanos=999_999_999),
    "lowest": Timestamp(seconds=-62_135_596_800),
}
MASKS = {
    "every field": FieldMask(paths=["first_name"]),
    "highest": FieldMask(paths=["email", "first_name", "custom_fields.shoe_size"]),
    "lowest": FieldMask(),
}


def values() -> dict[str, Struct]:
    """Returns the value of Struct fields in each case."""
    plain, highest = Struct(), Struct()
    plain.update({"favorite_color": "green", "shoe_size": 42.5, "vip": True})
    highest.update(
        {
            "big": 1.7976931348623157e308,
            "small": 5e-324,
            "fraction": 0.1,
            "whole": 9007199254740993,
            "text": WORDS["highest"],
            "nothing": None,
            "no": False,
            "list": [1, ["two", {"three": None}], []],
            "": {"empty": {}},
        }
    )
    return {"every field": plain, "highest": highest, "lowest": Struct()}


STRUCTS = values()
BODIES = {
    case: HttpBody(content_type="text/plain", data=text.encode()) for case, text in WORDS.items()
}
WELL_KNOWN: dict[str, dict[str, Any]] = {
    "google.protobuf.Timestamp": TIMESTAMPS,
    "google.protobuf.FieldMask": MASKS,
    "google.protobuf.Struct": STRUCTS,
    "google.api.HttpBody": BODIES,
}


def types() -> list[Descriptor]:
    """Returns all message types of roster.v1, nested ones after their parent."""
    files = {errors_pb2.DESCRIPTOR, http_pb2.DESCRIPTOR}
    files |= {method.containing_service.file for method in METHODS.values()}
    return [
        descriptor
        for file in sorted(files, key=lambda file: file.name)
        for top in file.message_types_by_name.values()
        for descriptor in with_nested(top)
    ]


def with_nested(descriptor: Descriptor) -> Iterator[Descriptor]:
    yield descriptor
    for nested in descriptor.nested_types:
        # Clients have no types for the entries of maps.
        if not nested.GetOptions().map_entry:
            yield from with_nested(nested)


def filled(descriptor: Descriptor, case: str) -> Message:
    """Returns a message with the field values of a case."""
    if case == "unset":
        return message_factory.GetMessageClass(descriptor)()
    if case == "of a later version":
        message = filled(descriptor, "every field")
        message.MergeFromString(LATER_FIELD)
        return message
    message = message_factory.GetMessageClass(descriptor)()
    for field in descriptor.fields:
        fill(message, field, case)
    return message


def fill(message: Message, field: FieldDescriptor, case: str) -> None:
    """Sets a field, including to its default value if the field has presence."""
    if not field.is_repeated:
        set_value(message, field, value_of(field, case))
        return
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = (value_of(part, case) for part in field.message_type.fields)
        getattr(message, field.name)[key] = value
        return
    value = value_of(field, case)
    getattr(message, field.name).extend([value, value])


def set_value(message: Message, field: FieldDescriptor, value: Any) -> None:
    if field.message_type is None:
        setattr(message, field.name, value)
    else:
        getattr(message, field.name).CopyFrom(value)
        getattr(message, field.name).SetInParent()


def value_of(field: FieldDescriptor, case: str) -> Any:
    """Returns the value of a field in a case, or of each item of a repeated field."""
    if field.message_type is not None:
        known = WELL_KNOWN.get(field.message_type.full_name)
        return known[case] if known else filled(field.message_type, case)
    return SCALARS[field.type](field, case)


def enum_value(field: FieldDescriptor, case: str) -> int:
    """Returns the last value of the enum, an unknown value, or a negative one."""
    last: int = field.enum_type.values[-1].number
    return {"every field": last, "highest": 2**31 - 1, "lowest": -1}[case]


SCALARS: dict[int, Callable[[FieldDescriptor, str], Any]] = {
    FieldDescriptor.TYPE_STRING: lambda _, case: WORDS[case],
    FieldDescriptor.TYPE_BYTES: lambda _, case: WORDS[case].encode(),
    FieldDescriptor.TYPE_DOUBLE: lambda _, case: DOUBLES[case],
    FieldDescriptor.TYPE_INT32: lambda _, case: NUMBERS[case],
    FieldDescriptor.TYPE_BOOL: lambda _, case: case != "lowest",
    FieldDescriptor.TYPE_ENUM: enum_value,
}
