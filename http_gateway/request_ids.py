"""Request ids: taken from a client if they may be echoed, else made."""

from __future__ import annotations

import re
import secrets
from itertools import count

from aiohttp import web

from .responses import REQUEST_ID

_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Unique by a random part a process and a count: fresh random bits for each request
# would cost more than finding its route.
_PROCESS = secrets.token_hex(8)
_requests = count(1)


def request_id_of(request: web.BaseRequest) -> str:
    """Returns the request id that came, if it may be echoed, or a new one."""
    return accepted_or_new(request.headers.get(REQUEST_ID))


def accepted_or_new(given: str | None) -> str:
    """Returns the request id that was given, if it may be echoed, or a new one."""
    return given if given and _ACCEPTED.fullmatch(given) else new_request_id()


def new_request_id() -> str:
    """Returns an id that no other request has."""
    return f"{_PROCESS}{next(_requests):012x}"
