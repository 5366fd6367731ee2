"""The example in the gateway's README."""

from __future__ import annotations

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass
from grpc import aio

from ..components import free_port
from ..documents import GATEWAY, code
from ..fronts import HttpFront
from .routing.protos import library
from .serving import register_handlers, run

LIBRARY = library()


def test_documented_example_serves_another_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "library_pb2", SimpleNamespace(DESCRIPTOR=LIBRARY.file))
    example: dict[str, Any] = {}
    exec(code(GATEWAY, "example: gateway"), example)

    async def get_book(request: Any, _context: Any) -> Any:
        book = GetMessageClass(LIBRARY.methods_by_name["GetBook"].output_type)
        return book(name=request.name, title="Emma")

    async def body() -> tuple[int, bytes]:
        server = aio.server()
        register_handlers(LIBRARY, {"GetBook": get_book})(server)
        target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        port = free_port()
        serving = asyncio.create_task(example["serve"](target, port))
        front = HttpFront("http", f"127.0.0.1:{port}")
        while True:
            try:
                status, _, text = await asyncio.to_thread(
                    front.exchange, "GET", "/v1/shelves/1/books/2"
                )
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.01)
        serving.cancel()
        await asyncio.wait([serving])
        await server.stop(None)
        return status, text

    status, text = run(body())

    assert (status, json.loads(text)["title"]) == (200, "Emma")
