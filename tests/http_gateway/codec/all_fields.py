"""Example, a message with a field of every protobuf type."""

from __future__ import annotations

from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

F = FieldDescriptor
SCALARS = {
    name: getattr(F, f"TYPE_{name.upper()}")
    for name in (
        *("string", "bool", "bytes", "double", "float", "int32", "sint32", "sfixed32", "uint32"),
        *("fixed32", "int64", "sint64", "sfixed64", "uint64", "fixed64"),
    )
}
KEYS = [name for name in SCALARS if name not in ("bytes", "double", "float")]
KINDS = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "mask": "google.protobuf.FieldMask",
    "any": "google.protobuf.Any",
    "struct": "google.protobuf.Struct",
    "value": "google.protobuf.Value",
    "list": "google.protobuf.ListValue",
    "bool_value": "google.protobuf.BoolValue",
    "string_value": "google.protobuf.StringValue",
    "bytes_value": "google.protobuf.BytesValue",
    "int64_value": "google.protobuf.Int64Value",
    "uint32_value": "google.protobuf.UInt32Value",
    "float_value": "google.protobuf.FloatValue",
    "double_value": "google.protobuf.DoubleValue",
    "self": "example.codec.Example",
}
ENUMS = {"color": "example.codec.Color", "null": "google.protobuf.NullValue"}
IMPORTED = (
    any_pb2,
    duration_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)


def example_file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="codec_example.proto",
        package="example.codec",
        syntax="proto3",
        dependency=[module.DESCRIPTOR.name for module in IMPORTED],
    )
    color = file.enum_type.add(name="Color")
    color.options.allow_alias = True
    for name, number in (("COLOR_UNSPECIFIED", 0), ("RED", 1), ("ROUGE", 1), ("BLUE", -2)):
        color.value.add(name=name, number=number)
    message = file.message_type.add(name="Example")
    message.oneof_decl.add(name="choice")
    types = {name: {"type": kind} for name, kind in SCALARS.items()}
    types |= {name: {"type": F.TYPE_MESSAGE, "type_name": f".{k}"} for name, k in KINDS.items()}
    types |= {name: {"type": F.TYPE_ENUM, "type_name": f".{k}"} for name, k in ENUMS.items()}
    for name, kind in types.items():
        _add(message, f"{name}_one", **kind)
        _add(message, f"{name}_many", label=F.LABEL_REPEATED, **kind)
        _add(message, f"{name}_choice", oneof_index=0, **kind)
        _add_map(message, f"string_{name}_map", types["string"], kind)
    for name in KEYS[1:]:
        _add_map(message, f"{name}_string_map", types[name], types["string"])
    _add(message, "from", **types["string"])
    _add(message, "renamed", json_name="another-name", **types["string"])
    for index, name in enumerate((*SCALARS, "color"), start=1):
        message.oneof_decl.add(name=f"_{name}_maybe")
        _add(message, f"{name}_maybe", proto3_optional=True, oneof_index=index, **types[name])
    return file


def _add(message: descriptor_pb2.DescriptorProto, name: str, **more: Any) -> None:
    more = {"label": F.LABEL_OPTIONAL, **more}
    message.field.add(name=name, number=len(message.field) + 1, **more)


def _add_map(
    message: descriptor_pb2.DescriptorProto, name: str, key: dict[str, Any], value: dict[str, Any]
) -> None:
    words = [word.capitalize() for word in name.split("_")]
    entry = message.nested_type.add(name=f"{''.join(words)}Entry")
    entry.options.map_entry = True
    _add(entry, "key", **key)
    _add(entry, "value", **value)
    type_name = f".example.codec.Example.{entry.name}"
    _add(message, name, type=F.TYPE_MESSAGE, type_name=type_name, label=F.LABEL_REPEATED)


def _class(pool: descriptor_pool.DescriptorPool) -> Any:
    pool.AddSerializedFile(example_file().SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("example.codec.Example"))


def example_in_new_pool() -> Any:
    """Returns the class of Example in a new descriptor pool."""
    pool = descriptor_pool.DescriptorPool()
    for module in IMPORTED:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    return _class(pool)


Example = _class(descriptor_pool.Default())
