"""A service for tests of streams, built without a .proto file."""

from __future__ import annotations

from typing import Any

from google.api import annotations_pb2
from google.api.http_pb2 import HttpRule as Rule
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor import ServiceDescriptor
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc_status import rpc_status

from roster.buf.validate import validate_pb2
from roster.v1 import http_pb2, rows_pb2

F = descriptor_pb2.FieldDescriptorProto
LINE, FAULT = ".roster.v1.CsvLine", ".roster.v1.Row.Fault"

MESSAGES: dict[str, dict[str, str]] = {
    "Item": {"name": "", "size": "int32", "faults": f"*{FAULT}"},
    "Strict": {"name": ""},
    # Requests.
    "ItemsRequest": {"set": "", "items": "*.example.Item", "lines": f"*{LINE}"},
    "StrictItemsRequest": {"stricts": "*.example.Strict"},
    "NameRequest": {"name": ""},
    "ItemRequest": {"set": "", "name": "", "size": "int32"},
    # Responses.
    "Note": {"text": ""},
    "NotesReply": {"notes": "*.example.Note", "lines": f"*{LINE}"},
    "Total": {"total": "int32"},
}
EXCHANGE = Rule(post="/exchange", body="items", response_body="notes")
METHODS = {
    # By name: the types of request and response, with * for a stream, and the binding.
    "Exchange": ("*ItemsRequest", "*NotesReply", EXCHANGE),
    "ExchangeStrict": (
        "*StrictItemsRequest",
        "*NotesReply",
        Rule(post="/exchange-strict", body="stricts", response_body="notes"),
    ),
    "Collect": ("*ItemsRequest", "Total", Rule(post="/collect/{set}", body="items")),
    "List": ("NameRequest", "*NotesReply", Rule(get="/list", response_body="notes")),
    # Each message is a record.
    "Tail": ("NameRequest", "*Note", Rule(get="/tail")),
    "Upload": ("*ItemRequest", "Total", Rule(post="/upload/{set}", body="*")),
    # Unary.
    "Unary": ("ItemRequest", "Total", Rule(post="/unary", body="*")),
}


def file_of(
    methods: dict[str, tuple[str, str, Rule]],
    messages: dict[str, dict[str, str]],
    success_status: int,
) -> descriptor_pb2.FileDescriptorProto:
    """Returns example.proto.

    The type of a field is empty for a string, has a * for a repeated field, and <= for its
    maximum number of items.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name="example.proto", package="example", syntax="proto3"
    )
    file.dependency.append("roster/v1/http.proto")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), start=1):
            descriptor = message.field.add(name=field, number=number, type=F.TYPE_STRING)
            descriptor.label = F.LABEL_REPEATED if kind.startswith("*") else F.LABEL_OPTIONAL
            kind, _, most = kind.removeprefix("*").partition("<=")
            if most:
                descriptor.options.Extensions[validate_pb2.field].repeated.max_items = int(most)
            if kind == "int32":
                descriptor.type = F.TYPE_INT32
            elif kind:
                descriptor.type, descriptor.type_name = F.TYPE_MESSAGE, kind
            descriptor.options.Extensions[http_pb2.row_faults] = kind == FAULT
    service = file.service.add(name="Service")
    for name, (request, reply, rule) in methods.items():
        method = service.method.add(name=name)
        method.input_type = f".example.{request.removeprefix('*')}"
        method.output_type = f".example.{reply.removeprefix('*')}"
        method.client_streaming, method.server_streaming = request[0] == "*", reply[0] == "*"
        method.options.Extensions[annotations_pb2.http].CopyFrom(rule)
        method.options.Extensions[http_pb2.success_status] = success_status
    return file


def service_of(
    methods: dict[str, tuple[str, str, Rule]] = METHODS,
    messages: dict[str, dict[str, str]] = MESSAGES,
    *,
    success_status: int = 0,
) -> ServiceDescriptor:
    """Returns the descriptor of example.Service."""
    pool = descriptor_pool.DescriptorPool()
    add_known(pool, rows_pb2.DESCRIPTOR)
    file = file_of(methods, messages, success_status)
    file.dependency.append(rows_pb2.DESCRIPTOR.name)
    pool.Add(file)
    return pool.FindServiceByName("example.Service")


def add_known(pool: descriptor_pool.DescriptorPool, file: Any) -> None:
    """Adds a generated file and its imports to a pool."""
    for imported in file.dependencies:
        add_known(pool, imported)
    known = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(known)
    pool.Add(known)


SERVICE = service_of()


def message(name: str, /, **fields: Any) -> Any:
    """Returns a message of example.proto, such as NotesReply(notes=[…])."""
    descriptor = SERVICE.file.message_types_by_name[name]
    return message_factory.GetMessageClass(descriptor)(**fields)


def notes_reply(*texts: str) -> Any:
    return message("NotesReply", notes=[message("Note", text=text) for text in texts])


async def reject(context: Any, reason: str) -> None:
    """Ends a call with a reason from errors.proto."""
    detail = AnyMessage()
    detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="roster"))
    status = status_pb2.Status(code=StatusCode.ABORTED.value[0], message="No.", details=[detail])
    await context.abort_with_status(rpc_status.to_status(status))
