"""The codec compared with google.protobuf.json_format, for the messages of roster.v1."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from google.api.httpbody_pb2 import HttpBody
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roster.v1 import (
    accounts_pb2,
    api_keys_pb2,
    custom_fields_pb2,
    errors_pb2,
    http_pb2,
    links_pb2,
    merge_tags_pb2,
    operations_pb2,
    segments_pb2,
    signups_pb2,
    statistics_pb2,
    subscribers_pb2,
    suppressions_pb2,
    tags_pb2,
)
from rosterd.http_gateway.codec.transcode import message_class, reader, writer
from rosterd.http_gateway.request_errors import Violations
from rosterd.server.serving.gateway_policy import ANNOTATIONS

from ...cases import each
from ...fronts import to_json

F = FieldDescriptor
MASK = frozenset({"update_mask"})
MESSAGES = [
    message
    for file in (
        accounts_pb2,
        api_keys_pb2,
        custom_fields_pb2,
        links_pb2,
        merge_tags_pb2,
        operations_pb2,
        segments_pb2,
        signups_pb2,
        statistics_pb2,
        subscribers_pb2,
        suppressions_pb2,
        tags_pb2,
    )
    for message in file.DESCRIPTOR.message_types_by_name.values()
    # Unlike json_format, the codec writes the sequence numbers of its events as integers.
    if message.name != "GetSubscriberPersonalDataResponse"
] + [errors_pb2.Error.DESCRIPTOR, errors_pb2.ErrorResponse.DESCRIPTOR]
# The messages that make test generates values of. make verify generates values of all.
REPRESENTATIVES = {
    "BulkCreateSubscribersRequest",
    "ErrorResponse",
    "ImportSubscribersRequest",
    "ListSubscribersResponse",
    "ListTagsRequest",
    "RenderMergeTagsRequest",
    "Subscriber",
    "UpdateCustomFieldRequest",
}


def each_message(descriptors: list[Descriptor]) -> pytest.MarkDecorator:
    """Parametrizes a property-based test over messages."""
    cases = [
        pytest.param(d, id=d.name, marks=() if d.name in REPRESENTATIVES else pytest.mark.verify)
        for d in descriptors
    ]
    return pytest.mark.parametrize("descriptor", cases)


few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TIMESTAMPS = st.builds(
    Timestamp,
    seconds=st.integers(-62_135_596_800, 253_402_300_799),
    nanos=st.integers(0, 999_999_999),
)
SCALARS = {
    F.TYPE_STRING: st.text(max_size=5),
    F.TYPE_BYTES: st.binary(max_size=5),
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
    "google.protobuf.FieldMask": st.builds(
        FieldMask, paths=st.lists(st.sampled_from(["id", "first_name"]), max_size=2)
    ),
    "google.protobuf.Timestamp": TIMESTAMPS,
    "google.api.HttpBody": st.builds(
        HttpBody, content_type=st.text(max_size=5), data=st.binary(max_size=5)
    ),
    "google.protobuf.Struct": st.dictionaries(st.text(max_size=1), JSON, max_size=2).map(
        lambda value: json_format.ParseDict(value, Struct())
    ),
}


def messages(descriptor: Descriptor, *, unnamed_values: bool = False) -> st.SearchStrategy[Any]:
    """Generates messages of a type, without update masks and row errors."""
    fields = {
        field.name: values(field, unnamed_values=unnamed_values)
        for field in descriptor.fields
        if field.name not in MASK and not field.GetOptions().Extensions[http_pb2.row_faults]
    }
    kind = message_class(descriptor)
    return st.fixed_dictionaries({}, optional=fields).map(lambda arguments: kind(**arguments))


def values(field: FieldDescriptor, *, unnamed_values: bool) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        numbers = [value.number for value in field.enum_type.values]
        one: st.SearchStrategy[Any] = st.sampled_from(numbers + [99] * unnamed_values)
    elif field.message_type is None:
        one = SCALARS[field.type]
    elif field.message_type.full_name in WELL_KNOWN:
        one = WELL_KNOWN[field.message_type.full_name]
    elif field.message_type.GetOptions().map_entry:
        entry = [SCALARS[kind.type] for kind in field.message_type.fields]
        return st.dictionaries(*entry, max_size=2)
    else:
        one = messages(field.message_type, unnamed_values=unnamed_values)
    return st.lists(one, max_size=2) if field.is_repeated else one


def rows_of(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows of an import or a bulk."""
    return [row for name in ("subscribers", "suppressions", "rows") for row in value.get(name, ())]


def read(value: Any, into: Any, excluded: frozenset[str] = MASK) -> list[tuple[str, str]]:
    """Reads a value into a message and returns the path and code of each violation."""
    violations = Violations()
    reader(into.DESCRIPTOR, excluded, annotations=ANNOTATIONS)(value, "", violations, into)
    return [(violation.field, violation.code) for violation in violations.details]


@each_message([d for d in MESSAGES if "update_mask" not in d.fields_by_name])
@few
@given(data=st.data())
def test_written_json_matches_json_format_except_for_milliseconds(
    descriptor: Descriptor, data: st.DataObject
) -> None:
    message = data.draw(messages(descriptor, unnamed_values=True))

    expected = to_json(message)
    for row in (expected, *rows_of(expected)):
        row.pop("faults", None)  # row errors are for the server and have no JSON form
    for field in descriptor.fields:
        if not ANNOTATIONS.of_field(field).is_outside_json:
            continue
        expected.pop(field.json_name, None)
    assert (
        orjson.loads(orjson.dumps(writer(descriptor, annotations=ANNOTATIONS)(message))) == expected
    )


@pytest.mark.parametrize("value", [None, [], "x", 1, True], ids=repr)
@each("descriptor", MESSAGES)
def test_value_that_is_not_an_object_is_a_violation(descriptor: Descriptor, value: Any) -> None:
    assert read(value, message_class(descriptor)()) == [("", "INVALID_TYPE")]


@each("descriptor", MESSAGES)
def test_null_is_an_absent_key(descriptor: Descriptor) -> None:
    into = message_class(descriptor)()
    names = [field.json_name for field in descriptor.fields if field.name not in MASK]

    assert read({name: None for name in names if name != "faults"}, into) == []
    assert into == message_class(descriptor)()


def test_violations_are_collected_by_path() -> None:
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


def test_at_most_20_violations_are_collected() -> None:
    message = subscribers_pb2.UpdateSubscriberRequest()

    assert len(read({"tags": [7] * 100}, message)) == 20


@pytest.mark.parametrize(
    "value", [{"firstName": "a", "first_name": "b"}, {"first_name": "a", "firstName": "b"}]
)
def test_json_and_proto_name_of_a_field_are_duplicates(value: dict[str, str]) -> None:
    into = subscribers_pb2.CreateSubscriberRequest()

    assert read(value, into) == [("firstName", "DUPLICATE_FIELD")]


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


@pytest.mark.parametrize("key", ["id", "updateMask", "update_mask"])
def test_excluded_field_is_an_unknown_key(key: str) -> None:
    violations = read({key: "name"}, tags_pb2.GetTagRequest(), MASK | {"id"})

    assert violations == [(key, "UNKNOWN_FIELD")]


@pytest.mark.parametrize(
    ("row", "fields"),
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


@pytest.mark.parametrize("value", [7, {}, "x", True])
def test_rows_must_be_an_array(value: Any) -> None:
    into = subscribers_pb2.BulkCreateSubscribersRequest()

    assert read({"subscribers": value}, into) == [("subscribers", "INVALID_TYPE")]
