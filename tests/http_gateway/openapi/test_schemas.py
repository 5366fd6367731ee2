"""JSON Schema of messages: it takes what the codec takes, and says what the codec writes."""

from __future__ import annotations

from typing import Any

import pytest
from buf.validate import validate_pb2
from jsonschema import Draft202012Validator
from roster.v1 import http_pb2

from http_gateway.codec.transcode import message_class, reader, writer
from http_gateway.openapi.schemas import Schemas
from http_gateway.request_errors import Violations

from .made import Options, message_of, message_without_controls

RULES = validate_pb2.field
Rules = validate_pb2.FieldRules
NOTHING: Options = {}


def taken(kind: str, options: Options = NOTHING) -> dict[str, Any]:
    """Returns what a body may say for a field of a kind."""
    schema: dict[str, Any] = Schemas().property(message_of(x=(kind, options)).fields[0])
    return schema


def valid(kind: str, options: Options, values: list[Any]) -> list[str]:
    """Returns the values of a field with which a body is valid, as Python writes them."""
    schemas = Schemas()
    body = schemas.taken(message_of(x=(kind, options)))
    validator = Draft202012Validator({**body, "components": {"schemas": schemas.components}})
    return [repr(value) for value in values if validator.is_valid({"x": value})]


def are_read(kind: str, options: Options, values: list[Any]) -> list[str]:
    """Returns the values for a field with which the codec reads a body, as Python writes them."""
    message = message_of(x=(kind, options))
    read = reader(message)
    found = []
    for value in values:
        faults = Violations()
        read({"x": value}, "", faults, message_class(message)())
        found += [] if faults else [repr(value)]
    return found


