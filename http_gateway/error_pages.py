"""HTML pages for people who open a path without an operation in a browser.

A GET or HEAD request gets a page instead of JSON if its Accept header prefers HTML, as that of a
browser does. The page names the API and links to the documentation. Its style is in it, and its
Content-Security-Policy allows nothing else.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from aiohttp import web

from .compression import compress
from .headers import add_vary, quality
from .policy import Policy
from .request import Request
from .responses import HTML, JSON, Response

if TYPE_CHECKING:
    from .docs.page import Page


class ErrorPages:
    """Adds pages to error responses. Each page is rendered once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        # One page for each message, of which there are as many as sets of methods.
        self._page = lru_cache(64)(self._render)

    async def show(self, response: Response, message: str, request: Request) -> Response:
        """Returns the response with a page as its body, if the client prefers one."""
        add_vary(response.headers, "Accept")
        if request.method in ("GET", "HEAD") and prefers_html(request):
            # Jinja is imported with the first page.
            page = await asyncio.to_thread(self._page, response.status, message)
            response.body, response.content_type = page.html, HTML
            response.headers |= page.headers
            await compress(response, request)
        return response

    def _render(self, status: int, message: str) -> Page:
        from .docs.page import page  # noqa: PLC0415 - Jinja would delay the start

        return page(
            "error.html.jinja",
            (),
            ("colors.css", "error.css"),
            info=self._policy.about,
            status=status,
            title=HTTPStatus(status).phrase,
            message=message,
            hint=self._policy.not_found_hint if status == HTTPStatus.NOT_FOUND else "",
        )


def prefers_html(request: web.BaseRequest) -> bool:
    """Whether the client prefers a page to JSON, as browsers do when they open a URL."""
    accept = ",".join(request.headers.getall("Accept", ()))
    return quality(accept, "text/html") > quality(accept, JSON)
