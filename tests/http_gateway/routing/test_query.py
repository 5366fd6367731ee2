"""Reading query parameters into request fields."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import text_format
from google.protobuf.message import Message

from rosterd.http_gateway.codec.transcode import message_class
from rosterd.http_gateway.request_errors import RequestError
from rosterd.http_gateway.routing.query import QueryReader

from ...cases import each
from .protos import LIBRARY, compiled

SEARCH = compiled(LIBRARY).message_types_by_name["SearchRequest"]


def read(query: str, message: Any, excluded: frozenset[str] = frozenset()) -> Any:
    QueryReader(message.DESCRIPTOR, excluded).read(query, message)
    return message


def search(text: str = "") -> Any:
    """Returns a library.SearchRequest from the text format."""
    return text_format.Parse(text, message_class(SEARCH)(), descriptor_pool=SEARCH.file.pool)


def violations_of(
    query: str, message: Message | None = None, excluded: frozenset[str] = frozenset()
) -> list[tuple[str, str]]:
    """Reads an invalid query and returns the name and code of each violation."""
    with pytest.raises(RequestError) as caught:
        read(query, message or search(), excluded)
    return [(detail.field, detail.code) for detail in caught.value.error.details]


def test_all_violations_are_reported() -> None:
    assert violations_of("most=x&near.rowNumber=y&z=1") == [
        ("most", "INVALID_TYPE"),
        ("near.rowNumber", "INVALID_TYPE"),
        ("z", "UNKNOWN_FIELD"),
    ]


def test_path_variable_is_not_a_parameter() -> None:
    assert violations_of("text=x", excluded=frozenset({"text"})) == [("text", "UNKNOWN_FIELD")]


def test_query_must_be_utf_8() -> None:
    assert violations_of("text=%ff") == [("", "INVALID_FORMAT")]


def test_query_has_at_most_64_parameters() -> None:
    assert len(read("&".join(["genres=1"] * 64), search()).genres) == 64
    assert violations_of("&".join(["genres=1"] * 65)) == [("", "TOO_MANY")]


@each(
    ("query", "expected"),
    [
        ("text=a+b%26", "text: 'a b&'"),
        ("&text=a&near.shelf=", "text: 'a' near {}"),
        ("text=", ""),
        ("near.rowNumber=1", "near {row_number: 1}"),
        ("near.next.next.row_number=1", "near {next {next {row_number: 1}}}"),
        ("near.shelf=a&near.rowNumber=2", "near {shelf: 'a' row_number: 2}"),
        ("genres=NOVEL&genres=2&genres=GENRE_UNSPECIFIED", "genres: [1, 2, 0]"),
        ("pageCounts=1&page_counts=-9223372036854775808", "page_counts: [1, -9223372036854775808]"),
        ("since=1970-01-01T01:00:01%2B01:00", "since {seconds: 1}"),
        ("longerThan=1.5s", "longer_than {seconds: 1 nanos: 500000000}"),
        ("readMask=text,near.rowNumber", "read_mask {paths: 'text' paths: 'near.row_number'}"),
        ("read_mask=", "read_mask {}"),
        ("most=0", "most {}"),
        ("lent=true", "lent: true"),
        ("spellings=a&spellings=", "spellings {value: 'a'} spellings {}"),
        ("cover=%2B%2F8=", r"cover: '\373\377'"),
        ("weight=1.5e3", "weight: 1500"),
        ("weight=-Infinity", "weight: -inf"),
        ("oldNumber=1", "old_number: 1"),
    ],
)
def test_parameter_sets_a_field_of_any_type_with_a_text_form(query: str, expected: str) -> None:
    assert read(query, search()) == search(expected)


@each(
    "name",
    [
        "nothing",
        "Text",
        "genres[]",
        "near",
        "near.",
        "near.shelf.x",
        "Near.shelf",
        "places",
        "labels",
        "labels.key",
        "more.fields",
        ".".join(["near", *["next"] * 31, "shelf"]),
    ],
)
def test_field_without_a_text_form_is_an_unknown_parameter(name: str) -> None:
    assert violations_of(f"{name}=1") == [(name[:120], "UNKNOWN_FIELD")]


@each(
    ("query", "field", "code"),
    [
        ("near.rowNumber=x", "near.rowNumber", "INVALID_TYPE"),
        ("near.row_number=2147483648", "near.row_number", "OUT_OF_RANGE"),
        (f"genres={'1' * 5000}", "genres", "INVALID_VALUE"),
        ("since=today", "since", "INVALID_FORMAT"),
        ("near.shelf=a&near.shelf=b", "near.shelf", "DUPLICATE_FIELD"),
        ("near.rowNumber=1&near.row_number=1", "near.row_number", "DUPLICATE_FIELD"),
        ("most=1&most=2", "most", "DUPLICATE_FIELD"),
        ("isbn=a&oldNumber=1", "oldNumber", "INVALID_VALUE"),
        ("place.shelf=b&isbn=", "isbn", "INVALID_VALUE"),
    ],
)
def test_invalid_parameter_is_reported(query: str, field: str, code: str) -> None:
    assert violations_of(query) == [(field, code)]


def test_parameter_conflicts_with_a_oneof_member_set_by_the_path() -> None:
    assert violations_of("place.shelf=a", search("isbn: 'b'")) == [("place.shelf", "INVALID_VALUE")]