LIKE = {http_pb2.boolean_like: True}
VALUES = [None, True, False, 0, 1, 2, -1, 1.5, 2**40, "", "x", "1", "yes", "A", "C", "2s", [], {}]
VALUES += [["x"], [1], {"a": 1}, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+01:00"]
KINDS = ["string", "bool", "int32", "uint32", "int64", "uint64", "double", "enum"]
KINDS += ["*string", "*int32", "*enum", "?string", "?int32"]
KINDS += [f".google.protobuf.{name}" for name in ("Struct", "ListValue", "Value", "Duration")]
KINDS += [f".google.protobuf.{name}" for name in ("Int32Value", "StringValue", "BoolValue")]


# What the codec reads besides, since ProtoJSON has further forms: numbers as text, enums by
# number, and what counts as a boolean. Clients are generated from the one form that is described.
FURTHER = {
    "int32": ["'1'"],
    "uint32": ["'1'"],
    "int64": ["0", "1", "2", "-1", "1099511627776"],
    "uint64": ["0", "1", "2", "1099511627776"],
    "double": ["'1'"],
    "enum": ["0", "1", "2", "-1"],
    "*enum": ["[1]"],
    "?int32": ["'1'"],
    ".google.protobuf.Int32Value": ["'1'"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_schema_of_a_body_takes_the_described_form_of_what_the_codec_reads(kind: str) -> None:
    described, read = valid(kind, NOTHING, VALUES), are_read(kind, NOTHING, VALUES)

    assert [value for value in read if value not in described] == FURTHER.get(kind, [])
    assert [value for value in described if value not in read] == []


def test_field_that_is_like_a_boolean_is_one_and_says_what_else_counts() -> None:
    values = [*VALUES, "TRUE", "No", "0", "on"]

    assert valid("bool", LIKE, values) == ["None", "True", "False"]
    assert set(are_read("bool", LIKE, values)) > {"None", "True", "False", "'TRUE'", "'No'", "0"}
    assert "`yes`" in taken("bool", LIKE)["description"]


@pytest.mark.parametrize(
    ("kind", "rules", "keywords"),
    [
        ("string", {"string": {"max_len": 5}}, {"maxLength": 5}),
        ("string", {"string": {"min_len": 2}}, {"minLength": 2}),
        ("string", {"string": {"len": 3}}, {"minLength": 3, "maxLength": 3}),
        ("string", {"string": {"pattern": "^a$"}}, {"pattern": "^a$"}),
        ("string", {"string": {"in": ["a", "b"]}}, {"enum": ["a", "b", None]}),
        ("string", {"string": {"email": True}}, {"format": "email"}),
        ("string", {"required": True}, {"minLength": 1}),
        ("int32", {"int32": {"gte": 0, "lt": 9}}, {"minimum": 0, "exclusiveMaximum": 9}),
        ("*string", {"repeated": {"min_items": 1, "max_items": 4}}, {"minItems": 1, "maxItems": 4}),
        ("*string", {"repeated": {"unique": True}}, {"uniqueItems": True}),
    ],
)
def test_rules_are_keywords(kind: str, rules: dict[str, Any], keywords: dict[str, Any]) -> None:
    schema = taken(kind, {RULES: Rules(**rules)})

    assert schema.items() >= keywords.items()


def test_rules_of_items_are_keywords_of_items() -> None:
    rules = {"repeated": {"items": {"string": {"min_len": 1, "max_len": 9}}}}

    assert (
        taken("*string", {RULES: Rules(**rules)})["items"].items()
        >= {
            "minLength": 1,
            "maxLength": 9,
        }.items()
    )


def test_text_that_is_trimmed_and_required_may_not_be_blank() -> None:
    options = {RULES: Rules(required=True), http_pb2.trimmed: True}

    blank = ["", " ", "\u001d", "\u00a0\t", "\u200b", "\ufeff \u2060"]
    assert valid("string", options, [" a ", "a\nb", *blank]) == ["' a '", "'a\\nb'"]


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        # Python lets a line break follow the end of a pattern; JavaScript does not.
        ({}, ["", "a b", "a\u2028b", "\t", "\n", "a\n"]),
        ({http_pb2.trimmed: True}, ["", "a b", "a\u2028b", "\t", "\n", "a\n"]),
        ({http_pb2.trimmed: True, RULES: Rules(required=True)}, ["a b", "a\u2028b", "a\n"]),
        ({http_pb2.multiline: True}, ["", "a b", "a\u2028b", "\t", "\n", "a\n", "a\nb", "a\r\nb"]),
    ],
    ids=["one line", "trimmed", "trimmed and required", "multiline"],
)
def test_text_of_a_file_without_control_characters_holds_none(
    options: Options, texts: list[str]
) -> None:
    message = message_without_controls(x=("string", options))
    validator = Draft202012Validator(Schemas().property(message.fields[0]))
    controls = [f"a{chr(number)}b" for number in (*range(32), 127) if chr(number) not in "\t\r\n"]
    given = ["", "a b", "a\u2028b", "\t", "\n", "a\n", "a\nb", "a\r\nb", "\u200b", *controls]

    taken = [text for text in given if validator.is_valid(text)]

    assert [text for text in taken if text != "\u200b"] == texts


def test_what_is_required_takes_no_null_and_cannot_be_absent() -> None:
    message = message_of(x=("string", {RULES: Rules(required=True)}), y=("string", {}))
    schemas = Schemas()
    schemas.taken(message)

    made = schemas.components["Made"]
    assert made["required"] == ["x"]
    assert made["properties"]["x"]["type"] == "string"
    assert made["properties"]["y"]["type"] == ["string", "null"]
    assert made["additionalProperties"] is False


def test_text_of_an_update_that_is_never_empty_may_be_absent_or_null() -> None:
    options = {http_pb2.never_empty: True}

    assert valid("string", options, ["", None, "x"]) == ["None", "'x'"]


@pytest.mark.parametrize(
    ("rules", "described"),
    [
        ({}, ["number", "NaN"]),
        ({"double": {"gte": 0}}, ["number", "NaN"]),
        ({"double": {"finite": True}}, ["number"]),
        ({"double": {"gt": 0, "lte": 9}}, ["number"]),
    ],
)
def test_number_that_is_always_finite_has_no_other_form(
    rules: dict[str, Any], described: list[str]
) -> None:
    options = {RULES: Rules(**rules)}
    schema = Schemas().member(message_of(x=("double", options)).fields[0])
    alternatives = schema.get("anyOf", [schema])

    assert [each.get("type") or each["enum"][0] for each in alternatives] == described


def test_double_that_is_whole_is_an_integer() -> None:
    options = {http_pb2.whole: True, RULES: Rules(double={"gte": 1, "lte": 9})}
    field = message_of(x=("double", options)).fields[0]

    assert Schemas().member(field)["type"] == "integer"
    assert valid("double", options, [1, 9, 1.5, 0, 10]) == ["1", "9"]


def test_fields_that_the_path_holds_are_no_keys_of_the_body() -> None:
    schemas = Schemas()
    schemas.taken(message_of(x=("string", {}), y=("string", {})), frozenset({"x"}))

    assert schemas.components["Made"]["properties"].keys() == {"y"}


def test_a_message_that_is_taken_and_given_has_a_schema_for_each_way() -> None:
    schemas, message = Schemas(), message_of(x=("int64", {}))

    assert schemas.given(message) != schemas.taken(message)
    assert schemas.given(message) == schemas.given(message)
    assert len(schemas.components) == 2


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", "a"),
        ("int32", -5),
        ("int64", 2**60),
        ("uint64", 2**64 - 1),
        ("double", 1.5),
        ("double", float("inf")),
        ("bool", True),
        ("bytes", b"\xff"),
        ("enum", 2),
        ("*int64", [1, 2]),
        ("?string", "a"),
    ],
)
def test_what_the_codec_writes_is_valid(kind: str, value: Any) -> None:
    message = message_of(x=(kind, {}))
    schemas = Schemas()
    schema = {**schemas.given(message), "components": {"schemas": schemas.components}}

    # The value of an enum that stands for none is never sent.
    empty = message_class(message)(**({"x": 1} if kind == "enum" else {}))
    for given in (empty, message_class(message)(x=value)):
        assert list(Draft202012Validator(schema).iter_errors(writer(message)(given))) == []


def test_an_answer_always_has_what_has_no_presence_or_is_required() -> None:
    message = message_of(
        a=("string", {}),
        b=("?string", {}),
        c=(".google.protobuf.Timestamp", {}),
        d=(".google.protobuf.Timestamp", {RULES: Rules(required=True)}),
    )
    schemas = Schemas()
    schemas.given(message)

    assert schemas.components["Made"]["required"] == ["a", "d"]
