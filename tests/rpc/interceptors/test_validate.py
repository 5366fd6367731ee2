"""Tests which requests are validated against the bounds in the protobuf files."""

from __future__ import annotations

from typing import Any

import protovalidate
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from roster.v1 import subscribers_pb2 as pb
from rosterd.server.app import SERVICES
from rosterd.server.rpc.interceptors.validate import checks_of

# A value of each type that exceeds most bounds.
EXTREMES: dict[int, Any] = {
    FieldDescriptor.CPPTYPE_STRING: "x" * 20_000,
    FieldDescriptor.CPPTYPE_INT32: -(1 << 31),
    FieldDescriptor.CPPTYPE_INT64: -(1 << 63),
    FieldDescriptor.CPPTYPE_DOUBLE: -1e300,
    FieldDescriptor.CPPTYPE_ENUM: 99,
    FieldDescriptor.CPPTYPE_BOOL: True,
}


def with_extreme(field: FieldDescriptor) -> Any:
    """Returns a message in which only one field is set."""
    message = GetMessageClass(field.containing_type)()
    value = getattr(message, field.name)
    if field.message_type is not None:
        if not field.is_repeated:
            value.SetInParent()
        elif not field.message_type.GetOptions().map_entry:
            value.add()
    elif field.is_repeated:
        value.extend([EXTREMES[field.cpp_type]] * 2)
    elif field.type == FieldDescriptor.TYPE_BYTES:
        setattr(message, field.name, b"x" * (2 << 20))
    else:
        setattr(message, field.name, EXTREMES[field.cpp_type])
    return message


@pytest.mark.parametrize(
    ("seconds", "nanos"), [(1 << 53, 0), (-(1 << 62), 0), (253_402_300_800, 0), (0, -1), (0, 10**9)]
)
def test_a_time_outside_of_its_type_is_a_fault(seconds: int, nanos: int) -> None:
    time = Timestamp(seconds=seconds, nanos=nanos)
    request = pb.ListSubscribersRequest(created_after=time, updated_before=Timestamp())

    faults = [*checks_of(request.DESCRIPTOR, frozenset()).faults(request)]

    assert [(fault.field, fault.code) for fault in faults] == [("createdAfter", "INVALID_FORMAT")]


def requests() -> list[Descriptor]:
    return [method.input_type for service in SERVICES for method in service.methods]


def test_every_request_that_exceeds_a_bound_is_validated() -> None:
    validator = protovalidate.Validator()
    exceeded = 0
    for request in requests():
        checks = checks_of(request, frozenset())
        if not checks.bounded:
            continue
        for message in (GetMessageClass(request)(), *map(with_extreme, request.fields)):
            if validator.collect_violations(message):
                exceeded += 1
                assert checks.can_exceed_bounds(message), message
    assert exceeded > len(SERVICES)


def test_request_without_values_with_bounds_is_not_validated() -> None:
    for request in (
        pb.GetSubscriberRequest(id="01M7Y2MPAQ036JVMBN3RCKGA5K"),
        pb.ListSubscribersRequest(tag="vip"),
    ):
        assert not checks_of(request.DESCRIPTOR, frozenset()).can_exceed_bounds(request)
