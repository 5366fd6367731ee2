"""Calls operations over any front.

A test names an rpc and gives its request as JSON. Every front returns the HTTP status and the
JSON body. The gRPC front converts with the stock json_format and the error details of
google.rpc, so that it shares no code with the gateway. Every front returns the token of the
next page and the entity tag.
"""

from __future__ import annotations

import http.client
import json
import select
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import grpc
from google.api import annotations_pb2
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2_grpc
from grpc_status import rpc_status

from roster.client.repeats import methods
from roster.v1 import errors_pb2, http_pb2

from . import documented

METHODS: dict[str, MethodDescriptor] = {method.name: method for method in methods()}
# Two rpcs with one name would replace each other.
assert len(METHODS) == len([*methods()])
# Unary rpcs with JSON, the only ones that a front can call.
UNARY = {
    name: method
    for name, method in METHODS.items()
    if not (method.client_streaming or method.server_streaming)
    and method.output_type.full_name != "google.api.HttpBody"
}


@dataclass(frozen=True)
class Response:
    """An HTTP status and a JSON body or None.

    The token of the next page, the entity tag and the token of a session are empty if there is
    none. `metadata` is that of the error on gRPC, and None over HTTP.
    """

    status: int
    body: Any
    next: str = ""
    etag: str = ""
    metadata: dict[str, str] | None = None
    session: str = ""

    @property
    def code(self) -> str:
        """The error code, such as ValidationError."""
        return str(self.body["error"]["code"])

    @property
    def violations(self) -> list[tuple[str, str]]:
        """The field and code of each detail of the error."""
        return [(detail["field"], detail["code"]) for detail in self.body["error"]["details"]]


# The stubs of this package declare no methods.
health_stub: Any = health_pb2_grpc.HealthStub


class SessionToken(str):
    """The token of a session, which a front sends instead of an API key."""

    __slots__ = ()


class Front(Protocol):
    """A front of a service."""

    name: str

    def call(self, rpc: str, key: str | None, request: dict[str, Any]) -> Response: ...


def binding(rpc: str) -> tuple[str, str, bool]:
    """Returns the HTTP method and path template of an rpc, and whether it has a body.

    The template names fields as JSON does.
    """
    rule = METHODS[rpc].GetOptions().Extensions[annotations_pb2.http]
    verb = rule.WhichOneof("pattern")
    path = getattr(rule, verb)
    for field in METHODS[rpc].input_type.fields:
        path = path.replace(f"{{{field.name}}}", f"{{{field.json_name}}}")
    return verb.upper(), path, bool(rule.body)


def path_variables(rpc: str) -> list[str]:
    """Returns the names of the variables in the path of an rpc."""
    return [part[1:-1] for part in binding(rpc)[1].split("/") if part.startswith("{")]


def query_fields(rpc: str) -> list[str]:
    """Returns the names of the fields that are in the query although the rpc has a body."""
    fields = METHODS[rpc].input_type.fields
    if (body := raw_body(rpc)) is not None:
        return [f.json_name for f in fields if f.json_name != body]
    return [f.json_name for f in fields if f.GetOptions().Extensions[http_pb2.in_query]]


def raw_body(rpc: str) -> str | None:
    """Returns the name of the field of a request whose bytes are the whole body, if any."""
    rule = METHODS[rpc].GetOptions().Extensions[annotations_pb2.http]
    field = METHODS[rpc].input_type.fields_by_name.get(rule.body)
    is_raw = field is not None and field.message_type is not None
    if not is_raw or field.message_type.full_name != "google.api.HttpBody":
        return None
    return str(field.json_name)


def header_fields(rpc: str) -> dict[str, str]:
    """Returns the headers of the fields of a request that HTTP reads from headers."""
    fields = METHODS[rpc].input_type.fields
    headers = {f.json_name: f.GetOptions().Extensions[http_pb2.header] for f in fields}
    return {name: header for name, header in headers.items() if header}


