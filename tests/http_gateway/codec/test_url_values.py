"""Conversion of URL values to protobuf."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.protobuf import (
    duration_pb2,
    field_mask_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.message import Message

from rosterd.http_gateway.codec.url_values import text_reader

from .all_fields import Example
from .rejection import code_of


def reader(name: str) -> Any:
    return text_reader(Example.DESCRIPTOR.fields_by_name[name])


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        *[("string_one", "true", "true"), ("bool_one", "false", False), ("int32_one", "-7", -7)],
        *[("uint64_one", "18446744073709551615", 2**64 - 1), ("double_one", "1e3", 1000.0)],
        *[("float_one", "Infinity", math.inf), ("bytes_one", "_-8", b"\xff\xef")],
        *[("color_one", "RED", 1), ("color_one", "-2", -2), ("int32_many", "7", 7)],
        ("timestamp_one", "1970-01-01T00:00:07Z", timestamp_pb2.Timestamp(seconds=7)),
        ("duration_one", "1.5s", duration_pb2.Duration(seconds=1, nanos=500_000_000)),
        ("mask_one", "firstName,id", field_mask_pb2.FieldMask(paths=["first_name", "id"])),
        ("bool_value_one", "false", wrappers_pb2.BoolValue(value=False)),
        ("int64_value_one", "-7", wrappers_pb2.Int64Value(value=-7)),
        ("string_value_one", "", wrappers_pb2.StringValue()),
    ],
)
def test_text_is_read_as_a_field_value(name: str, text: str, value: Any) -> None:
    read = reader(name)(text)

    assert read == value
    assert isinstance(read, Message) == isinstance(value, Message)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *[("int32_one", text) for text in ("1.0", "1e2", "+1", " 1", "0x1", "", "2147483648")],
        *[("bool_one", text) for text in ("1", "True", "yes", "")],
        *[("int64_value_one", "1.0"), ("bool_value_one", "1")],
        *[("color_one", "GREEN"), ("color_one", "red")],
        *[("timestamp_one", "yesterday"), ("duration_one", "1"), ("mask_one", "first_name")],
    ],
)
def test_invalid_text_is_rejected(name: str, text: str) -> None:
    assert code_of(reader(name), text)


@pytest.mark.parametrize(
    "name", ["any_one", "struct_one", "value_one", "list_one", "self_one", "string_int32_map"]
)
def test_message_without_a_scalar_json_form_has_no_text_reader(name: str) -> None:
    assert reader(name) is None
