"""The messages of the corpus, made from the descriptors so that none can be forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from roster.v1 import errors_pb2, http_pb2

from ..fronts import METHODS

# A field that no version of the protos has, with a text: what a later version might send.
LATER_FIELD = b"\x82\x7d\x05later"  # field 2000, length-delimited

CASES = ("unset", "every field", "highest", "lowest", "of a later version")

WORDS = {
    "every field": "Grüße, 世界",
    "highest": "\U0001f469\u200d\U0001f4bb e\u0301 \u202etext\u202c \u2028 \x00\x7f \"\\/<>&'\t\n",
    "lowest": "",
}
DOUBLES = {"every field": 7.0, "highest": 1.7976931348623157e308, "lowest": -5e-324}
NUMBERS = {"every field": 7, "highest": 2**31 - 1, "lowest": -(2**31)}
MOMENTS = {
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
    """Returns what a Struct is filled with in each case."""
    plain, highest = Struct(), Struct()
    plain.update({"favourite_colour": "green", "shoe_size": 42.5, "vip": True})
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
WELL_KNOWN: dict[str, dict[str, Any]] = {
    "google.protobuf.Timestamp": MOMENTS,
    "google.protobuf.FieldMask": MASKS,
    "google.protobuf.Struct": STRUCTS,
}


def types() -> list[Descriptor]:
    """Returns every message type of roster.v1, those within others behind them."""
    files = {errors_pb2.DESCRIPTOR, http_pb2.DESCRIPTOR}
    files |= {method.containing_service.file for method in METHODS.values()}
    return [
        kind
        for file in sorted(files, key=lambda file: file.name)
        for top in file.message_types_by_name.values()
        for kind in with_nested(top)
    ]


def with_nested(kind: Descriptor) -> Iterator[Descriptor]:
    yield kind
    for nested in kind.nested_types:
        yield from with_nested(nested)


def filled(kind: Descriptor, case: str) -> Message:
    """Returns a message of a type, filled as a case of CASES says."""
    if case == "unset":
        return message_factory.GetMessageClass(kind)()
    if case == "of a later version":
        message = filled(kind, "every field")
        message.MergeFromString(LATER_FIELD)
        return message
    message = message_factory.GetMessageClass(kind)()
    for field in kind.fields:
        fill(message, field, case)
    return message


def fill(message: Message, field: FieldDescriptor, case: str) -> None:
    """Sets a field, also where its value is the default and presence is all there is to it."""
    if not field.is_repeated:
        put(message, field, value_of(field, case))
        return
    value = value_of(field, case)
    getattr(message, field.name).extend([value, value])


def put(message: Message, field: FieldDescriptor, value: Any) -> None:
    if field.message_type is None:
        setattr(message, field.name, value)
    else:
        getattr(message, field.name).CopyFrom(value)
        getattr(message, field.name).SetInParent()


def value_of(field: FieldDescriptor, case: str) -> Any:
    """Returns the value that a case gives a field, or each item of a repeated one."""
    if field.message_type is not None:
        known = WELL_KNOWN.get(field.message_type.full_name)
        return known[case] if known else filled(field.message_type, case)
    return SCALARS[field.type](field, case)


def enum_value(field: FieldDescriptor, case: str) -> int:
    """Returns the last value that the enum has, one that it does not have, or one below zero."""
    last: int = field.enum_type.values[-1].number
    return {"every field": last, "highest": 2**31 - 1, "lowest": -1}[case]


SCALARS: dict[int, Callable[[FieldDescriptor, str], Any]] = {
    FieldDescriptor.TYPE_STRING: lambda _, case: WORDS[case],
    FieldDescriptor.TYPE_DOUBLE: lambda _, case: DOUBLES[case],
    FieldDescriptor.TYPE_INT32: lambda _, case: NUMBERS[case],
    FieldDescriptor.TYPE_BOOL: lambda _, case: case != "lowest",
    FieldDescriptor.TYPE_ENUM: enum_value,
}