class HttpFront:
    """JSON over HTTP, by the standard library's client."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address

    def call(self, rpc: str, key: str | None, request: dict[str, Any]) -> Response:
        method, template, has_body = binding(rpc)
        rest, path = dict(request), template
        in_head = {h: rest.pop(name) for name, h in header_fields(rpc).items() if name in rest}
        for variable in path_variables(rpc):
            path = path.replace(f"{{{variable}}}", quote(str(rest.pop(variable, "")), safe=""))
        in_query = {n: rest.pop(n) for n in list(rest) if not has_body or n in query_fields(rpc)}
        # JSON writes booleans in lower case, unlike Python.
        query = {n: json.dumps(v) if isinstance(v, bool) else v for n, v in in_query.items()}
        query = {n: v if isinstance(v, list) and v else [v] for n, v in query.items()}
        path = f"{path}?{urlencode(query, doseq=True)}" if query else path
        body = json.dumps(rest).encode() if has_body else None
        if (field := raw_body(rpc)) is not None:
            body = b64decode(rest.get(field, {}).get("data", ""))
        if rpc == "SignIn":
            in_head["Sec-Fetch-Site"] = "same-origin"
        return self.send(method, path, key, body=body, headers=in_head)

    def send(
        self,
        method: str,
        path: str,
        key: str | None = None,
        *,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Sends a request unchanged and returns the response, or its first record."""
        status, response_headers, text = self.exchange(
            method, path, key, body=body, headers=headers
        )
        link = response_headers.get("link")
        token = next_token(link) if link else ""
        if response_headers.get("content-type") == "application/x-ndjson":
            text = text.partition(b"\n")[0]
        etag = response_headers.get("etag", "")
        session = response_headers.get("set-cookie", "").partition(";")[0].partition("=")[2]
        return Response(status, json.loads(text) if text else None, token, etag, session=session)

    def exchange(
        self,
        method: str,
        path: str,
        key: str | None = None,
        *,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """Sends a request unchanged and returns status, headers (lower case) and body."""
        sent = dict(headers or {})
        if isinstance(key, SessionToken):
            cookie = f"roster-{self.address.rpartition(':')[2]}={key}"
            sent = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin", **sent}
        elif key is not None:
            sent["Authorization"] = f"Bearer {key}"
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        with _connection_to(self.address) as connection:
            connection.request(method, path, body=body, headers=sent)
            response = connection.getresponse()
            response_headers = {name.lower(): value for name, value in response.getheaders()}
            text = response.read()
        documented.check_http(method, path, response.status, text)
        return response.status, response_headers, text


# Idle connections of the main thread by address. A new connection per request would double the
# CPU time of a call, on both sides.
_idle: dict[str, http.client.HTTPConnection] = {}


@contextmanager
def _connection_to(address: str) -> Iterator[http.client.HTTPConnection]:
    """Yields a connection for one request. It is closed unless the main thread can reuse it."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    connection = _idle.pop(address, None) if in_main_thread else None
    if connection is not None and connection.sock is not None and is_ended(connection):
        connection.close()
    connection = connection or http.client.HTTPConnection(address, timeout=60)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    if in_main_thread:
        _idle[address] = connection
    else:
        connection.close()


def is_ended(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has closed an idle connection.

    Clients with persistent connections check this before they send. A request to a process that
    has ended would be lost.
    """
    poll = select.poll()  # select() fails if a test has more than 1,024 open files
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))


def close_idle_connections() -> None:
    while _idle:
        _idle.popitem()[1].close()


def next_token(link: str) -> str:
    """Returns the page token of a Link header, which must contain only the next page."""
    url, _, parameters = link.partition("; ")
    assert (url[0], url[-1], parameters) == ("<", ">", 'rel="next"'), link
    (token,) = parse_qs(urlsplit(url[1:-1]).query)["pageToken"]
    return token


