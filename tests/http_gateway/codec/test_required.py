"""Missing required fields of proto2 messages."""

from __future__ import annotations

from typing import Any

from google.protobuf.message_factory import GetMessageClass

from rosterd.http_gateway.codec.required import add_missing
from rosterd.http_gateway.request_errors import Violations

from ..routing.protos import compiled

FILE = compiled("""
    syntax = "proto2";
    package required;
    message Whole { optional Part one_part = 1; repeated Part parts = 2;
                    map<string, Part> by_name = 3; map<string, string> notes = 4;
                    required int32 size = 5; extensions 100; }
    message Part { required string first_name = 1; optional Part inner = 2; }
    extend Whole { optional Part extra = 100; }
""")


def missing_in(**fields: Any) -> list[str]:
    return missing(GetMessageClass(FILE.message_types_by_name["Whole"])(**fields))


def missing(message: Any) -> list[str]:
    violations = Violations()
    add_missing(message, violations)
    assert {violation.code for violation in violations.details} <= {"REQUIRED"}
    return [violation.field for violation in violations.details]


def test_complete_message_has_no_violation() -> None:
    assert missing_in(size=0, one_part={"first_name": ""}, notes={"a": "b"}) == []


def test_every_missing_required_field_is_reported_by_json_path() -> None:
    parts = [{"first_name": "a"}, {"inner": {}}]

    assert missing_in(one_part={}, parts=parts, by_name={"b": {}, "a": {}}) == [
        *("size", "onePart.firstName", "parts[1].firstName", "parts[1].inner.firstName"),
        *("byName.a.firstName", "byName.b.firstName"),
    ]


def test_extension_is_reported_in_brackets() -> None:
    whole = GetMessageClass(FILE.message_types_by_name["Whole"])(size=1)
    extension: Any = FILE.extensions_by_name["extra"]
    whole.Extensions[extension].SetInParent()

    assert missing(whole) == ["[required.extra].firstName"]
