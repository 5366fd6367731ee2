"""A low-level HTTP client that can send a request in arbitrary pieces."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from aiohttp import web

# The clients of the running test.
OPEN: list[Client] = []


@dataclass
class ReceivedResponse:
    """A response; `is_whole` is False if the connection ended before the response."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_whole: bool

    @property
    def records(self) -> list[Any]:
        assert self.body.endswith(b"\n") or not self.body
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def texts(self) -> list[str]:
        """The texts of the notes, and the code of an error."""
        return [r["text"] if "text" in r else r["error"]["code"] for r in self.records]


class Client:
    """A connection to a gateway."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, runner: web.ServerRunner) -> Client:
        host, port = runner.addresses[0]
        OPEN.append(cls(*await asyncio.open_connection(host, port)))
        return OPEN[-1]

    async def begin(self, method: str, path: str, **headers: str) -> None:
        """Sends the head of a request. The body of a POST is chunked."""
        lines = [f"{method} {path} HTTP/1.1", "Host: x"]
        if method == "POST":
            lines.append("Transfer-Encoding: chunked")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join([*lines, "", ""]).encode())

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def send(self, data: bytes) -> None:
        """Sends a chunk of the body."""
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def finish(self) -> None:
        """Ends the body."""
        await self.raw(b"0\r\n\r\n")

    async def head(self) -> tuple[int, dict[str, str]]:
        """Returns the status and the headers of the response."""
        text = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status, *lines = text.strip().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        return int(status.split()[1]), {name.lower(): value for name, value in headers.items()}

    async def chunk(self) -> bytes:
        """Returns the next chunk of the response, or an empty one at its end."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def response(self, *, has_body: bool = True) -> ReceivedResponse:
        status, headers = await self.head()
        if not has_body or status == HTTPStatus.NOT_MODIFIED:
            return ReceivedResponse(status, headers, b"", is_whole=True)
        if "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
            return ReceivedResponse(status, headers, body, is_whole=True)
        body = b""
        try:
            while chunk := await self.chunk():
                body += chunk
        except (asyncio.IncompleteReadError, ConnectionError):
            return ReceivedResponse(status, headers, body, is_whole=False)
        return ReceivedResponse(status, headers, body, is_whole=True)

    async def is_closed(self) -> bool:
        """Waits until the server closes the connection. Returns whether it closed it without
        sending more data.
        """
        try:
            return await self.reader.read(1) == b""
        except ConnectionError:
            return True

    def disconnect(self) -> None:
        self.writer.transport.abort()


async def post(
    runner: web.ServerRunner, path: str, body: bytes, content_type: str = "application/x-ndjson"
) -> ReceivedResponse:
    """Sends a body in one piece and returns the response."""
    client = await Client.to(runner)
    await client.begin("POST", path, Content_Type=content_type)
    if body:
        await client.send(body)
    await client.finish()
    return await client.response()


async def get(runner: web.ServerRunner, path: str, method: str = "GET") -> ReceivedResponse:
    client = await Client.to(runner)
    await client.begin(method, path)
    return await client.response(has_body=method != "HEAD")
