"""Pages that the gateway serves itself: health, OpenAPI documents, documentation, a web app.

Documents are built and compressed once, at their first request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from aiohttp import web
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.empty_pb2 import Empty
from grpc.aio import AioRpcError, Channel
from grpc_health.v1 import health_pb2, health_pb2_grpc

from .docs.documentation import Documentation
from .load_shedding import LoadShedder
from .options import Options
from .responses import HTML, JSON, Response, json_body
from .routing.query import QueryReader
from .static_content import Page, StaticContent, redirect, static_page
from .web_app import pages_of_app

if TYPE_CHECKING:
    from .docs.page import Page as HtmlPage
    from .docs.site import Site

_NO_PARAMETERS = QueryReader(Empty.DESCRIPTOR, frozenset())

# Redirects: status and target by path. The target of the root is not permanent.
REDIRECTS = {"/": (302, "/docs"), "/docs/": (308, "/docs"), "/docs/guides": (302, "/docs")}

# Timeout of the health check of the server, in seconds.
READY_SECONDS = 2.0


def pages_of(
    channel: Channel,
    services: Sequence[ServiceDescriptor],
    load: LoadShedder,
    options: Options,
    documentation: Documentation,
) -> Mapping[str, Page]:
    """Returns the pages of a gateway by path."""
    policy = options.policy
    health: Any = health_pb2_grpc.HealthStub(channel)
    has_webhooks = policy.webhooks_of(services) is not None

    def openapi() -> dict[str, Any]:
        from .openapi.document import document  # noqa: PLC0415 - loaded with the first document

        return document(services, policy)

    def openapi_of_webhooks() -> dict[str, Any]:
        from .openapi.document import webhooks_document  # noqa: PLC0415 - likewise

        return webhooks_document(policy)

    @cache
    def site() -> Site:
        from .docs.site import Site  # noqa: PLC0415 - Jinja and Markdown would delay the start

        webhooks = openapi_of_webhooks() if has_webhooks else None
        return Site(openapi(), services, policy, webhooks=webhooks, documentation=documentation)

    def guide(name: str) -> Page:
        return static_page(lambda: _html(site().guide(name)))

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
        "/openapi.json": _document(openapi),
        "/docs": static_page(lambda: _html(site().reference())),
        "/docs/search.json": static_page(lambda: StaticContent(site().search_index(), JSON)),
        **{f"/docs/guides/{item.name}": guide(item.name) for item in documentation.guides},
        **{path: redirect(*target) for path, target in REDIRECTS.items()},
    }
    if options.web_app is not None:
        pages |= pages_of_app(options.web_app, options.path, otherwise=pages["/"])
    if has_webhooks:
        pages["/openapi/webhooks.json"] = _document(openapi_of_webhooks)
        pages["/docs/webhooks"] = static_page(lambda: _html(site().event_types()))
    return pages


def _document(build: Callable[[], dict[str, Any]]) -> Page:
    """Returns a page with JSON. It rejects query parameters, as operations do.

    Those of HTML pages and health checks are ignored, because other programs add some to URLs.
    """
    page = static_page(lambda: StaticContent(json_body(build()), JSON))

    async def checked(request: web.BaseRequest, request_id: str) -> Response:
        _NO_PARAMETERS.read(request.rel_url.raw_query_string, Empty())
        return await page(request, request_id)

    return checked


def _html(page: HtmlPage) -> StaticContent:
    return StaticContent(page.html, HTML, page.headers)


def _state(status: int, state: str, request_id: str, details: Sequence[Any] = ()) -> Response:
    body = {"status": state, "details": details} if details else {"status": state}
    return Response(status, request_id, json_body(body))
