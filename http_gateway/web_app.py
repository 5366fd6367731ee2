"""Serves the files of a web application, and leads browsers to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from html import escape
from importlib.resources.abc import Traversable

from aiohttp import web

from .error_pages import prefers_html
from .options import WebApp
from .responses import HTML, Response
from .static_content import IMMUTABLE, NOT_STORED, Page, StaticContent, redirect, static_page

_SHELL = "index.html"
_ASSETS = "assets"
_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
_DEPENDS_ON_ACCEPT = {"Vary": "Accept"}


def pages_of_app(app: WebApp, path: str, *, otherwise: Page) -> Mapping[str, Page]:
    """Returns the pages of an application by path, that of the root among them.

    Its own paths begin with `path` in URLs of browsers. Clients that do not prefer HTML get the
    page `otherwise` from the root.
    """
    url = path + app.prefix
    to_app = redirect(302, url, _DEPENDS_ON_ACCEPT)

    async def root(request: web.BaseRequest, request_id: str) -> Response:
        if prefers_html(request):
            return await to_app(request, request_id)
        response = await otherwise(request, request_id)
        response.headers.update(_DEPENDS_ON_ACCEPT)
        return response

    assets = {
        f"{app.prefix}{_ASSETS}/{file.name}": static_page(partial(_asset, file))
        for file in (app.folder / _ASSETS).iterdir()
    }
    return {
        "/": root,
        app.prefix.rstrip("/"): redirect(308, url),
        app.prefix: static_page(partial(_shell, app, url)),
        **assets,
    }


def page_path(app: WebApp | None, path: str) -> str:
    """Returns the path of the page for a path: that of the application for its other paths.

    An asset that does not exist, such as one of another version, has no page.
    """
    if app is None or not path.startswith(app.prefix) or path.startswith(f"{app.prefix}{_ASSETS}/"):
        return path
    return app.prefix


def _shell(app: WebApp, url: str) -> StaticContent:
    text = (app.folder / _SHELL).read_text("utf-8").replace("{{base}}", escape(url))
    headers = {"Content-Security-Policy": app.content_security_policy, **app.headers}
    return StaticContent(text.encode(), HTML, headers, NOT_STORED)


def _asset(file: Traversable) -> StaticContent:
    media_type = _TYPES[file.name.rpartition(".")[2]]
    return StaticContent(file.read_bytes(), media_type, caching=IMMUTABLE)
