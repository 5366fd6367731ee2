"""A service made for tests of streams, a gateway in front of it, and a client without comfort.

Its handlers are functions that a test hands over; what they do is all there is behind
the gateway, which reaches them over either channel.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import grpc
from aiohttp import web
from buf.validate import validate_pb2
from google.api import annotations_pb2
from google.api import http_pb2 as google_http
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor import FieldDescriptor, ServiceDescriptor
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode, aio
from grpc_status import rpc_status
from roster.v1 import http_pb2

from http_gateway import edge
from http_gateway.app import Gateway
from http_gateway.channel.in_process import InProcessChannel

Rule = google_http.HttpRule
F = FieldDescriptor
LINE, FAULT = ".roster.v1.CsvLine", ".roster.v1.Row.Fault"

MESSAGES: dict[str, dict[str, str]] = {
    "Item": {"name": "", "size": "int32", "faults": f"*{FAULT}"},
    "Strict": {"name": ""},
    # In requests.
    "Put": {"set": "", "items": "*.made.Item", "lines": f"*{LINE}"},
    "PutStrict": {"stricts": "*.made.Strict"},
    "Ask": {"name": ""},
    "Pick": {"set": "", "name": "", "size": "int32"},
    # In replies.
    "Note": {"text": ""},
    "Told": {"notes": "*.made.Note", "lines": f"*{LINE}"},
    "Sum": {"total": "int32"},
}
BOTH = Rule(post="/both", body="items", response_body="notes")
METHODS = {
    # The name, the types of request and reply with * for a stream, and the binding.
    "Both": ("*Put", "*Told", BOTH),
    "Strictly": (
        "*PutStrict",
        "*Told",
        Rule(post="/strictly", body="stricts", response_body="notes"),
    ),
    "Collect": ("*Put", "Sum", Rule(post="/collect/{set}", body="items")),
    "Give": ("Ask", "*Told", Rule(get="/give", response_body="notes")),
    # Every message is a record.
    "Each": ("Ask", "*Note", Rule(get="/each")),
    "Sift": ("*Pick", "Sum", Rule(post="/sift/{set}", body="*")),
    # Without a stream.
    "Once": ("Pick", "Sum", Rule(post="/once", body="*")),
}


def file_of(
    methods: dict[str, tuple[str, str, Rule]],
    messages: dict[str, dict[str, str]],
    success_status: int,
) -> descriptor_pb2.FileDescriptorProto:
    """Returns made.proto.

    A field is named with its type, none for a string; * says that it is repeated, and
    <= how many items it may have.
    """
    file = descriptor_pb2.FileDescriptorProto(name="made.proto", package="made", syntax="proto3")
    file.dependency.append("roster/v1/http.proto")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), start=1):
            made = message.field.add(name=field, number=number, type=F.TYPE_STRING)
            made.label = F.LABEL_REPEATED if kind.startswith("*") else F.LABEL_OPTIONAL
            kind, _, most = kind.removeprefix("*").partition("<=")
            if most:
                made.options.Extensions[validate_pb2.field].repeated.max_items = int(most)
            if kind == "int32":
                made.type = F.TYPE_INT32
            elif kind:
                made.type, made.type_name = F.TYPE_MESSAGE, kind
            made.options.Extensions[http_pb2.row_faults] = kind == FAULT
    service = file.service.add(name="Service")
    for name, (request, reply, rule) in methods.items():
        method = service.method.add(name=name)
        method.input_type = f".made.{request.removeprefix('*')}"
        method.output_type = f".made.{reply.removeprefix('*')}"
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
    """Returns the descriptor of made.Service."""
    pool = descriptor_pool.DescriptorPool()
    add_known(pool, http_pb2.DESCRIPTOR)
    pool.Add(file_of(methods, messages, success_status))
    return pool.FindServiceByName("made.Service")


def add_known(pool: descriptor_pool.DescriptorPool, file: Any) -> None:
    """Adds a file that was generated, and all that it imports, to a pool."""
    for imported in file.dependencies:
        add_known(pool, imported)
    known = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(known)
    pool.Add(known)


SERVICE = service_of()


def message(name: str, /, **fields: Any) -> Any:
    """Returns a message of a made type, such as Told(notes=[…])."""
    descriptor = SERVICE.file.message_types_by_name[name]
    return message_factory.GetMessageClass(descriptor)(**fields)


def told(*texts: str) -> Any:
    """Returns a reply that holds notes."""
    return message("Told", notes=[message("Note", text=text) for text in texts])


async def refuse(context: Any, reason: str) -> None:
    """Ends a call as the server does, with a reason of errors.proto."""
    detail = AnyMessage()
    detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="roster"))
    status = status_pb2.Status(code=StatusCode.ABORTED.value[0], message="No.", details=[detail])
    await context.abort_with_status(rpc_status.to_status(status))


Handler = Callable[[Any, Any], Any]


@asynccontextmanager
async def channel_to(
    kind: str, *, service: ServiceDescriptor = SERVICE, **handlers: Handler
) -> AsyncIterator[aio.Channel]:
    """Yields a channel to a service, made.Service unless another is given, of these methods."""
    made = {}
    for name, handler in handlers.items():
        method = service.methods_by_name[name]
        shape = "_".join(
            "stream" if streams else "unary"
            for streams in (method.client_streaming, method.server_streaming)
        )
        made[name] = getattr(grpc, f"{shape}_rpc_method_handler")(
            handler,
            message_factory.GetMessageClass(method.input_type).FromString,
            message_factory.GetMessageClass(method.output_type).SerializeToString,
        )

    def register(server: Any) -> None:
        generic = grpc.method_handlers_generic_handler(service.full_name, made)
        server.add_generic_rpc_handlers((generic,))
        server.add_registered_method_handlers(service.full_name, made)

    if kind == "in-process":
        yield InProcessChannel(register, ())
        return
    server = aio.server()
    register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        await server.stop(None)


# The clients of the running test.
OPEN: list[Client] = []


@asynccontextmanager
async def gateway_to(
    kind: str, *, grace: float = 0.5, service: ServiceDescriptor = SERVICE, **handlers: Handler
) -> AsyncIterator[web.ServerRunner]:
    """Yields a running gateway over a channel to a service; `grace` is for its end."""
    async with channel_to(kind, service=service, **handlers) as channel:
        with patch.object(edge, "LINGERING_SECONDS", 0.1):
            server = Gateway(channel, [service]).server()
        runner = web.ServerRunner(server, shutdown_timeout=grace)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield runner
        finally:
            while OPEN:
                OPEN.pop().leave()
            await runner.cleanup()


@dataclass
class Got:
    """An answer as a client got it; `is_whole` says whether it ended as it should."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_whole: bool

    @property
    def records(self) -> list[Any]:
        """The records of NDJSON."""
        assert self.body.endswith(b"\n") or not self.body
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def texts(self) -> list[str]:
        """The texts of the notes, with the code of an error where there is one."""
        return [r["text"] if "text" in r else r["error"]["code"] for r in self.records]


