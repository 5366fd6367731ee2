"""Builds services for tests: compiled by protoc, or assembled from HTTP rules."""

from __future__ import annotations

import sysconfig
import tempfile
from functools import cache
from pathlib import Path

from google.api import annotations_pb2
from google.api.http_pb2 import HttpRule as Rule
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import FieldDescriptor, FileDescriptor, ServiceDescriptor
from grpc_tools import protoc

from rosterd.http_gateway.routing.routes import Routes

F = FieldDescriptor

LIBRARY = Path(__file__).with_name("library.proto").read_text()


@cache
def compiled(text: str) -> FileDescriptor:
    """Compiles a proto file and returns its descriptor, in a new pool."""
    common = sysconfig.get_paths()["purelib"]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "example.proto"), Path(folder, "example.binpb")
        source.write_text(text)
        wkt = Path(protoc.__file__).with_name("_proto")
        command = ["protoc", f"-I{folder}", f"-I{common}", f"-I{wkt}", "--include_imports"]
        assert protoc.main([*command, f"--descriptor_set_out={target}", str(source)]) == 0
        files = descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool.FindFileByName("example.proto")


def library() -> ServiceDescriptor:
    return compiled(LIBRARY).services_by_name["Library"]


def library_with(rule: str) -> ServiceDescriptor:
    """Returns the service library.Other with the method Wrong, bound by a rule."""
    head, _, messages = LIBRARY.partition("service Library {")
    messages = messages[messages.index("\n}\n") + 3 :]
    service = f"""
        service Other {{
          rpc Wrong(Everything) returns (Everything) {{
            option (google.api.http) = {{ {rule} }};
          }}
        }}
    """
    return compiled(head + service + messages).services_by_name["Other"]


def service_of(**rules: Rule | str) -> ServiceDescriptor:
    """Returns the service example.Service with a method for each rule. A string is a GET path."""
    file = descriptor_pb2.FileDescriptorProto(
        name="example.proto", package="example", syntax="proto3"
    )
    message = file.message_type.add(name="Example")
    for number, name in enumerate(("id", "name", "tags", "one", "two"), start=1):
        message.field.add(name=name, number=number, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    message.field[2].label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
    file.message_type.add(name="Reply")
    service = file.service.add(name="Service")
    for name, rule in rules.items():
        method = service.method.add(
            name=name, input_type=".example.Example", output_type=".example.Reply"
        )
        http_rule = Rule(get=rule) if isinstance(rule, str) else rule
        method.options.Extensions[annotations_pb2.http].CopyFrom(http_rule)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool.FindServiceByName("example.Service")


def matched(routes: Routes, method: str, path: str) -> tuple[str, dict[str, str]] | None:
    """Returns the name of the matching rpc and the path variables."""
    match = routes.match(method, path)
    return match and (match.binding.rpc.rpartition("/")[2], match.variables)
