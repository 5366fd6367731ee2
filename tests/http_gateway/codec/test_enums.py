"""Enum values between JSON and protobuf."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from roster.v1 import custom_fields_pb2
from rosterd.http_gateway.codec.enums import enum_names, enum_reader

from .rejection import code_of

DATA_TYPE = custom_fields_pb2.CustomField.DataType.DESCRIPTOR
CLOSED = descriptor_pb2.FieldDescriptorProto.Type.DESCRIPTOR


@pytest.mark.parametrize(("value", "number"), [("TEXT", 1), (1, 1)])
def test_enum_is_read_from_name_or_number(value: Any, number: int) -> None:
    assert enum_reader(DATA_TYPE)(value) == number


@pytest.mark.parametrize(
    "value",
    [
        "text",
        -(2**31) - 1,
        None,
        True,
    ],
)
def test_unknown_enum_value_is_rejected(value: Any) -> None:
    assert code_of(enum_reader(DATA_TYPE), value) == "INVALID_VALUE"


def test_enum_is_written_by_name_or_as_an_unnamed_number() -> None:
    names = enum_names(DATA_TYPE)

    assert [names[1], names[0], names[99]] == ["TEXT", "DATA_TYPE_UNSPECIFIED", 99]


@pytest.mark.parametrize("number", [99])
def test_only_an_open_enum_accepts_unnamed_numbers(number: int) -> None:
    assert enum_reader(DATA_TYPE)(number) == number
    assert code_of(enum_reader(CLOSED), number) == "INVALID_VALUE"
