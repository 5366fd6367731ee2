"""Pages that the gateway serves itself: health, the OpenAPI documents and the documentation.

Documents are built and compressed once, at their first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from aiohttp import web
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.empty_pb2 import Empty
from grpc.aio import AioRpcError, Channel
from grpc_health.v1 import health_pb2, health_pb2_grpc

from .docs.documentation import Documentation
from .load_shedding import LoadShedder
from .openapi.document import document, webhooks_document
from .openapi.webhooks import sent_by
from .policy import Policy
from .responses import HTML, JSON, Response, json_body
from .routing.query import QueryReader
from .static_content import StaticContent

if TYPE_CHECKING:
    from .docs.page import Page as HtmlPage
    from .docs.site import Site

_NO_PARAMETERS = QueryReader(Empty.DESCRIPTOR, frozenset())

# Handles a GET request with its request ID.
Page = Callable[[web.BaseRequest, str], Awaitable[Response]]

# Redirects: status and target by path. The target of the root is not permanent.
REDIRECTS = {"/": (302, "/docs"), "/docs/": (308, "/docs"), "/docs/guides": (302, "/docs")}

# Timeout of the health check of the server, in seconds.
READY_SECONDS = 2.0


def pages_of(
    channel: Channel,
    services: Sequence[ServiceDescriptor],
    load: LoadShedder,
    policy: Policy,
    documentation: Documentation,
    others: Mapping[str, StaticContent],
) -> Mapping[str, Page]:
    """Returns the pages of a gateway by path, `others` among them."""
    health: Any = health_pb2_grpc.HealthStub(channel)
    has_webhooks = sent_by(services, policy) is not None

    @cache
    def site() -> Site:
        from .docs.site import Site  # noqa: PLC0415 - Jinja and Markdown would delay the start

        webhooks = webhooks_document(policy) if has_webhooks else None
        content = document(services, policy)
        return Site(content, services, policy, webhooks=webhooks, documentation=documentation)

    def guide(name: str) -> Page:
        return _static(lambda: _html(site().guide(name)))

    async def healthz(_request: web.BaseRequest, request_id: str) -> Response:
        """Reports that the gateway is running, without a call to the server."""
        return _state(200, "ok", request_id)

    async def readyz(_request: web.BaseRequest, request_id: str) -> Response:
        """Reports whether the server accepts calls and the gateway is not draining."""
        if load.is_draining:
            return _state(503, "stopping", request_id)
        try:
            check = health.Check(health_pb2.HealthCheckRequest(), timeout=READY_SECONDS)
            reply, trailing = await check, await check.trailing_metadata()
        except AioRpcError:
            return _state(503, "unreachable", request_id)
        details = [value for name, value in trailing or () if name == policy.health_detail]
        if reply.status != health_pb2.HealthCheckResponse.SERVING:
            return _state(503, "not serving", request_id, details)
        return _state(200, "ok", request_id, details)

    pages = {
        "/healthz": healthz,
        "/readyz": readyz,
        "/openapi.json": _without_parameters(_static(lambda: _json(document(services, policy)))),
        "/docs": _static(lambda: _html(site().reference())),
        "/docs/search.json": _static(lambda: StaticContent(site().search_index(), JSON)),
        **{f"/docs/guides/{item.name}": guide(item.name) for item in documentation.guides},
        **{path: _redirect(*target) for path, target in REDIRECTS.items()},
        **{path: _page_of(content) for path, content in others.items()},
    }
    if has_webhooks:
        pages["/openapi/webhooks.json"] = _without_parameters(
            _static(lambda: _json(webhooks_document(policy)))
        )
        pages["/docs/webhooks"] = _static(lambda: _html(site().event_types()))
    return pages


def _page_of(content: StaticContent) -> Page:
    return _static(lambda: content)


def _static(build: Callable[[], StaticContent]) -> Page:
    """Returns a page with content that is built once, in a thread, while calls continue."""
    build = cache(build)

    async def page(request: web.BaseRequest, request_id: str) -> Response:
        content = await asyncio.to_thread(build)
        return content.response(request, request_id)

    return page


def _without_parameters(page: Page) -> Page:
    """Returns a page that rejects query parameters, as operations do.

    Those of HTML pages and health checks are ignored, because other programs add some to URLs.
    """

    async def checked(request: web.BaseRequest, request_id: str) -> Response:
        _NO_PARAMETERS.read(request.rel_url.raw_query_string, Empty())
        return await page(request, request_id)

    return checked


def _redirect(status: int, path: str) -> Page:
    async def page(_request: web.BaseRequest, request_id: str) -> Response:
        return Response(status, request_id, b"", content_type=HTML, more={"Location": path})

    return page


def _html(page: HtmlPage) -> StaticContent:
    return StaticContent(page.html, HTML, page.headers)


def _json(content: dict[str, Any]) -> StaticContent:
    return StaticContent(json_body(content), JSON)


def _state(status: int, state: str, request_id: str, details: Sequence[Any] = ()) -> Response:
    body = {"status": state, "details": details} if details else {"status": state}
    return Response(status, request_id, json_body(body))
