"""The codec compared with google.protobuf.json_format for every field type, with the options
SPECIFICATION.
"""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from google.protobuf import any_pb2, json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosterd.http_gateway.codec import strict_json
from rosterd.http_gateway.codec.fields import is_map
from rosterd.http_gateway.codec.options import SPECIFICATION, CodecOptions
from rosterd.http_gateway.codec.scalars import NoJsonForm
from rosterd.http_gateway.codec.transcode import message_class, reader, writer
from rosterd.http_gateway.request_errors import Violations

from .all_fields import IMPORTED, Example, example_in_new_pool

F = FieldDescriptor
LENIENT = CodecOptions(milliseconds=False, defaults=False, ignore_unknown=True)
FIELDS = Example.DESCRIPTOR.fields
some = settings(suppress_health_check=list(HealthCheck))


def integers(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
    return (
        st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
        if signed
        else st.integers(0, (1 << bits) - 1)
    )


SCALARS: dict[int, st.SearchStrategy[Any]] = {
    F.TYPE_STRING: st.text(max_size=3),
    F.TYPE_BOOL: st.booleans(),
    F.TYPE_BYTES: st.binary(max_size=4),
    F.TYPE_DOUBLE: st.floats(allow_nan=False) | st.just(-0.0),
    F.TYPE_FLOAT: st.floats(width=32, allow_nan=False) | st.just(-0.0),
} | {
    getattr(F, f"TYPE_{name}{bits}"): integers(bits, signed=signed)
    for bits in (32, 64)
    for name, signed in (
        ("INT", True),
        ("SINT", True),
        ("SFIXED", True),
        ("UINT", False),
        ("FIXED", False),
    )
}
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.just(1.5) | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=3,
)
SECONDS = st.sampled_from([-62_135_596_800, -1, 0, 1, 253_402_300_799]) | st.integers(
    -(10**9), 10**9
)
NANOS = st.sampled_from([0, 1, 500_000_000, 999_999_999, 123_456_000])


def messages(kind: Descriptor, depth: int = 2) -> st.SearchStrategy[Any]:
    """Generates messages of a type that json_format can write."""
    make: Any = message_class(kind)
    match kind.full_name:
        case "google.protobuf.Timestamp":
            return st.builds(make, seconds=SECONDS, nanos=NANOS)
        case "google.protobuf.Duration":
            return st.builds(
                lambda sign, s, n: make(seconds=sign * s, nanos=sign * n),
                *(st.sampled_from([1, -1]), st.integers(0, 315_576_000_000), NANOS),
            )
        case "google.protobuf.FieldMask":
            paths = st.sampled_from(["a", "first_name", "a.b_c", "_a"])
            return st.builds(make, paths=st.lists(paths, max_size=2))
        case "google.protobuf.Any":
            return anys(depth)
        case "google.protobuf.Value":
            return JSON.map(lambda value: json_format.ParseDict(value, make()))
        case "google.protobuf.Struct":
            objects = st.dictionaries(st.text(max_size=2), JSON, max_size=2)
            return objects.map(lambda value: json_format.ParseDict(value, make()))
        case "google.protobuf.ListValue":
            arrays = st.lists(JSON, max_size=2)
            return arrays.map(lambda value: json_format.Parse(json.dumps(value), make()))
    if not depth:
        return st.builds(make)
    fields = st.lists(st.sampled_from(list(kind.fields)), max_size=6)
    return fields.flatmap(
        lambda chosen: st.fixed_dictionaries(
            {field.name: values(field, depth - 1) for field in _without_oneof_conflicts(chosen)}
        ).map(lambda arguments: make(**arguments))
    )


def _without_oneof_conflicts(fields: list[FieldDescriptor]) -> list[FieldDescriptor]:
    """Removes fields so that at most one member of each oneof is set."""
    groups = {
        field.containing_oneof.name if field.containing_oneof else field.name: field
        for field in fields
    }
    return list(groups.values())


def anys(depth: int) -> st.SearchStrategy[Any]:
    kinds = [module.DESCRIPTOR.message_types_by_name for module in IMPORTED]
    contained = [kind for named in kinds for name, kind in named.items() if name != "Any" or depth]
    if depth:
        contained.append(Example.DESCRIPTOR)

    def packed(message: Message) -> Any:
        whole = any_pb2.Any()
        whole.Pack(message, deterministic=True)
        return whole

    return st.just(any_pb2.Any()) | st.sampled_from(contained).flatmap(
        lambda kind: messages(kind, max(depth - 1, 0)).map(packed)
    )


