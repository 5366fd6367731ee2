"""Lets web pages of other origins call some rpcs (CORS, in the Fetch standard).

Applies to bindings with the option `cross_origin` and to the origins in `Options.cors_origins`.
For any other request no header is added, and browsers then hide the response from the page.
Access-Control-Allow-Credentials is never sent, so browsers send no cookies.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from aiohttp import web
from aiohttp.http import RawRequestMessage

from .headers import add_vary
from .options import Options
from .responses import Response
from .routing.bindings import Binding
from .routing.routes import Routes
from .streams.response import StreamResponse

ANY_ORIGIN = "*"
_URL = re.compile(r"(?P<origin>(?i:https?)://[^/?#]+)([/?#].*)?")
_REQUESTED_METHOD = "Access-Control-Request-Method"
_PREFLIGHT = {
    # Chromium caches a response to a preflight for at most two hours.
    "Access-Control-Max-Age": "7200",
    "Vary": f"Origin, {_REQUESTED_METHOD}, Access-Control-Request-Headers",
}


class CrossOrigin:
    """Determines the CORS headers of responses, for the allowed origins."""

    def __init__(self, options: Options, routes: Routes) -> None:
        self._origins = options.cors_origins
        self._request_headers = {"content-type", *options.policy.headers.forwarded}
        self._routes = routes

    def preflight_headers(
        self, request: web.BaseRequest, path: str, methods: Iterable[str]
    ) -> dict[str, str]:
        """Returns the headers of the response to OPTIONS; none if it is no allowed preflight.

        `methods` are those of the path.
        """
        requested = request.headers.get(_REQUESTED_METHOD)
        origin = self._allowed_origin(request.headers)
        if requested is None or origin is None:
            return {}
        allowed = [method for method in methods if self._binding(method, path)]
        binding = self._binding(requested, path)
        if binding is None or requested not in allowed:
            return {}
        of_fields = [field.header.lower() for field in binding.request_headers]
        return {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": ", ".join(allowed),
            "Access-Control-Allow-Headers": ", ".join(sorted([*self._request_headers, *of_fields])),
            **_PREFLIGHT,
        }

    def add_headers(
        self, response: Response | StreamResponse, request: web.BaseRequest, binding: Binding
    ) -> None:
        """Adds the headers to the response of a `cross_origin` binding."""
        origin = self._allowed_origin(request.headers)
        # A StreamResponse has been sent; bindings with the option are unary.
        if origin is not None and isinstance(response, Response):
            of_fields = [field.header for field in binding.response_headers]
            response.headers.update(_headers(origin, of_fields))
            add_vary(response.headers, "Origin")

    def headers_of(self, request: web.BaseRequest | RawRequestMessage, path: str) -> dict[str, str]:
        """Returns the headers of a response for a request that was not routed."""
        origin = self._allowed_origin(request.headers)
        if origin is None or self._binding(request.method, path) is None:
            return {}
        return {**_headers(origin), "Vary": "Origin"}

    def redirect_url(self, url: str) -> str | None:
        """Returns the URL to which a form redirects; None if its origin is not allowed.

        "*" allows none, because the service would redirect to any website.
        """
        quoted = quote(url, safe=string.punctuation)
        match = _URL.fullmatch(quoted)
        return quoted if match and match["origin"].lower() in self._origins else None

    def _binding(self, method: str, path: str) -> Binding | None:
        """Returns the `cross_origin` binding of a method and path, or None."""
        match = self._routes.match(method, path)
        return match.binding if match is not None and match.binding.cross_origin else None

    def _allowed_origin(self, headers: Mapping[str, str]) -> str | None:
        """Returns the value of Access-Control-Allow-Origin; None if the origin is not allowed."""
        origin = headers.get("Origin")
        if origin is None:
            return None
        if ANY_ORIGIN in self._origins:
            return ANY_ORIGIN
        # Browsers send origins in lower case.
        return origin if origin in self._origins else None


def _headers(origin: str, of_fields: Iterable[str] = ()) -> dict[str, str]:
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": ", ".join(["X-Request-Id", "Retry-After", *of_fields]),
    }
