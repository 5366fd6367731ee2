"""Builds messages and services for tests from short type expressions."""

from __future__ import annotations

from itertools import count
from typing import Any

from google.api import annotations_pb2
from google.api.http_pb2 import HttpRule as Rule
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FieldDescriptor, ServiceDescriptor

from roster.buf.validate import validate_pb2
from roster.v1 import http_pb2

F = FieldDescriptor
_DEPENDENCIES = [
    module.DESCRIPTOR.name
    for module in (validate_pb2, http_pb2, timestamp_pb2, struct_pb2, duration_pb2, wrappers_pb2)
]

Options = dict[Any, Any]

# Each file has its own package.
_files = count(1)


def file_of(
    messages: dict[str, dict[str, tuple[str, Options]]],
    methods: dict[str, tuple[str, str, Rule]] | None = None,
) -> Any:
    """Returns a file with these messages and the service Service.

    A field has a type and options. A type is a scalar, a message with a leading dot, or `enum`,
    which has the names A and B. The prefix * means repeated, and ? means optional. A method has a
    request and a reply type. The prefix * means a stream.
    """
    package = f"example{next(_files)}"
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto3"
    )
    file.dependency.extend(_DEPENDENCIES)
    enum = file.enum_type.add(name="Choice")
    for number, name in enumerate(("CHOICE_UNSPECIFIED", "A", "B")):
        enum.value.add(name=name, number=number)
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, (field, (kind, options)) in enumerate(fields.items(), start=1):
            _add(message, field, number, kind.replace(".example.", f".{package}."), options)
    service = file.service.add(name="Service")
    for name, (request, reply, rule) in (methods or {}).items():
        method = service.method.add(name=name)
        method.input_type, method.output_type = request.strip("*"), reply.strip("*")
        method.client_streaming, method.server_streaming = "*" in request, "*" in reply
        method.options.Extensions[annotations_pb2.http].CopyFrom(rule)
    return file


def _add(message: Any, name: str, number: int, kind: str, options: Options) -> None:
    field = message.field.add(name=name, number=number, label=F.LABEL_OPTIONAL)
    if kind.startswith("*"):
        field.label = F.LABEL_REPEATED
    if kind.startswith("?"):
        message.oneof_decl.add(name=f"_{name}")
        field.oneof_index, field.proto3_optional = len(message.oneof_decl) - 1, True
    kind = kind.strip("*?")
    if kind.startswith("."):
        field.type, field.type_name = F.TYPE_MESSAGE, kind
    elif kind == "enum":
        field.type, field.type_name = F.TYPE_ENUM, "Choice"
    else:
        field.type = getattr(F, f"TYPE_{kind.upper()}")
    for extension, value in options.items():
        if hasattr(value, "CopyFrom"):
            field.options.Extensions[extension].CopyFrom(value)
        else:
            field.options.Extensions[extension] = value


def message_of(**fields: tuple[str, Options]) -> Descriptor:
    """Returns the message type Example with these fields."""
    file = file_of({"Example": fields})
    descriptor: Descriptor = _add_file(file).message_types_by_name["Example"]
    return descriptor


def message_without_controls(**fields: tuple[str, Options]) -> Descriptor:
    """Returns the message type Example in a file with the option `no_control_characters`."""
    file = file_of({"Example": fields})
    file.options.Extensions[http_pb2.no_control_characters] = True
    descriptor: Descriptor = _add_file(file).message_types_by_name["Example"]
    return descriptor


def service_of(
    messages: dict[str, dict[str, tuple[str, Options]]], methods: dict[str, tuple[str, str, Rule]]
) -> ServiceDescriptor:
    file = _add_file(file_of(messages, methods))
    descriptor: ServiceDescriptor = file.services_by_name["Service"]
    return descriptor


def _add_file(file: Any) -> Any:
    pool = descriptor_pool.Default()
    return pool.AddSerializedFile(file.SerializeToString())
