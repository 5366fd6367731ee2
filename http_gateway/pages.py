"""What the gateway answers by itself at paths that no rpc is bound to.

The reference and the OpenAPI document are made and compressed once, at their first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web
from google.protobuf.descriptor import ServiceDescriptor
from grpc.aio import AioRpcError, Channel
from grpc_health.v1 import health_pb2, health_pb2_grpc

from .load_shedding import LoadShedder
from .openapi.document import document, webhooks_document
from .openapi.webhooks import sends_webhooks
from .responses import JSON, Response
from .static_content import StaticContent

if TYPE_CHECKING:
    from .docs.page import Rendered

HTML = "text/html; charset=utf-8"

# Answers a GET; it is given the request and its id.
Page = Callable[[web.BaseRequest, str], Awaitable[Response]]

# Paths that lead to a page, with the status. The root may lead elsewhere one day.
REDIRECTS = {"/": (302, "/docs"), "/docs/": (308, "/docs")}

# How long a server may take to say that it is ready, in seconds.
READY_SECONDS = 2.0


def pages_of(
    channel: Channel, services: Sequence[ServiceDescriptor], load: LoadShedder
) -> Mapping[str, Page]:
    """Returns the pages of a gateway in front of some services over a channel, by path."""
    health: Any = health_pb2_grpc.HealthStub(channel)

    @cache
    def described() -> StaticContent:
        return StaticContent(orjson.dumps(document(services)), JSON)

    @cache
    def described_webhooks() -> StaticContent:
        return StaticContent(orjson.dumps(webhooks_document()), JSON)

    # Imported when a page is first asked for: a service that nobody reads about pays nothing.
    @cache
    def reference() -> StaticContent:
        from .docs.reference import render

        return _page(render(document(services)))

    @cache
    def about_webhooks() -> StaticContent:
        from .docs.webhooks import render

        return _page(render(webhooks_document()))

    async def healthz(request: web.BaseRequest, request_id: str) -> Response:
        """Whether the gateway runs; asks nobody else."""
        return _state(200, "ok", request_id)

    async def readyz(request: web.BaseRequest, request_id: str) -> Response:
        """Whether the server behind the gateway takes calls, and the gateway goes on to."""
        if load.is_draining:
            return _state(503, "stopping", request_id)
        try:
            reply = await health.Check(health_pb2.HealthCheckRequest(), timeout=READY_SECONDS)
        except AioRpcError:
            return _state(503, "unreachable", request_id)
        if reply.status != health_pb2.HealthCheckResponse.SERVING:
            return _state(503, "not serving", request_id)
        return _state(200, "ok", request_id)

    pages = {
        "/healthz": healthz,
        "/readyz": readyz,
        "/openapi.json": _static(described),
        "/docs": _static(reference),
        **{path: _redirect(*target) for path, target in REDIRECTS.items()},
    }
    if sends_webhooks(services):
        pages["/openapi/webhooks.json"] = _static(described_webhooks)
        pages["/docs/webhooks"] = _static(about_webhooks)
    return pages


def _static(make: Callable[[], StaticContent]) -> Page:
    """Returns a page of content that is made once, in a thread, so that calls go on meanwhile."""

    async def page(request: web.BaseRequest, request_id: str) -> Response:
        content = await asyncio.to_thread(make)
        return content.response(request, request_id)

    return page


def _redirect(status: int, path: str) -> Page:
    async def page(request: web.BaseRequest, request_id: str) -> Response:
        return Response(status, request_id, b"", content_type=HTML, more={"Location": path})

    return page


def _page(page: Rendered) -> StaticContent:
    headers = {"Content-Security-Policy": page.policy, "Referrer-Policy": "no-referrer"}
    return StaticContent(page.html, HTML, headers)


def _state(status: int, word: str, request_id: str) -> Response:
    return Response(status, request_id, orjson.dumps({"status": word}))
