"""A service with google.api.HttpBody, public and cross-origin rpcs, built without a .proto file."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from google.api import httpbody_pb2
from google.api.http_pb2 import HttpRule as Rule
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor import ServiceDescriptor
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc_status import rpc_status

from roster.v1 import http_pb2

from .client import Client, ReceivedResponse
from .serving import OPTIONS, gateway_to
from .stream_service import add_known, file_of

HTTP_BODY = ".google.api.HttpBody"
MESSAGES = {
    "Request": {"id": ""},
    "FormRequest": {"id": "", "form": HTTP_BODY},
    "FormsRequest": {"id": "", "forms": f"*{HTTP_BODY}"},
    "Item": {"id": "", "name": ""},
}
RULES = {
    "GetPage": ("Request", Rule(get="/pages/{id}")),
    "SubmitPage": ("FormRequest", Rule(post="/pages/{id}", body="form")),
    "StoreFile": ("FormRequest", Rule(put="/files/{id}", body="form")),
    "CreateItem": ("Item", Rule(post="/items", body="*")),
    "ListItems": ("Item", Rule(get="/items")),
}
PAGES = ("GetPage", "SubmitPage")


def service_of(**rules: tuple[str, Rule]) -> ServiceDescriptor:
    """Returns example.Service with the type of the request and the rule of each rpc.

    Rpcs with the name of a page return HTML and are public. GetFile returns data of any type, and
    all others return Item. CreateItem is a cross-origin rpc.
    """
    methods = {name: (request, "Item", rule) for name, (request, rule) in rules.items()}
    file = file_of(methods, MESSAGES, success_status=0)
    file.dependency.append(httpbody_pb2.DESCRIPTOR.name)
    for method in file.service[0].method:
        options = method.options.Extensions
        if method.name in (*PAGES, "GetFile"):
            method.output_type = HTTP_BODY
        if method.name in PAGES:
            options[http_pb2.response_media_type] = "text/html"
            options[http_pb2.access].public = True
        else:
            options[http_pb2.access].scope = "signup"
        options[http_pb2.cross_origin] = method.name == "CreateItem"
    pool = descriptor_pool.DescriptorPool()
    add_known(pool, http_pb2.DESCRIPTOR)
    add_known(pool, httpbody_pb2.DESCRIPTOR)
    pool.Add(file)
    return pool.FindServiceByName("example.Service")


SERVICE = service_of(**RULES)


def reply(rpc: str, **fields: Any) -> Any:
    """Returns the response message of an rpc."""
    return message_factory.GetMessageClass(SERVICE.methods_by_name[rpc].output_type)(**fields)


async def fail(context: Any, code: StatusCode, reason: str, *details: Any, **metadata: str) -> None:
    """Ends a call with a reason, further details, and trailing metadata."""
    info = error_details_pb2.ErrorInfo(reason=reason, domain="roster")
    packed = [AnyMessage() for _ in range(len(details) + 1)]
    for slot, detail in zip(packed, (info, *details), strict=True):
        slot.Pack(detail)
    status = status_pb2.Status(code=code.value[0], message="No.", details=packed)
    trailing = rpc_status.to_status(status).trailing_metadata or ()
    more = tuple((name.replace("_", "-"), value) for name, value in metadata.items())
    await context.abort(code, "No.", (*trailing, *more))


async def exchange(
    handlers: dict[str, Any],
    method: str,
    path: str,
    body: bytes = b"",
    *,
    kind: str = "in-process",
    options: Any = OPTIONS,
    **headers: str,
) -> ReceivedResponse:
    """Sends one request to a gateway in front of handlers, and returns the response."""
    async with gateway_to(kind, service=SERVICE, options=options, **handlers) as runner:
        return await request(runner, method, path, body, **headers)


async def request(
    runner: web.ServerRunner, method: str, path: str, body: bytes = b"", **headers: str
) -> ReceivedResponse:
    client = await Client.to(runner)
    lines = [f"{method} {path} HTTP/1.1", "Host: x"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body and "Content_Length" not in headers:
        lines.append(f"Content-Length: {len(body)}")
    await client.raw("\r\n".join([*lines, "", ""]).encode() + body)
    return await client.response(has_body=method not in ("HEAD", "OPTIONS"))