def values(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any]:
    if is_map(field):
        assert field.message_type is not None
        entry = field.message_type.fields_by_name
        keys, one = SCALARS[entry["key"].type], single(entry["value"], depth)
        return st.dictionaries(keys, one, max_size=2)
    one = single(field, depth)
    return st.lists(one, max_size=2) if field.is_repeated else one


def single(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        named = [value.number for value in field.enum_type.values]
        unnamed = [7] if field.enum_type.name == "Color" else []
        return st.sampled_from(named + unnamed)
    return messages(field.message_type, depth) if field.message_type else SCALARS[field.type]


MESSAGES = messages(Example.DESCRIPTOR)


def read(value: Any, into: Any, options: CodecOptions = SPECIFICATION) -> list[tuple[str, str]]:
    """Reads a value into a message and returns the path and code of each violation."""
    violations = Violations()
    reader(into.DESCRIPTOR, options=options)(value, "", violations, into)
    return [(violation.field, violation.code) for violation in violations.details]


def written(message: Any, options: CodecOptions = SPECIFICATION) -> Any:
    return orjson.loads(orjson.dumps(writer(message.DESCRIPTOR, options=options)(message)))


@pytest.mark.parametrize("defaults", [True, False])
@some
@given(message=MESSAGES)
def test_written_json_matches_json_format(message: Any, defaults: bool) -> None:
    options = CodecOptions(milliseconds=False, defaults=defaults)

    assert written(message, options) == json_format.MessageToDict(
        message, always_print_fields_with_no_presence=defaults
    )


@pytest.mark.parametrize("proto_names", [True, False])
@some
@given(message=MESSAGES)
def test_output_of_json_format_is_read_as_the_same_message(message: Any, proto_names: bool) -> None:
    text = json_format.MessageToJson(message, preserving_proto_field_name=proto_names)
    into = Example()

    assert read(strict_json.loads(text.encode()), into) == []
    assert json_format.MessageToDict(into) == json_format.MessageToDict(message)
    assert into.SerializeToString(deterministic=True) == message.SerializeToString(
        deterministic=True
    )


ODD_VALUES = st.sampled_from(
    [
        *(None, True, 0, 1, -1, 7, 1.0, 1.5, 2**31, 2**63, "", "0", "1", "-1", "1.0", "1e2"),
        *("x", "RED", "NaN", "-Infinity", "true", "YQ==", "_-8", "1s", "-1.5s", "a,bC", "a_b"),
        *("NULL_VALUE", "1970-01-01T00:00:00Z", {}, [], [None], [1, "RED"]),
        *({"": None}, {"1": 1}, {"true": "x"}, {"value": 1}, {"stringOne": "x", "int32One": 1}),
        *({"@type": "x"}, {"@type": "x/google.protobuf.Duration", "value": "1s"}),
        {"@type": "x/example.codec.Example", "stringOne": "x"},
    ]
)
KEYS = st.sampled_from([name for field in FIELDS for name in (field.json_name, field.name)])


@some
@given(value=st.dictionaries(KEYS, ODD_VALUES, max_size=3))
def test_reader_and_json_format_agree_on_accepted_values(value: dict[str, Any]) -> None:
    into = Example()

    violations = read(value, into)

    assert all(path for path, _ in violations)
    if violations:
        return
    # json_format rejects null for a repeated NullValue or Value, and as an item of a repeated
    # NullValue. It fails on null in a map of NullValue.
    arrays = [value.get(key, ()) for key in ("nullMany", "null_many", "valueMany", "value_many")]
    maps = [value.get(key) or {} for key in ("stringNullMap", "string_null_map")]
    rejects = any(array is None or None in array for array in arrays)
    fails = any(None in entries.values() for entries in maps)
    if not (rejects or fails):
        assert json_format.ParseDict(value, Example()) == into


@pytest.mark.parametrize(
    ("value", "violation"),
    [
        ({"stringMany": [None]}, ("stringMany[0]", "INVALID_TYPE")),
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x/example.None",
    ],
)
def test_any_of_an_unknown_type_is_not_written(url: str) -> None:
    with pytest.raises(NoJsonForm, match="no JSON form"):
        written(Example(any_one=any_pb2.Any(type_url=url, value=b"\n\x01a")))
