"""Struct, ListValue and Value fields compared with google.protobuf.json_format."""

from __future__ import annotations

import math
from typing import Any

import orjson
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from rosterd.http_gateway.codec.strict_json import MAX_DEPTH
from rosterd.http_gateway.codec.transcode import message_class, reader, writer
from rosterd.http_gateway.request_errors import Violations

F = FieldDescriptor
OUT_OF_RANGE = 10**400
FIELDS = {
    "struct": "Struct",
    "list": "ListValue",
    "value": "Value",
    "structs": "Struct",
    "lists": "ListValue",
    "values": "Value",
}


def example_class() -> type[Any]:
    """Returns a message type with a singular and a repeated field of each type."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    file_proto = descriptor_pb2.FileDescriptorProto(
        name="example.proto",
        package="example",
        syntax="proto3",
        dependency=["google/protobuf/struct.proto"],
    )
    message = file_proto.message_type.add(name="Example")
    for number, (name, kind) in enumerate(FIELDS.items(), start=1):
        message.field.add(
            name=name,
            number=number,
            type=F.TYPE_MESSAGE,
            type_name=f".google.protobuf.{kind}",
            label=F.LABEL_REPEATED if name.endswith("s") else F.LABEL_OPTIONAL,
        )
    pool.Add(file_proto)
    return message_class(pool.FindMessageTypeByName("example.Example"))


Example = example_class()


def read(value: Any, into: Any) -> list[tuple[str, str]]:
    """Reads a value into a message and returns the path and code of each violation."""
    violations = Violations()
    reader(into.DESCRIPTOR)(value, "", violations, into)
    return [(violation.field, violation.code) for violation in violations.details]


def read_example(value: Any) -> Any:
    """Returns the message of a valid value."""
    into = Example()
    assert read(value, into) == []
    return into


def written(message: Message) -> bytes:
    return orjson.dumps(writer(message.DESCRIPTOR)(message))


@pytest.mark.parametrize(("field", "empty"), [("struct", {}), ("list", []), ("value", {})])
def test_empty_field_is_present_and_absent_field_is_not_written(field: str, empty: Any) -> None:
    assert orjson.loads(written(read_example({field: empty})))[field] == empty
    assert field not in orjson.loads(written(Example()))


def test_violations_are_collected_by_path() -> None:
    value = {
        "struct": [],
        "list": {},
        "structs": [{}, "x", None],
        "lists": [[], None, 1],
        "values": {},
        "extra": 1,
    }

    assert sorted(read(value, Example())) == [
        ("extra", "UNKNOWN_FIELD"),
        ("list", "INVALID_TYPE"),
        ("lists[1]", "INVALID_TYPE"),
        ("lists[2]", "INVALID_TYPE"),
        ("struct", "INVALID_TYPE"),
        ("structs[1]", "INVALID_TYPE"),
        ("structs[2]", "INVALID_TYPE"),
        ("values", "INVALID_TYPE"),
    ]


@pytest.mark.parametrize(
    ("field", "message"), [("struct", "must be an object"), ("list", "must be an array")]
)
@pytest.mark.parametrize("value", ["x", 1, 1.5, True, False, ""], ids=repr)
def test_violation_names_the_expected_type(field: str, message: str, value: Any) -> None:
    violations = Violations()

    reader(Example.DESCRIPTOR)({field: value}, "", violations, Example())

    assert [(violation.field, violation.message) for violation in violations.details] == [
        (field, message)
    ]


def test_number_beyond_a_double_is_reported_by_path() -> None:
    large = OUT_OF_RANGE
    value = {
        "struct": {"a": {"b": [1, large]}, "c": -large, "d": 1},
        "list": [large, {"": large}],
        "value": large,
        "values": [True, large],
    }

    assert sorted(read(value, Example())) == [
        ("list[0]", "OUT_OF_RANGE"),
        ("list[1].", "OUT_OF_RANGE"),
        ("struct.a.b[1]", "OUT_OF_RANGE"),
        ("struct.c", "OUT_OF_RANGE"),
        ("value", "OUT_OF_RANGE"),
        ("values[1]", "OUT_OF_RANGE"),
    ]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (5.0, b"5"),
        (-5.0, b"-5"),
        (0.0, b"0"),
        (-0.0, b"-0.0"),
        (1.5, b"1.5"),
        (2.0**53, b"9007199254740992"),
        (-(2.0**53), b"-9007199254740992"),
        (2.0**53 + 2, b"9007199254740994.0"),
    ],
)
def test_integral_number_is_written_as_an_integer(number: float, text: bytes) -> None:
    message = Example()
    message.value.number_value = number

    assert b'"value":' + text + b"}" in written(message)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["struct", "list", "value", "values"])
def test_nan_and_infinity_are_not_written(field: str, number: float) -> None:
    message = read_example({"struct": {"a": {}}, "list": [{}], "value": {}, "values": [{}]})
    value = {
        "struct": message.struct.fields["a"],
        "list": message.list.values[0],
        "value": message.value,
        "values": message.values[0],
    }[field]
    value.struct_value.fields["number"].number_value = number

    with pytest.raises(ValueError, match="has no JSON form"):
        written(message)


def test_value_without_a_kind_is_written_as_null() -> None:
    message = Example()
    message.value.SetInParent()
    message.list.values.add()

    assert orjson.loads(written(message)) == {
        "value": None,
        "list": [None],
        "structs": [],
        "lists": [],
        "values": [],
    }


@given(st.permutations([f"key {number}" for number in range(20)] + ["é", "Z", "a", ""]))
def test_struct_keys_are_sorted(keys: list[str]) -> None:
    message = read_example(
        {"struct": dict.fromkeys(keys, 1), "value": {"a": dict.fromkeys(keys, 2)}}
    )

    value = orjson.loads(written(message))
    assert list(value["struct"]) == list(value["value"]["a"]) == sorted(keys)


@pytest.mark.parametrize("field", ["struct", "value"])
def test_object_of_maximum_depth_survives_the_wire_format(field: str) -> None:
    value: dict[str, Any] = {}
    for _ in range(MAX_DEPTH - 2):  # The body and the innermost object are also levels.
        value = {"a": value}

    message = read_example({field: value})

    assert Example.FromString(message.SerializeToString()) == message
    assert orjson.loads(written(message))[field] == value
