"""Tests that the server and the OpenAPI document allow the same characters."""

from __future__ import annotations

import re

from google.protobuf.descriptor import FieldDescriptor

from roster.v1 import http_pb2
from rosterd.http_gateway.openapi import bounds
from rosterd.server.serving.gateway_policy import ANNOTATIONS
from rosterd.server.values.texts import has_control_characters, trim

from ..cases import each
from ..fronts import METHODS

# The basic multilingual plane without surrogates. JSON Schema patterns cannot match other planes.
CHARACTERS = [chr(number) for number in range(0x10000) if not 0xD800 <= number <= 0xDFFF]


def pattern_of(name: str) -> re.Pattern[str]:
    """Returns the pattern of a field, such as CreateTagRequest.name."""
    message, _, field = name.partition(".")
    kind = next(m.input_type for m in METHODS.values() if m.input_type.name == message)
    return re.compile(bounds.of_field(kind.fields_by_name[field], ANNOTATIONS)["pattern"])


def rejected(pattern: re.Pattern[str], template: str) -> list[str]:
    return [char for char in CHARACTERS if not pattern.search(template.format(char))]


@each("method", METHODS.values())
def test_every_request_is_in_a_file_that_forbids_control_characters(
    method: object,
) -> None:
    assert method.input_type.file.GetOptions().Extensions[http_pb2.no_control_characters]  # type: ignore[attr-defined]


@each("method", METHODS.values())
def test_repeated_text_is_only_in_rows(method: object) -> None:
    """The interceptor checks no repeated messages without bounds; services check rows."""
    inner = {
        field.message_type
        for field in method.input_type.fields  # type: ignore[attr-defined]
        if field.type == FieldDescriptor.TYPE_MESSAGE and field.is_repeated
    }

    assert {
        kind.full_name
        for kind in inner
        if kind.file.package != "google.protobuf" and not ANNOTATIONS.row_errors_field(kind)
    } <= {"roster.v1.CsvLine"}


def test_patterns_reject_the_control_characters_that_the_server_rejects() -> None:
    single_line = [char for char in CHARACTERS if has_control_characters(f"a{char}b")]
    multiline = [c for c in CHARACTERS if has_control_characters(f"a{c}b", multiline=True)]

    assert rejected(pattern_of("ListSubscribersRequest.page_token"), "a{}b") == single_line
    assert rejected(pattern_of("ListSubscribersRequest.q"), "a{}b") == single_line
    assert rejected(pattern_of("CreateTagRequest.name"), "a{}b") == single_line
    assert rejected(pattern_of("CreateTagRequest.description"), "a{}b") == multiline
    controls = [chr(number) for number in (*range(32), *range(0x7F, 0xA0))]
    assert [*controls, "\u2028", "\u2029"] == single_line
    assert set(multiline) == set(controls[:33]) - set("\t\n\r")


def test_patterns_reject_text_that_the_server_trims_to_nothing() -> None:
    blank = [char for char in CHARACTERS if has_control_characters(char) or not trim(char)]

    assert rejected(pattern_of("CreateTagRequest.name"), "{}") == blank
    assert set("\u200b\u200c\u200d\ufeff\u2060\u00ad\u3164 \t\u3000") <= set(blank)
