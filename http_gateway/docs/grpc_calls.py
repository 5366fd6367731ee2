"""Requests over gRPC with the same effect as the HTTP requests of an operation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from google.api import annotations_pb2
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from ..openapi.operations import tag_of
from .bodies import Body
from .parameters import Parameter

_FIELD_MASK = "google.protobuf.FieldMask"
# The rpcs of services by the tag and the ID of their operations.
Methods = Mapping[tuple[str, str], MethodDescriptor]


@dataclass(frozen=True)
class GrpcCall:
    """An rpc and how its request message follows from an HTTP request.

    `body_field` is the JSON name of the field that the body is, empty if the body is the whole
    message. `mask` is the JSON name of the field that lists the updated fields.
    """

    method: str
    body_field: str
    mask: str

    def message(self, parameters: Iterable[Parameter], body: Body | None) -> dict[str, Any]:
        """Returns the request message in the JSON of grpcurl."""
        message: dict[str, Any] = {
            parameter.field.name: _value(parameter) for parameter in parameters if parameter.example
        }
        if body is None:
            return message
        if self.body_field:
            return message | {self.body_field: body.example}
        # grpcurl reads field masks as messages, and the other JSON forms as ProtoJSON.
        mask = {self.mask: {"paths": [_proto_name(name) for name in body.example]}}
        mask = mask if self.mask else {}
        return {**message, **body.example, **mask}


def methods_of(services: Iterable[ServiceDescriptor]) -> Methods:
    """Returns the rpcs of services."""
    return {
        (tag_of(service), method.name): method for service in services for method in service.methods
    }


def grpc_call(method: MethodDescriptor) -> GrpcCall:
    """Returns the call of an rpc."""
    fields = {field.name: field for field in method.input_type.fields}
    body = method.GetOptions().Extensions[annotations_pb2.http].body
    masks = [
        field.json_name
        for field in fields.values()
        if field.message_type is not None and field.message_type.full_name == _FIELD_MASK
    ]
    return GrpcCall(
        method=f"{method.containing_service.full_name}/{method.name}",
        body_field=fields[body].json_name if body in fields else "",
        mask=masks[0] if masks else "",
    )


def _proto_name(json_name: str) -> str:
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", json_name)


def _value(parameter: Parameter) -> Any:
    if parameter.field.kind.startswith("array"):
        return [parameter.example]
    if parameter.field.kind.startswith(("integer", "number", "boolean")):
        return json.loads(parameter.example)
    return parameter.example
