"""What the gateway answers by itself at paths that no rpc is bound to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson
from google.protobuf.descriptor import ServiceDescriptor
from grpc.aio import AioRpcError, Channel
from grpc_health.v1 import health_pb2, health_pb2_grpc

from .answers import Answer
from .load import Load
from .openapi.document import document
from .openapi.webhooks import are_sent_by

if TYPE_CHECKING:
    from .docs.rendered import Rendered

HTML = "text/html; charset=utf-8"

# Answers a GET; it is given the id of the request.
Page = Callable[[str], Awaitable[Answer]]

# How long a server may take to say that it is ready, in seconds.
READY_SECONDS = 2.0


def pages_of(
    channel: Channel, services: Sequence[ServiceDescriptor], load: Load
) -> Mapping[str, Page]:
    """Returns the pages of a gateway in front of some services over a channel, by path."""
    health: Any = health_pb2_grpc.HealthStub(channel)

    @cache
    def described() -> bytes:
        return orjson.dumps(document(services))

    # Imported when a page is first asked for: a service that nobody reads about pays nothing.
    @cache
    def reference() -> Rendered:
        from .docs.render import render

        return render(document(services))

    @cache
    def about_webhooks() -> Rendered:
        from .docs.webhooks import render

        return render(document(services))

    async def healthz(request_id: str) -> Answer:
        """Whether the gateway runs; asks nobody else."""
        return _state(200, "ok", request_id)

    async def readyz(request_id: str) -> Answer:
        """Whether the server behind the gateway takes calls, and the gateway goes on to."""
        if load.ends:
            return _state(503, "stopping", request_id)
        try:
            reply = await health.Check(health_pb2.HealthCheckRequest(), timeout=READY_SECONDS)
        except AioRpcError:
            return _state(503, "unreachable", request_id)
        if reply.status != health_pb2.HealthCheckResponse.SERVING:
            return _state(503, "not serving", request_id)
        return _state(200, "ok", request_id)

    async def openapi(request_id: str) -> Answer:
        """What the services offer over HTTP, in OpenAPI."""
        return Answer(200, request_id, described())

    async def docs(request_id: str) -> Answer:
        """The same for people."""
        return await _page(reference, request_id)

    async def docs_of_webhooks(request_id: str) -> Answer:
        """How to take what the services send to webhooks."""
        return await _page(about_webhooks, request_id)

    pages = {"/healthz": healthz, "/readyz": readyz, "/openapi.json": openapi, "/docs": docs}
    return {**pages, "/docs/webhooks": docs_of_webhooks} if are_sent_by(services) else pages


async def _page(made: Callable[[], Rendered], request_id: str) -> Answer:
    """Answers with a page. It is made in a thread: meanwhile calls are answered."""
    page = await asyncio.to_thread(made)
    more = {"Content-Security-Policy": page.policy, "Referrer-Policy": "no-referrer"}
    return Answer(200, request_id, page.html, content_type=HTML, more=more)


def _state(status: int, word: str, request_id: str) -> Answer:
    return Answer(status, request_id, orjson.dumps({"status": word}))
