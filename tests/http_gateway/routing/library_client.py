"""Sends a request to a gateway in front of the service of library.proto."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson
from google.protobuf import text_format
from google.protobuf.message_factory import GetMessageClass

from rosterd.server.rpc.errors import REQUEST_ERROR_METADATA

from ..client import Client
from ..serving import gateway_to, run
from .protos import library

LIBRARY = library()
POOL = LIBRARY.file.pool

# The responses of rpcs in the text format. All other responses are empty.
RESPONSES = {
    "ListTitles": """
        titles: 'A' titles: 'B'
        first { name: 'shelves/1/books/2' title: 'A' }
        counts { key: 'b' value: 2 } counts { key: 'a' value: 1 }
    """,
}


class Exchange:
    """The call that the server received, and the HTTP response."""

    def __init__(self) -> None:
        self.rpc = ""
        self.request: Any = None
        self.status = 0
        self.body = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def violations(self) -> list[tuple[str, str]]:
        """The fields and codes of the violations."""
        assert self.json["error"]["code"] == "ValidationError"
        return [(detail["field"], detail["code"]) for detail in self.json["error"]["details"]]


def send(
    method: str,
    target: str,
    body: Any = None,
    *,
    kind: str = "in-process",
    responses: Mapping[str, str] = RESPONSES,
) -> Exchange:
    """Sends one request through a gateway over this kind of channel."""
    exchange = Exchange()

    def handler(rpc: str) -> Any:
        response = text_format.Parse(responses.get(rpc, ""), _output(rpc), descriptor_pool=POOL)

        async def handle(request: Any, context: Any) -> Any:
            # The gateway calls the server even for an invalid request, to authenticate it.
            if REQUEST_ERROR_METADATA not in dict(context.invocation_metadata()):
                exchange.rpc, exchange.request = rpc, request
            return response

        return handle

    async def main() -> None:
        handlers = {rpc.name: handler(rpc.name) for rpc in LIBRARY.methods}
        async with gateway_to(kind, service=LIBRARY, **handlers) as runner:
            client = await Client.to(runner)
            data = body if type(body) is bytes else b"" if body is None else orjson.dumps(body)
            headers = {"Content_Type": "application/json"} if data else {}
            if method != "POST":
                headers["Content_Length"] = str(len(data))
            await client.begin(method, target, **headers)
            if method == "POST":
                if data:
                    await client.send(data)
                await client.finish()
            elif data:
                await client.raw(data)
            got = await client.response(has_body=method != "HEAD")
            exchange.status, exchange.body = got.status, got.body

    run(main())
    return exchange


def _output(rpc: str) -> Any:
    return GetMessageClass(LIBRARY.methods_by_name[rpc].output_type)()


def request_of(rpc: str, text: str) -> Any:
    """Returns a request of an rpc, in the text format."""
    message = GetMessageClass(LIBRARY.methods_by_name[rpc].input_type)()
    return text_format.Parse(text, message, descriptor_pool=POOL)
