"""The codec compared with google.protobuf.json_format for every field type, with the options
SPECIFICATION.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest
from google.protobuf import any_pb2, json_format

from rosterd.http_gateway.codec import strict_json
from rosterd.http_gateway.codec.options import SPECIFICATION, CodecOptions
from rosterd.http_gateway.codec.scalars import NoJsonForm
from rosterd.http_gateway.codec.transcode import reader, writer
from rosterd.http_gateway.request_errors import Violations

from ...cases import each
from .all_fields import KEYS, SCALARS, Example, example_in_new_pool

LENIENT = CodecOptions(milliseconds=False, defaults=False, ignore_unknown=True)
# JSON values of each type, with the bounds of its range.
VALUES: dict[str, Sequence[Any]] = {
    "string": ["", "aé😀"],
    "bool": [False, True],
    "bytes": ["", "//sA"],
    "double": [-0.0, 5e-324, "NaN"],
    "float": [0.1, -3.4e38, "-Infinity"],
    **dict.fromkeys(("int32", "sint32", "sfixed32"), (-(2**31), 2**31 - 1)),
    **dict.fromkeys(("uint32", "fixed32"), (0, 2**32 - 1)),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), (str(-(2**63)), str(2**63 - 1))),
    **dict.fromkeys(("uint64", "fixed64"), ("0", str(2**64 - 1))),
    "color": ["RED", "BLUE", 7],
    "timestamp": [
        *("0001-01-01T00:00:00.123Z", "9999-12-31T23:59:59.999999999Z"),
        *("1970-01-01T01:00:00.5+01:00", "1969-12-31T23:59:59.000001Z", "1970-01-01T00:00:00Z"),
        "1970-01-01T00:00:00.1234567Z",
    ],
    "duration": ["-0.500s", "315576000000.000001s", "-2.000000001s", "-2s"],
    "mask": ["", "a,firstName.bC"],
    "any": [
        {},
        {"@type": "x/example.codec.Example", "selfOne": {"stringOne": "a"}},
        {"@type": "x/google.protobuf.Duration", "value": "1s"},
    ],
    "struct": [{}, {"a": [1, {}]}],
    "list": [[], [[], 1.5]],
    "value": [{"a": [None]}, "x", True],
    "self": [{}, {"stringMany": ["a"], "selfOne": {"int32StringMap": {"-1": "b"}}}],
}
VALUES |= {
    f"{kind}_value": VALUES[kind]
    for kind in ("bool", "string", "bytes", "int64", "uint32", "float", "double")
}


def examples_of(kind: str) -> Iterator[dict[str, Any]]:
    """Yields objects with a field of a type: single, in a oneof, repeated and in maps."""
    yield {f"{kind}_many": list(VALUES[kind])}
    for value in VALUES[kind]:
        yield {f"{kind}_one": value}
        yield {f"{kind}_choice": value}
        yield {f"string_{kind}_map": {"k": value}}
        if kind in (*SCALARS, "color"):
            yield {f"{kind}_maybe": value}
        if kind in KEYS[1:]:
            yield {f"{kind}_string_map": {str(value).lower(): "x"}}


def read(value: Any, into: Any, options: CodecOptions = SPECIFICATION) -> list[tuple[str, str]]:
    """Reads a value into a message and returns the path and code of each violation."""
    violations = Violations()
    reader(into.DESCRIPTOR, options=options)(value, "", violations, into)
    return [(violation.field, violation.code) for violation in violations.details]


def written(message: Any, options: CodecOptions = SPECIFICATION) -> Any:
    return orjson.loads(orjson.dumps(writer(message.DESCRIPTOR, options=options)(message)))


@each("kind", [*VALUES])
def test_messages_are_read_and_written_as_by_json_format(kind: str) -> None:
    for value in examples_of(kind):
        message = json_format.ParseDict(value, Example())
        for defaults in (True, False):
            expected = json_format.MessageToDict(
                message, always_print_fields_with_no_presence=defaults
            )
            options = CodecOptions(milliseconds=False, defaults=defaults)
            assert written(message, options) == expected
        for proto_names in (True, False):
            text = json_format.MessageToJson(message, preserving_proto_field_name=proto_names)
            into = Example()
            assert read(strict_json.loads(text.encode()), into) == []
            assert into.SerializeToString(deterministic=True) == message.SerializeToString(
                deterministic=True
            )


ODD_VALUES: list[Any] = [
    *(None, True, 0, 1, -1, 7, 1.0, 1.5, 2**31, 2**63, "", "0", "1", "-1", "1.0", "1e2"),
    *("x", "RED", "NaN", "-Infinity", "true", "YQ==", "_-8", "1s", "-1.5s", "a,bC", "a_b"),
    *("NULL_VALUE", "1970-01-01T00:00:00Z", {}, [], [1, "RED"]),
    *({"": None}, {"1": 1}, {"true": "x"}, {"value": 1}, {"stringOne": "x", "int32One": 1}),
    *({"@type": "x"}, {"@type": "x/google.protobuf.Duration", "value": "1s"}),
    {"@type": "x/example.codec.Example", "stringOne": "x"},
]
# json_format rejects null for these, or fails.
NULLS = ("null_many", "value_many", "string_null_map")


@each("name", [field.name for field in Example.DESCRIPTOR.fields])
def test_accepted_values_are_accepted_by_json_format_too(name: str) -> None:
    for odd in ODD_VALUES:
        into = Example()
        violations = read({name: odd}, into)

        assert all(path for path, _ in violations)
        if not violations and not (name in NULLS and odd in (None, {"": None})):
            assert json_format.ParseDict({name: odd}, Example()) == into


@pytest.mark.parametrize(
    ("value", "violation"),
    [
        *[(value, ("", "INVALID_TYPE")) for value in (None, [], "x", 1, True)],
        ({"stringMany": [None]}, ("stringMany[0]", "INVALID_TYPE")),
        ({"selfMany": [{}, 7]}, ("selfMany[1]", "INVALID_TYPE")),
        ({"timestampMany": ["x"]}, ("timestampMany[0]", "INVALID_FORMAT")),
        ({"selfOne": {"selfOne": {"boolOne": 1}}}, ("selfOne.selfOne.boolOne", "INVALID_TYPE")),
        ({"stringInt32Map": []}, ("stringInt32Map", "INVALID_TYPE")),
        ({"stringInt32Map": {"a": None}}, ("stringInt32Map.a", "INVALID_TYPE")),
        ({"int32StringMap": {"x": ""}}, ("int32StringMap.x", "INVALID_TYPE")),
        ({"int32StringMap": {"0": "", "-0": ""}}, ("int32StringMap.-0", "DUPLICATE_FIELD")),
        ({"int32StringMap": {"1.0": ""}}, ("int32StringMap.1.0", "INVALID_TYPE")),
        ({"boolStringMap": {"True": ""}}, ("boolStringMap.True", "INVALID_TYPE")),
        ({"stringSelfMap": {"a": {"x": 1}}}, ("stringSelfMap.a.x", "UNKNOWN_FIELD")),
        ({"stringChoice": "", "bool_choice": True}, ("boolChoice", "INVALID_VALUE")),
        ({"stringOne": "", "string_one": ""}, ("stringOne", "DUPLICATE_FIELD")),
        ({"from": 1}, ("from", "INVALID_TYPE")),
        ({"anyOne": {"a": 1}}, ("anyOne.@type", "REQUIRED")),
        ({"anyOne": {"@type": "x/example.None"}}, ("anyOne.@type", "INVALID_VALUE")),
        ({"anyOne": {"@type": "x/example.codec.Example", "x": 1}}, ("anyOne.x", "UNKNOWN_FIELD")),
        ({"anyOne": {"@type": "x/google.protobuf.Struct"}}, ("anyOne.value", "REQUIRED")),
        (
            {"anyOne": {"@type": "x/google.protobuf.Duration", "value": "1s", "x": 1}},
            ("anyOne.x", "UNKNOWN_FIELD"),
        ),
    ],
    ids=repr,
)
def test_violation_has_the_path_of_its_value(value: Any, violation: tuple[str, str]) -> None:
    assert read(value, Example()) == [violation]


def test_null_oneof_member_does_not_conflict_with_another() -> None:
    into = Example()

    assert read({"stringChoice": None, "boolChoice": True}, into) == []
    assert into.WhichOneof("choice") == "bool_choice"


@each(
    ("value", "known"),
    [
        ({"nothing": 1, "stringOne": "a"}, {"stringOne": "a"}),
        ({"colorOne": "GREEN"}, {}),
        ({"colorMaybe": "GREEN", "colorMany": ["RED", "GREEN"]}, {"colorMany": ["RED"]}),
        ({"stringColorMap": {"a": "GREEN", "b": "RED"}}, {"stringColorMap": {"b": "RED"}}),
    ],
)
def test_unknown_keys_and_enum_names_can_be_ignored(value: Any, known: Any) -> None:
    into = Example()

    assert read(value, into, LENIENT) == []
    assert written(into) == known


def test_types_are_looked_up_in_the_pool_of_the_message() -> None:
    value = {
        "timestampOne": "1970-01-01T00:00:07Z",
        "durationMany": ["1s"],
        "maskOne": "",
        "int64ValueOne": "7",
        "structOne": {"a": [1]},
        "anyOne": {"@type": "x/example.codec.Example", "stringDurationMap": {"a": "2s"}},
    }
    into = example_in_new_pool()()

    assert read(value, into) == []
    assert written(into) == value


@each("url", ["", "x/example.None"])
def test_any_of_an_unknown_type_is_not_written(url: str) -> None:
    with pytest.raises(NoJsonForm, match="no JSON form"):
        written(Example(any_one=any_pb2.Any(type_url=url, value=b"\n\x01a")))
