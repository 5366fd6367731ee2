"""The codec with the annotations of roster.v1: excluded, ignored and duplicate keys, rows."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor

from roster.v1 import subscribers_pb2, tags_pb2
from rosterd.http_gateway.codec.transcode import message_class, reader
from rosterd.http_gateway.request_errors import Violations
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import ANNOTATIONS

from ...cases import each

MASK = frozenset({"update_mask"})
REQUESTS = [method.input_type for service in SERVICES for method in service.methods]


def read(value: Any, into: Any, excluded: frozenset[str] = MASK) -> list[tuple[str, str]]:
    """Reads a value into a message and returns the path and code of each violation."""
    violations = Violations()
    reader(into.DESCRIPTOR, excluded, annotations=ANNOTATIONS)(value, "", violations, into)
    return [(violation.field, violation.code) for violation in violations.details]


@each("descriptor", REQUESTS)
def test_null_is_an_absent_key(descriptor: Descriptor) -> None:
    into = message_class(descriptor)()
    names = [field.json_name for field in descriptor.fields if field.name not in MASK]

    assert read({name: None for name in names if name != "faults"}, into) == []
    assert into == message_class(descriptor)()


def test_at_most_20_violations_are_collected() -> None:
    message = subscribers_pb2.UpdateSubscriberRequest()

    assert len(read({"tags": [7] * 100}, message)) == 20


def test_ignored_key_can_have_any_value() -> None:
    into = tags_pb2.CreateTagRequest()

    assert read({"id": {}, "createdAt": 7, "name": "a"}, into) == []
    assert into == tags_pb2.CreateTagRequest(name="a")


def test_keys_are_returned_by_json_name() -> None:
    read_update = reader(
        subscribers_pb2.UpdateSubscriberRequest.DESCRIPTOR, MASK | {"id"}, annotations=ANNOTATIONS
    )
    value = {"id": "x", "status": 7, "first_name": "a", "lastName": None}

    given_keys = read_update(value, "", Violations(), subscribers_pb2.UpdateSubscriberRequest())

    assert set(given_keys) == {"firstName", "lastName"}


@each("key", ["id", "update_mask"])
def test_excluded_field_is_an_unknown_key(key: str) -> None:
    violations = read({key: "name"}, tags_pb2.GetTagRequest(), MASK | {"id"})

    assert violations == [(key, "UNKNOWN_FIELD")]


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ({"email": "a@b.io"}, []),
        ({"email": 7, "tags": "x"}, ["email", "tags"]),
        ({"tags": ["a", 7]}, ["tags"]),
        ({"nothing": 1}, ["nothing"]),
        ({"firstName": "a", "first_name": "b"}, ["firstName"]),
        ({"id": 7, "status": {}, "createdAt": []}, []),
        (7, [""]),
    ],
    ids=repr,
)
def test_row_errors_are_stored_in_the_row(row: Any, fields: list[str]) -> None:
    into = subscribers_pb2.BulkCreateSubscribersRequest()

    assert read({"subscribers": [row, {"email": "z@b.io"}]}, into) == []

    first, second = into.subscribers
    assert [fault.field for fault in first.faults] == fields
    assert (second.email, list(second.faults)) == ("z@b.io", [])


def test_row_cannot_set_its_own_errors() -> None:
    into = subscribers_pb2.BulkCreateSubscribersRequest()

    read({"subscribers": [{"faults": [{"field": ""}]}]}, into)

    assert [fault.field for fault in into.subscribers[0].faults] == ["faults"]