class Client:
    """A connection to a gateway on which one request is sent, in any pieces."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, runner: web.ServerRunner) -> Client:
        host, port = runner.addresses[0]
        OPEN.append(cls(*await asyncio.open_connection(host, port)))
        return OPEN[-1]

    async def begin(self, method: str, path: str, **headers: str) -> None:
        """Sends the head of a request; a POST announces chunks."""
        lines = [f"{method} {path} HTTP/1.1", "Host: x"]
        if method == "POST":
            lines.append("Transfer-Encoding: chunked")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join([*lines, "", ""]).encode())

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def send(self, data: bytes) -> None:
        """Sends a piece of the body."""
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def finish(self) -> None:
        """Ends the body."""
        await self.raw(b"0\r\n\r\n")

    async def head(self) -> tuple[int, dict[str, str]]:
        """Returns the status and the headers of the answer."""
        text = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status, *lines = text.strip().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        return int(status.split()[1]), {name.lower(): value for name, value in headers.items()}

    async def chunk(self) -> bytes:
        """Returns the next chunk of the answer; none at its end."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def answer(self, *, has_body: bool = True) -> Got:
        """Returns the whole answer."""
        status, headers = await self.head()
        if not has_body:
            return Got(status, headers, b"", is_whole=True)
        if "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
            return Got(status, headers, body, is_whole=True)
        body = b""
        try:
            while chunk := await self.chunk():
                body += chunk
        except (asyncio.IncompleteReadError, ConnectionError):
            return Got(status, headers, body, is_whole=False)
        return Got(status, headers, body, is_whole=True)

    async def is_closed(self) -> bool:
        """Waits until the other side has closed the connection, and sent nothing more."""
        try:
            return await self.reader.read(1) == b""
        except ConnectionError:
            return True

    def leave(self) -> None:
        self.writer.transport.abort()


async def post(
    runner: web.ServerRunner, path: str, body: bytes, content_type: str = "application/x-ndjson"
) -> Got:
    """Sends a body in one piece and returns the answer."""
    client = await Client.to(runner)
    await client.begin("POST", path, Content_Type=content_type)
    if body:
        await client.send(body)
    await client.finish()
    return await client.answer()


async def get(runner: web.ServerRunner, path: str, method: str = "GET") -> Got:
    client = await Client.to(runner)
    await client.begin(method, path)
    return await client.answer(has_body=method != "HEAD")


def run(body: Any) -> Any:
    """Runs a test's body, which has to end in time."""
    return asyncio.run(asyncio.wait_for(body, 20))
