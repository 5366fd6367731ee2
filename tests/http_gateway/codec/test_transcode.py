"""The compiled codec against google.protobuf.json_format, on the messages of roster.v1."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from roster.v1 import (
    api_keys_pb2,
    custom_fields_pb2,
    errors_pb2,
    http_pb2,
    merge_tags_pb2,
    subscribers_pb2,
    suppressions_pb2,
    tags_pb2,
)

from http_gateway.codec.transcode import message_class, reader, writer
from http_gateway.request_errors import Code, Violations

from ...fronts import to_json

F = FieldDescriptor
MASK = frozenset({"update_mask"})
MESSAGES = [
    message
    for file in (
        api_keys_pb2,
        custom_fields_pb2,
        merge_tags_pb2,
        subscribers_pb2,
        suppressions_pb2,
        tags_pb2,
    )
    for message in file.DESCRIPTOR.message_types_by_name.values()
] + [errors_pb2.Error.DESCRIPTOR, errors_pb2.ErrorResponse.DESCRIPTOR]
EXTENDED = {
    "CreateSubscriberRequest",
    "BulkSubscriber",
    "BulkCreateSubscribersRequest",
    "ImportSubscribersRequest",
}

each_message = pytest.mark.parametrize("descriptor", MESSAGES, ids=lambda d: d.name)
few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TIMESTAMPS = st.builds(
    Timestamp,
    seconds=st.integers(-62_135_596_800, 253_402_300_799),
    nanos=st.integers(0, 999_999_999),
)
SCALARS = {
    F.TYPE_STRING: st.text(max_size=5),
    F.TYPE_BOOL: st.booleans(),
    F.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    F.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**33), 2**33)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "1", "-0", "1.0", "1e2", "TEXT", "true", "2026-01-02T03:04:05Z"])
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "name", "field"]), inner, max_size=2)
    ),
    max_leaves=3,
)
WELL_KNOWN = {
    "google.protobuf.Timestamp": TIMESTAMPS,
    "google.protobuf.Struct": st.dictionaries(st.text(max_size=1), JSON, max_size=2).map(
        lambda value: json_format.ParseDict(value, Struct())
    ),
}


def messages(descriptor: Descriptor, *, unnamed_values: bool = False) -> st.SearchStrategy[Any]:
    """Messages of a type, less their masks and faults of rows."""
    fields = {
        field.name: values(field, unnamed_values=unnamed_values)
        for field in descriptor.fields
        if field.name not in MASK and not field.GetOptions().Extensions[http_pb2.row_faults]
    }
    kind = message_class(descriptor)
    return st.fixed_dictionaries({}, optional=fields).map(lambda given: kind(**given))


def values(field: FieldDescriptor, *, unnamed_values: bool) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        numbers = [value.number for value in field.enum_type.values]
        one: st.SearchStrategy[Any] = st.sampled_from(numbers + [99] * unnamed_values)
    elif field.message_type is None:
        one = SCALARS[field.type]
    elif field.message_type.full_name in WELL_KNOWN:
        one = WELL_KNOWN[field.message_type.full_name]
    else:
        one = messages(field.message_type, unnamed_values=unnamed_values)
    return st.lists(one, max_size=2) if field.is_repeated else one


def read(value: Any, into: Any, excluded: frozenset[str] = MASK) -> list[tuple[str, str]]:
    """Reads a value into a message and returns path and code of each fault."""
    faults = Violations()
    reader(into.DESCRIPTOR, excluded)(value, "", faults, into)
    return [(fault.field, Code.Name(fault.code)) for fault in faults.details]


@pytest.mark.parametrize(
    "descriptor",
    [d for d in MESSAGES if "update_mask" not in d.fields_by_name],
    ids=lambda d: d.name,
)
@few
@given(data=st.data())
def test_a_message_is_written_as_json_format_does_with_three_digits(
    descriptor: Descriptor, data: st.DataObject
) -> None:
    message = data.draw(messages(descriptor, unnamed_values=True))

    expected = to_json(message)
    for row in (expected, *expected.get("subscribers", ()), *expected.get("rows", ())):
        row.pop("faults", None)  # rows note their faults for the server, never in JSON
    assert orjson.loads(orjson.dumps(writer(descriptor)(message))) == expected


@each_message
@few
@given(data=st.data(), defaults=st.booleans(), proto_names=st.booleans())
def test_what_json_format_writes_is_read_as_the_same_message(
    descriptor: Descriptor, data: st.DataObject, defaults: bool, proto_names: bool
) -> None:
    message = data.draw(messages(descriptor))
    value = json_format.MessageToDict(
        message,
        always_print_fields_with_no_presence=defaults,
        preserving_proto_field_name=proto_names,
    )
    for row in (value, *value.get("subscribers", ()), *value.get("rows", ())):
        row.pop("faults", None)

    into = message_class(descriptor)()
    assert read(value, into) == []
    assert into == message


@pytest.mark.parametrize(
    "descriptor", [d for d in MESSAGES if d.name not in EXTENDED], ids=lambda d: d.name
)
@few
@given(data=st.data())
def test_what_is_read_without_a_fault_json_format_reads_alike(
    descriptor: Descriptor, data: st.DataObject
) -> None:
    names = [n for f in descriptor.fields if f.name not in MASK for n in (f.json_name, f.name)]
    value = data.draw(st.dictionaries(st.sampled_from(names or ["nothing"]), JSON, max_size=3))
    into = message_class(descriptor)()

    faults = read(value, into)

    if not faults:
        assert json_format.ParseDict(value, message_class(descriptor)()) == into
    else:
        assert all(path for path, _ in faults)


@each_message
@pytest.mark.parametrize("value", [None, [], "x", 1, True], ids=repr)
def test_what_is_no_object_is_a_fault(descriptor: Descriptor, value: Any) -> None:
    assert read(value, message_class(descriptor)()) == [("", "INVALID_TYPE")]


@each_message
def test_null_is_as_if_the_key_were_absent(descriptor: Descriptor) -> None:
    into = message_class(descriptor)()
    names = [field.json_name for field in descriptor.fields if field.name not in MASK]

    assert read({name: None for name in names if name != "faults"}, into) == []
    assert into == message_class(descriptor)()


def test_faults_are_collected_by_path() -> None:
    value = {
        "tags": [{"name": 1, "createdAt": "x"}, 7, {"nothing": 1}],
        "total": "x",
        "page": 2**31,
        "limit": {},
        "extra": 1,
    }

    assert sorted(read(value, tags_pb2.ListTagsResponse())) == [
        ("extra", "UNKNOWN_FIELD"),
        ("limit", "INVALID_TYPE"),
        ("page", "OUT_OF_RANGE"),
        ("tags[0].createdAt", "INVALID_FORMAT"),
        ("tags[0].name", "INVALID_TYPE"),
        ("tags[1]", "INVALID_TYPE"),
        ("tags[2].nothing", "UNKNOWN_FIELD"),
        ("total", "INVALID_TYPE"),
    ]


def test_no_more_than_twenty_faults_are_collected() -> None:
    message = subscribers_pb2.UpdateSubscriberRequest()

    assert len(read({"tags": [7] * 100}, message)) == 20


@pytest.mark.parametrize(
    "value", [{"firstName": "a", "first_name": "b"}, {"first_name": "a", "firstName": "b"}]
)
def test_both_names_of_a_field_are_a_duplicate(value: dict[str, str]) -> None:
    into = subscribers_pb2.CreateSubscriberRequest()

    assert read(value, into) == [("firstName", "DUPLICATE_FIELD")]


def test_a_key_of_the_proto_options_is_ignored_whatever_it_holds() -> None:
    into = tags_pb2.CreateTagRequest()

    assert read({"id": {}, "createdAt": 7, "name": "a"}, into) == []
    assert into == tags_pb2.CreateTagRequest(name="a")


def test_the_keys_that_were_given_come_back_under_their_json_names() -> None:
    read_update = reader(subscribers_pb2.UpdateSubscriberRequest.DESCRIPTOR, MASK | {"id"})
    value = {"id": "x", "status": 7, "first_name": "a", "lastName": None}

    given_keys = read_update(value, "", Violations(), subscribers_pb2.UpdateSubscriberRequest())

    assert set(given_keys) == {"firstName", "lastName"}


@pytest.mark.parametrize("key", ["id", "updateMask", "update_mask"])
def test_an_excluded_field_is_no_key(key: str) -> None:
    faults = read({key: "name"}, tags_pb2.GetTagRequest(), MASK | {"id"})

    assert faults == [(key, "UNKNOWN_FIELD")]


@pytest.mark.parametrize("value", ["YES", 1, "1", True])
def test_a_boolean_like_field_takes_what_the_contract_lists(value: Any) -> None:
    into = subscribers_pb2.CreateSubscriberRequest()

    assert read({"isConfirmed": value}, into) == []
    assert into.is_confirmed


def test_a_boolean_like_field_takes_nothing_else() -> None:
    assert read({"isConfirmed": 2}, subscribers_pb2.CreateSubscriberRequest()) == [
        ("isConfirmed", "INVALID_TYPE")
    ]


@pytest.mark.parametrize(
    ("row", "noted"),
    [
        ({"email": "a@b.io"}, []),
        ({"email": 7}, ["email"]),
        ({"email": 7, "tags": "x"}, ["email", "tags"]),
        ({"tags": ["a", 7]}, ["tags"]),
        ({"nothing": 1}, ["nothing"]),
        ({"firstName": "a", "first_name": "b"}, ["firstName"]),
        ({"id": 7, "status": {}, "createdAt": []}, []),
        (7, [""]),
        (None, [""]),
        ([], [""]),
    ],
    ids=repr,
)
def test_what_is_wrong_with_a_row_is_noted_in_it_and_fails_nothing_else(
    row: Any, noted: list[str]
) -> None:
    into = subscribers_pb2.BulkCreateSubscribersRequest()

    assert read({"subscribers": [row, {"email": "z@b.io"}]}, into) == []

    first, second = into.subscribers
    assert [fault.field for fault in first.faults] == noted
    assert (second.email, list(second.faults)) == ("z@b.io", [])


def test_a_row_cannot_note_faults_by_itself() -> None:
    into = subscribers_pb2.BulkCreateSubscribersRequest()

    read({"subscribers": [{"faults": [{"field": ""}]}]}, into)

    assert [fault.field for fault in into.subscribers[0].faults] == ["faults"]


@pytest.mark.parametrize("value", [7, {}, "x", True])
def test_rows_that_are_no_array_are_a_fault_of_the_request(value: Any) -> None:
    into = subscribers_pb2.BulkCreateSubscribersRequest()

    assert read({"subscribers": value}, into) == [("subscribers", "INVALID_TYPE")]
