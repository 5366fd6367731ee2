"""Tests that requests are validated against the bounds in the protobuf files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import protovalidate
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from roster.buf.validate import validate_pb2
from roster.v1 import subscribers_pb2 as pb
from rosterd.server.app import SERVICES
from rosterd.server.rpc.interceptors.bounds import bounds_of
from rosterd.server.rpc.interceptors.validate import checks_of
from rosterd.server.values.texts import json_name

# Detail codes by the last part of the ID of a rule. Others are INVALID_VALUE.
CODES = {
    "required": "REQUIRED",
    "min_len": "REQUIRED",
    "max_len": "TOO_LONG",
    "min_items": "TOO_FEW",
    "max_items": "TOO_MANY",
    "pattern": "INVALID_FORMAT",
    "gte": "OUT_OF_RANGE",
    "gte_lte": "OUT_OF_RANGE",
    "gt_now": "OUT_OF_RANGE",
    "lt": "OUT_OF_RANGE",
}
VALUES: dict[int, list[Any]] = {
    FieldDescriptor.TYPE_STRING: ["", "x", "asc", "#12AB3f", "#12AB3f\n", "é\U0001f600"],
    FieldDescriptor.TYPE_BYTES: [b"", b"x" * 65_536, b"x" * 65_537],
    FieldDescriptor.TYPE_INT32: [-(1 << 31), -1, 0, 1, 2, (1 << 31) - 1],
    FieldDescriptor.TYPE_DOUBLE: [-1e-9, 0.0, 2.0**53 - 1, 2.0**53, 1e300, float("nan")],
    FieldDescriptor.TYPE_ENUM: [0, 1, 99],
    FieldDescriptor.TYPE_BOOL: [True],
}
TIMES = [0, 2_000_000_000, 253_402_300_798, 253_402_300_799]


def values_of(field: FieldDescriptor) -> list[Any]:
    """Returns values within and beyond the bounds of a field."""
    rules = field.GetOptions().Extensions[validate_pb2.field]
    values = list(VALUES.get(field.type, []))
    for each in (rules, rules.repeated.items):
        length = each.string.max_len
        values += [letter * count for count in (length, length + 1) for letter in "xé" if length]
    return values


def messages(kind: Descriptor) -> Iterator[Message]:
    """Yields messages in which one field is set, to each of its values."""
    new = GetMessageClass(kind)
    yield new()
    for field in kind.fields:
        if field.is_repeated and not (
            field.message_type and field.message_type.GetOptions().map_entry
        ):
            limit = field.GetOptions().Extensions[validate_pb2.field].repeated.max_items
            is_message = field.message_type is not None
            values = [GetMessageClass(field.message_type)()] if is_message else values_of(field)
            for items in ([each] * count for each in values for count in (1, limit, limit + 1)):
                yield new(**{field.name: items})
            if not is_message:
                yield new(**{field.name: values})
        elif field.message_type is Timestamp.DESCRIPTOR:
            yield from (new(**{field.name: Timestamp(seconds=seconds)}) for seconds in TIMES)
        elif field.message_type is not None and not field.is_repeated:
            yield from (new(**{field.name: each}) for each in messages(field.message_type))
        else:
            yield from (new(**{field.name: value}) for value in values_of(field))


def expected(violation: Any) -> tuple[str, str]:
    rule = violation.rule_id.rpartition(".")[2]
    path = ""
    for element in violation.field.elements:
        path += f"{'.' if path else ''}{json_name(element.field_name)}"
        if element.subscript is not None:
            path += f"[{element.subscript.value}]"
    return path, CODES.get(rule, "INVALID_VALUE")


@pytest.mark.verify
def test_bounds_have_the_faults_that_protovalidate_finds() -> None:
    validator, faults_of_rules = protovalidate.Validator(), {}
    messages_of_faults: set[str] = set()
    for request in {method.input_type for service in SERVICES for method in service.methods}:
        for message in messages(request):
            violations = [each.proto for each in validator.collect_violations(message)]
            faults_of_rules.update({each.rule_id: each for each in violations})
            faults = bounds_of(request).faults(message)
            assert [(fault.field, fault.code) for fault in faults] == [*map(expected, violations)]
            messages_of_faults.update(fault.message for fault in faults)
    assert faults_of_rules.keys() == {
        "required",
        "bytes.max_len",
        "double.gte_lte",
        "enum.defined_only",
        "enum.not_in",
        "int32.gte",
        "int32.gte_lte",
        "repeated.max_items",
        "repeated.min_items",
        "string.in",
        "string.max_len",
        "string.min_len",
        "string.pattern",
        "timestamp.gt_now",
        "timestamp.lt",
    }
    plain = {re.sub("(?<=most )[0-9]+", "N", message) for message in messages_of_faults}
    texts = {re.sub("(?<=must be one of ).*", "...", message) for message in plain}
    assert texts == {
        "is required",
        "must be at least 0",
        "must be at least 1, or 0 for the default",
        "must be at most N bytes",
        "must be at most N characters",
        "must be between 0 and 604800",
        "must be between 100 and 599",
        "must be between 0 and 2147483648",
        "must be between 0 and 9007199254740991",
        "must be between 1 and 2147483648",
        "must be earlier than 9999-12-31T23:59:59Z",
        "must be in the future",
        "must be one of ...",
        "must be one or more entity tags in double quotes, separated by commas, or *",
        "must be written like #1a5fb4",
        "must be written like 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "must contain at least one item",
        "must contain at most N items",
    }


@pytest.mark.parametrize(
    ("seconds", "nanos"), [(1 << 53, 0), (-(1 << 62), 0), (253_402_300_800, 0), (0, -1), (0, 10**9)]
)
def test_a_time_outside_of_its_type_is_a_fault(seconds: int, nanos: int) -> None:
    time = Timestamp(seconds=seconds, nanos=nanos)
    request = pb.ListSubscribersRequest(created_after=time, updated_before=Timestamp())

    faults = [*checks_of(request.DESCRIPTOR, frozenset()).faults(request)]

    assert [(fault.field, fault.code) for fault in faults] == [("createdAfter", "INVALID_FORMAT")]
