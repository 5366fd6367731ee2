"""Requests of a gateway's server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from aiohttp import web

from .options import Options


class Request(web.BaseRequest):
    """A request of a server, which sets the attributes."""

    options: Options
    # Whether the body is a stream, which is discarded if it is not read to its end.
    has_stream = False
    # Headers of the response: if the call uses something deprecated, or has a session.
    response_headers: Mapping[str, str] = MappingProxyType({})
    # Whether the gateway is draining, so that the response closes the connection.
    is_draining: Callable[[], bool]
