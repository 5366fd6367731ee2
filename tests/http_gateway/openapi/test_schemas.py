"""The schemas of messages match what the codec reads and writes."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from roster.buf.validate import validate_pb2
from roster.v1 import http_pb2
from rosterd.http_gateway.codec.transcode import message_class, reader, writer
from rosterd.http_gateway.openapi.schemas import Schemas
from rosterd.http_gateway.request_errors import Violations
from rosterd.server.serving.gateway_policy import POLICY

from ...cases import each
from .messages import Options, message_of, message_without_controls

RULES = validate_pb2.field
Rules = validate_pb2.FieldRules
NOTHING: Options = {}


def input_schema(kind: str, options: Options = NOTHING) -> dict[str, Any]:
    """Returns the schema of a field of this type in a request."""
    schema: dict[str, Any] = Schemas(POLICY).input_property(message_of(x=(kind, options)).fields[0])
    return schema


def accepted_by_schema(kind: str, options: Options, values: list[Any]) -> list[str]:
    """Returns the repr of the field values that the request schema accepts."""
    schemas = Schemas(POLICY)
    body = schemas.input_reference(message_of(x=(kind, options)))
    validator = Draft202012Validator({**body, "components": {"schemas": schemas.components}})
    return [repr(value) for value in values if validator.is_valid({"x": value})]


def accepted_by_codec(kind: str, options: Options, values: list[Any]) -> list[str]:
    """Returns the repr of the field values that the codec accepts."""
    message = message_of(x=(kind, options))
    read = reader(message, annotations=POLICY.annotations)
    accepted = []
    for value in values:
        violations = Violations()
        read({"x": value}, "", violations, message_class(message)())
        accepted += [] if violations else [repr(value)]
    return accepted


BOOLEAN_LIKE = {http_pb2.boolean_like: True}
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    2,
    -1,
    1.5,
    2**40,
    "",
    "x",
    "1",
    "yes",
    "A",
    "C",
    "2s",
    [],
    {},
]
VALUES += [["x"], [1], {"a": 1}, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+01:00"]
KINDS = ["string", "bool", "int32", "uint32", "int64", "uint64", "double", "enum"]
KINDS += ["*string", "*int32", "*enum", "?string", "?int32"]
KINDS += [f".google.protobuf.{name}" for name in ("Struct", "ListValue", "Value", "Duration")]
KINDS += [f".google.protobuf.{name}" for name in ("Int32Value", "StringValue", "BoolValue")]


# The codec also accepts other ProtoJSON forms: numbers as strings, and enums by number. Clients are
# generated from the one form in the schema.
OTHER_FORMS = {
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


@each("kind", KINDS)
def test_request_schema_accepts_one_form_of_each_value_that_the_codec_accepts(kind: str) -> None:
    described, read = (
        accepted_by_schema(kind, NOTHING, VALUES),
        accepted_by_codec(kind, NOTHING, VALUES),
    )

    assert [value for value in read if value not in described] == OTHER_FORMS.get(kind, [])
    assert [value for value in described if value not in read] == []


def test_boolean_like_field_is_a_boolean_and_describes_other_forms() -> None:
    values = [*VALUES, "TRUE", "No", "0", "on"]

    assert accepted_by_schema("bool", BOOLEAN_LIKE, values) == ["None", "True", "False"]
    assert set(accepted_by_codec("bool", BOOLEAN_LIKE, values)) > {
        "None",
        "True",
        "False",
        "'TRUE'",
        "'No'",
        "0",
    }
    assert "`yes`" in input_schema("bool", BOOLEAN_LIKE)["description"]


@each(
    ("kind", "rules", "keywords"),
    [
        ("string", {"string": {"max_len": 5}}, {"maxLength": 5}),
        ("string", {"string": {"pattern": "^a$"}}, {"pattern": "^a$"}),
        ("string", {"string": {"in": ["a", "b"]}}, {"enum": ["a", "b", None]}),
        ("string", {"string": {"email": True}}, {"format": "email"}),
        ("string", {"required": True}, {"minLength": 1}),
        ("int32", {"int32": {"gte": 0, "lt": 9}}, {"minimum": 0, "exclusiveMaximum": 9}),
        ("*string", {"repeated": {"min_items": 1, "max_items": 4}}, {"minItems": 1, "maxItems": 4}),
        ("*string", {"repeated": {"unique": True}}, {"uniqueItems": True}),
    ],
)
def test_validation_rules_become_keywords(
    kind: str, rules: dict[str, Any], keywords: dict[str, Any]
) -> None:
    schema = input_schema(kind, {RULES: Rules(**rules)})

    assert schema.items() >= keywords.items()


def test_items_that_fail_alone_have_no_keywords() -> None:
    rules = {"repeated": {"items": {"string": {"email": True}, "ignore": "IGNORE_ALWAYS"}}}
    options = {RULES: Rules(**rules), http_pb2.text_format: "email"}

    assert input_schema("*string", options)["items"] == {"type": "string"}


def test_required_trimmed_text_cannot_be_blank() -> None:
    options = {RULES: Rules(required=True), http_pb2.trimmed: True}

    blank = ["", " ", "\u001d", "\u00a0\t", "\u200b", "\ufeff \u2060"]
    assert accepted_by_schema("string", options, [" a ", "a\nb", *blank]) == ["' a '", "'a\\nb'"]


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({}, ["", "a b", "\t", "\n", "a\n"]),
        ({http_pb2.trimmed: True, RULES: Rules(required=True)}, ["a b", "a\n"]),
        ({http_pb2.multiline: True}, ["", "a b", "a\u2028b", "\t", "\n", "a\n", "a\nb", "a\r\nb"]),
    ],
    ids=["one line", "trimmed and required", "multiline"],
)
def test_control_characters_are_excluded_by_the_file_option(
    options: Options, texts: list[str]
) -> None:
    message = message_without_controls(x=("string", options))
    validator = Draft202012Validator(Schemas(POLICY).input_property(message.fields[0]))
    controls = [f"a{chr(number)}b" for number in (*range(32), 127) if chr(number) not in "\t\r\n"]
    texts_to_check = [
        "",
        "a b",
        "a\u2028b",
        "\t",
        "\n",
        "a\n",
        "a\nb",
        "a\r\nb",
        "\u200b",
        *controls,
    ]

    accepted = [text for text in texts_to_check if validator.is_valid(text)]

    assert [text for text in accepted if text != "\u200b"] == texts


def test_required_field_cannot_be_null_or_absent() -> None:
    message = message_of(x=("string", {RULES: Rules(required=True)}), y=("string", {}))
    schemas = Schemas(POLICY)
    schemas.input_reference(message)

    schema_of_message = schemas.components["Example"]
    assert schema_of_message["required"] == ["x"]
    assert schema_of_message["properties"]["x"]["type"] == "string"
    assert schema_of_message["properties"]["y"]["type"] == ["string", "null"]
    assert schema_of_message["additionalProperties"] is False


@each(
    ("kind", "value"),
    [
        ("string", "a"),
        ("int64", 2**60),
        ("uint64", 2**64 - 1),
        ("double", float("inf")),
        ("bytes", b"\xff"),
        ("enum", 2),
        ("*int64", [1, 2]),
    ],
)
def test_output_of_the_codec_matches_the_response_schema(kind: str, value: Any) -> None:
    message = message_of(x=(kind, {}))
    schemas = Schemas(POLICY)
    schema = {**schemas.output_reference(message), "components": {"schemas": schemas.components}}

    # The unspecified value of an enum is never sent.
    empty = message_class(message)(**({"x": 1} if kind == "enum" else {}))
    for sent in (empty, message_class(message)(x=value)):
        assert (
            list(
                Draft202012Validator(schema).iter_errors(
                    writer(message, annotations=POLICY.annotations)(sent)
                )
            )
            == []
        )
