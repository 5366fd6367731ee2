"""Registers grpc.reflection.v1, and v1alpha for older clients.

The library implements v1alpha only. The messages of v1 have the same wire format, so one servicer
is registered under both names. The descriptor of v1 is a renamed copy of the v1alpha one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, text_format
from grpc_reflection.v1alpha import reflection_pb2 as messages
from grpc_reflection.v1alpha.reflection import SERVICE_NAME as V1ALPHA
from grpc_reflection.v1alpha.reflection import aio

V1 = V1ALPHA.replace("v1alpha", "v1")


def register(services: Iterable[str], server: Any) -> None:
    """Adds reflection of services, and of reflection itself, to a server."""
    _describe_v1()
    servicer = aio.ReflectionServicer([*services, V1, V1ALPHA])
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        messages.ServerReflectionRequest.FromString,
        messages.ServerReflectionResponse.SerializeToString,
    )
    for name in (V1, V1ALPHA):
        handlers = {"ServerReflectionInfo": handler}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))


def _describe_v1() -> None:
    """Adds the descriptor of v1 to the default pool. Can be called repeatedly."""
    file = descriptor_pb2.FileDescriptorProto()
    messages.DESCRIPTOR.CopyToProto(file)
    text = text_format.MessageToString(file).replace("v1alpha", "v1")
    descriptor_pool.Default().Add(text_format.Parse(text, descriptor_pb2.FileDescriptorProto()))
