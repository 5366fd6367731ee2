"""Request IDs: that of the client if it is safe to echo, otherwise a generated one."""

from __future__ import annotations

import re
import secrets
from itertools import count

from aiohttp import web
from aiohttp.http import RawRequestMessage

from .responses import REQUEST_ID

_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,64}")
# An ID consists of a random number of the process and a counter, because a random number for
# each request costs more than to find its route.
_PROCESS = secrets.token_hex(8)
_requests = count(1)


def request_id_of(request: web.BaseRequest | RawRequestMessage) -> str:
    """Returns the request ID that the client sent if it is accepted, or a new one."""
    received = request.headers.get(REQUEST_ID)
    return received if received and _ACCEPTED.fullmatch(received) else new_request_id()


def new_request_id() -> str:
    return f"{_PROCESS}{next(_requests):012x}"