class GrpcFront:
    """gRPC, by grpcio's own client."""

    name = "grpc"

    def __init__(self, address: str) -> None:
        self.channel = grpc.insecure_channel(address)

    def call(self, rpc: str, key: str | None, request: dict[str, Any]) -> Response:
        method = METHODS[rpc]
        message = to_message(method, request)
        metadata = [] if key is None else [("authorization", f"Bearer {key}")]
        if isinstance(key, SessionToken):
            metadata = [("session", str(key))]
        try:
            reply = self.stub(rpc)(message, metadata=metadata, timeout=60)
        except grpc.RpcError as error:
            response = error_response(error)
            documented.check(method.name, response.status, response.code)
            return response
        status = success_status(method, reply)
        body = None if status == 204 else to_json(reply)
        fields = (getattr(reply, name, "") for name in ("next_page_token", "etag"))
        session = reply.token if rpc == "SignIn" else ""
        return Response(status, body, *fields, session=session)

    def stub(self, rpc: str) -> Any:
        method = METHODS[rpc]
        return self.channel.unary_unary(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=message_factory.GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
        )


def success_status(method: MethodDescriptor, reply: Any) -> int:
    """Returns the HTTP status that corresponds to a response."""
    for field in method.output_type.fields:
        status: int = field.GetOptions().Extensions[http_pb2.status_if_true]
        if status and getattr(reply, field.name):
            return status
    return method.GetOptions().Extensions[http_pb2.success_status] or 200


def to_message(method: MethodDescriptor, request: dict[str, Any]) -> Any:
    """Converts a request to a message, with an update mask of its keys for an update.

    A null key is in the mask only if its field declares that null clears it.
    """
    message: Any = message_factory.GetMessageClass(method.input_type)()
    if "update_mask" in method.input_type.fields_by_name:
        fields = {field.json_name: field for field in method.input_type.fields}
        message.update_mask.SetInParent()
        message.update_mask.paths.extend(
            fields[key].name
            for key, value in request.items()
            if key not in ("id", "allowMissing", "etag")
            and (value is not None or fields[key].GetOptions().Extensions[http_pb2.null_clears])
        )
    return json_format.ParseDict(request, message)


def to_json(message: Any) -> Any:
    """Converts a message to the JSON that Roster returns.

    This is the output of json_format, except that timestamps have three fractional digits, and that
    fields are left out that HTTP sends in the head, or not at all if they are empty.
    """
    value = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    return _as_printed(message.DESCRIPTOR, value)


def _as_printed(kind: Descriptor, value: Any) -> Any:
    if kind.full_name == "google.protobuf.Timestamp":
        return _milliseconds(value)
    if kind.file.package == "google.protobuf":
        return value
    fields = {field.json_name: field for field in kind.fields}
    return {
        key: _as_printed_field(fields[key], item)
        for key, item in value.items()
        if _is_in_body(fields[key], item)
    }


def _is_in_body(field: FieldDescriptor, value: Any) -> bool:
    extensions = field.GetOptions().Extensions
    if extensions[http_pb2.omit_empty] and not value:
        return False
    return not any(
        extensions[option]
        for option in (
            http_pb2.header,
            http_pb2.next_link,
            http_pb2.status_if_true,
            http_pb2.cookie,
        )
    )


def _as_printed_field(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is None or field.message_type.GetOptions().map_entry:
        return value
    if field.is_repeated:
        return [_as_printed(field.message_type, item) for item in value]
    return _as_printed(field.message_type, value)


def _milliseconds(text: str) -> str:
    head, _, digits = text.removesuffix("Z").partition(".")
    return f"{head}.{digits[:3].ljust(3, '0')}Z"


def error_response(error: Any) -> Response:
    """Returns the HTTP response that corresponds to a failed gRPC call."""
    status = rpc_status.from_call(error)
    assert status is not None, f"no details in {error}"
    info, request, call = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RequestInfo(),
    )
    for packed in status.details:
        for detail in (info, request, call):
            if packed.Is(detail.DESCRIPTOR):
                packed.Unpack(detail)
    assert info.domain == "roster"
    value = errors_pb2.Error.Reason.DESCRIPTOR.values_by_name[info.reason]
    mapping = value.GetOptions().Extensions[errors_pb2.error_mapping]
    assert error.code().value[0] == mapping.grpc
    body = {
        "code": "".join(word.capitalize() for word in info.reason.split("_")),
        "message": status.message,
        "details": [
            {"field": v.field, "code": v.reason, "message": v.description}
            for v in request.field_violations
        ],
        "requestId": call.request_id,
    }
    return Response(mapping.http, {"error": body}, metadata=dict(info.metadata))
