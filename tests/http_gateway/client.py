"""A client without comfort: it sends a request in any pieces, and tells what came back."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web

# The clients of the running test.
OPEN: list[Client] = []


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
