"""Query parameters into the fields of a request."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from roster.v1 import api_keys_pb2, custom_fields_pb2, subscribers_pb2, tags_pb2

from http_gateway.faults import Code, RequestFault
from http_gateway.routing.query import QueryReader

NOTHING: frozenset[str] = frozenset()
# Comes in bodies only, and no parameter could hold it.
STRUCT = frozenset({"custom_fields"})


def read(query: str, message: Any, *, has_body: bool = False) -> Any:
    QueryReader(message.DESCRIPTOR, STRUCT, has_body=has_body).read(query, message)
    return message


def faults_of(
    query: str, message: Message | None = None, *, has_body: bool = False
) -> list[tuple[str, str]]:
    """Reads what has to be refused, and returns name and code of each fault."""
    with pytest.raises(RequestFault) as caught:
        read(query, message or tags_pb2.ListTagsRequest(), has_body=has_body)
    return [(detail.field, Code.Name(detail.code)) for detail in caught.value.error.details]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=7&page=2", tags_pb2.ListTagsRequest(limit=7, page=2)),
        ("limit=%37", tags_pb2.ListTagsRequest(limit=7)),
        ("&limit=7&", tags_pb2.ListTagsRequest(limit=7)),
        ("limit=-1", tags_pb2.ListTagsRequest(limit=-1)),
        ("name=a+b%26", tags_pb2.CreateTagRequest(name="a b&")),
        ("name=", tags_pb2.CreateTagRequest()),
        ("name=%C3%A9", tags_pb2.CreateTagRequest(name="é")),
        ("name=a=b", tags_pb2.CreateTagRequest(name="a=b")),
        ("firstName=A", subscribers_pb2.CreateSubscriberRequest(first_name="A")),
        ("first_name=A", subscribers_pb2.CreateSubscriberRequest(first_name="A")),
        ("isConfirmed=true", subscribers_pb2.CreateSubscriberRequest(is_confirmed=True)),
        ("isConfirmed=false", subscribers_pb2.CreateSubscriberRequest()),
        ("tags=a&tags=b", subscribers_pb2.CreateSubscriberRequest(tags=["a", "b"])),
        (
            "dataType=DATE",
            custom_fields_pb2.CreateCustomFieldRequest(
                data_type=custom_fields_pb2.CustomField.DATE
            ),
        ),
        (
            "expiresAt=1970-01-01T00:00:01Z",
            api_keys_pb2.CreateApiKeyRequest(expires_at=Timestamp(seconds=1)),
        ),
    ],
)
def test_a_parameter_sets_its_field(query: str, expected: Message) -> None:
    assert read(query, type(expected)()) == expected


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=x", "INVALID_TYPE"),
        ("limit=", "INVALID_TYPE"),
        ("limit", "INVALID_TYPE"),
        ("limit=1.5", "INVALID_TYPE"),
        ("limit=%EF%BC%91", "INVALID_TYPE"),
        ("limit=+1", "INVALID_TYPE"),
        ("limit=2147483648", "OUT_OF_RANGE"),
        ("limit=9223372036854775808", "OUT_OF_RANGE"),
        (f"limit=1{'0' * 18}", "OUT_OF_RANGE"),
        pytest.param(f"limit=1{'0' * 400}", "INVALID_TYPE", id="401 digits"),
    ],
)
def test_a_number_that_cannot_be_taken_is_named(query: str, code: str) -> None:
    assert faults_of(query) == [("limit", code)]


@pytest.mark.parametrize("value", ["TRUE", "1", "yes", ""])
def test_a_boolean_is_true_or_false(value: str) -> None:
    message = subscribers_pb2.CreateSubscriberRequest()

    assert faults_of(f"isConfirmed={value}", message) == [("isConfirmed", "INVALID_TYPE")]


@pytest.mark.parametrize("name", ["nothing", "Limit", "limit[]", "limit ", "id.x"])
def test_an_unknown_parameter_is_named(name: str) -> None:
    assert faults_of(f"{name}=1") == [(name, "UNKNOWN_FIELD")]


@pytest.mark.parametrize("query", ["limit=1&limit=1", "limit=1&limit=2"])
def test_a_parameter_that_is_given_twice_is_named(query: str) -> None:
    assert faults_of(query) == [("limit", "DUPLICATE_FIELD")]


def test_both_names_of_one_field_are_a_duplicate() -> None:
    message = subscribers_pb2.CreateSubscriberRequest()

    assert faults_of("firstName=a&first_name=b", message) == [("first_name", "DUPLICATE_FIELD")]


def test_every_fault_is_told() -> None:
    assert faults_of("limit=x&page=y&z=1") == [
        ("limit", "INVALID_TYPE"),
        ("page", "INVALID_TYPE"),
        ("z", "UNKNOWN_FIELD"),
    ]


def test_no_parameter_is_known_beside_a_body() -> None:
    message = tags_pb2.CreateTagRequest()

    assert faults_of("name=a", message, has_body=True) == [("name", "UNKNOWN_FIELD")]


def test_a_field_of_the_path_is_no_parameter() -> None:
    reader = QueryReader(tags_pb2.GetTagRequest.DESCRIPTOR, frozenset({"id"}), has_body=False)

    with pytest.raises(RequestFault):
        reader.read("id=x", tags_pb2.GetTagRequest())


def test_a_query_that_is_not_utf_8_is_refused() -> None:
    assert faults_of("limit=%ff") == [("", "INVALID_FORMAT")]


def test_a_query_takes_64_parameters_and_no_more() -> None:
    message = subscribers_pb2.CreateSubscriberRequest()

    assert len(read("&".join(["tags=a"] * 64), message).tags) == 64
    assert faults_of("&".join(["tags=a"] * 65), message) == [("", "TOO_MANY")]


def test_a_field_that_no_parameter_can_hold_stops_the_start_and_is_named() -> None:
    with pytest.raises(TypeError, match=r"BulkCreateSubscribersRequest\.subscribers"):
        QueryReader(
            subscribers_pb2.BulkCreateSubscribersRequest.DESCRIPTOR, NOTHING, has_body=False
        )
