"""Requests of a gateway's server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from .options import Options


class Request(web.BaseRequest):
    """A request. Its response closes the connection if the gateway is draining."""

    def __init__(self, *arguments: Any, options: Options, is_draining: Callable[[], bool]) -> None:
        super().__init__(*arguments)
        self.options = options
        self._is_draining = is_draining

    @property
    def keep_alive(self) -> bool:
        return super().keep_alive and not self._is_draining()
