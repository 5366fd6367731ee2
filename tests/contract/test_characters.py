"""Which characters text may have: the protos, the server and the OpenAPI document agree."""

from __future__ import annotations

import re
import sys

import pytest
from google.protobuf.descriptor import FieldDescriptor
from roster.v1 import http_pb2

from http_gateway.codec.fields import row_errors_field
from http_gateway.openapi import bounds
from server.texts import has_control_characters, trim

from ..fronts import METHODS

# Every character but halves of others; a pattern of JSON Schema has no way to name those
# beyond the basic plane.
CHARACTERS = [chr(number) for number in range(0x10000) if not 0xD800 <= number <= 0xDFFF]


def pattern_of(name: str) -> re.Pattern[str]:
    """Returns the pattern of a field, such as CreateTagRequest.name."""
    message, _, field = name.partition(".")
    kind = next(m.input_type for m in METHODS.values() if m.input_type.name == message)
    return re.compile(bounds.of_field(kind.fields_by_name[field])["pattern"])


def refused(pattern: re.Pattern[str], around: str) -> list[str]:
    return [each for each in CHARACTERS if not pattern.search(around.format(each))]


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_file_of_every_request_declares_that_text_has_no_control_characters(
    method: object,
) -> None:
    assert method.input_type.file.GetOptions().Extensions[http_pb2.no_control_characters]  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_text_of_a_request_is_in_the_request_itself_or_in_a_row(method: object) -> None:
    """Messages within a request are not looked into; rows are checked one by one."""
    inner = {
        field.message_type
        for field in method.input_type.fields  # type: ignore[attr-defined]
        if field.type == FieldDescriptor.TYPE_MESSAGE
    }

    assert {
        kind.full_name
        for kind in inner
        if kind.file.package != "google.protobuf" and not row_errors_field(kind)
    } <= {"roster.v1.CsvLine"}


def test_patterns_refuse_the_control_characters_that_the_server_refuses() -> None:
    line = [each for each in CHARACTERS if has_control_characters(f"a{each}b")]
    lines = [each for each in CHARACTERS if has_control_characters(f"a{each}b", multiline=True)]

    assert refused(pattern_of("ListSubscribersRequest.page_token"), "a{}b") == line
    assert refused(pattern_of("ListSubscribersRequest.q"), "a{}b") == line
    assert refused(pattern_of("CreateTagRequest.name"), "a{}b") == line
    assert refused(pattern_of("CreateTagRequest.description"), "a{}b") == lines
    assert [chr(number) for number in (*range(32), 127)] == line
    assert set(line) - set(lines) == set("\t\n\r")


def test_pattern_refuses_the_invisible_characters_that_the_server_takes_for_blanks() -> None:
    blank = [each for each in CHARACTERS if has_control_characters(each) or not trim(each)]

    assert refused(pattern_of("CreateTagRequest.name"), "{}") == blank
    assert set("\u200b\u200c\u200d\ufeff\u2060\u00ad\u3164 \t\u3000") <= set(blank)


def test_every_format_character_beyond_the_basic_plane_that_shows_nothing_is_a_blank() -> None:
    tags = range(0xE0000, 0xE1000)

    assert [number for number in tags if trim(chr(number))] == []
    assert [number for number in range(0x1F300, 0x1F700) if not trim(chr(number))] == []
    assert sys.maxunicode == 0x10FFFF
