"""Calls the API of a service that is killed between calls."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from operator import itemgetter
from typing import Any

from ...components import free_port
from ...processes import Service

TIMEOUT = 120.0


def settings_with(key: str) -> dict[str, str]:
    """Returns the settings of a service with an account and its key.

    Its addresses stay the same after a kill.
    """
    return {
        "ROSTER_HTTP_ADDRESS": f"127.0.0.1:{free_port()}",
        "ROSTER_GRPC_ADDRESS": f"127.0.0.1:{free_port()}",
        "ROSTER_BOOTSTRAP_API_KEY": key,
        "ROSTER_LOG_LEVEL": "error",
    }


def call(
    service: Service, key: str, method: str, path: str, body: Any = None, *, raw: bytes = b""
) -> Any:
    """Returns the JSON of a response that is no error."""
    return json.loads(
        download(service, key, method, path, raw or (json.dumps(body) if body is not None else b""))
    )


def read(service: Service, key: str, path: str) -> dict[str, Any]:
    """Returns the only resource of a response."""
    (found,) = call(service, key, "GET", path).values()
    return dict(found)


def until(
    service: Service,
    key: str,
    path: str,
    is_over: Callable[[dict[str, Any]], bool] = itemgetter("done"),
) -> dict[str, Any]:
    """Reads a resource until a condition holds, or TIMEOUT seconds have passed. Returns it."""
    end = time.monotonic() + TIMEOUT
    while not is_over(found := read(service, key, path)) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def download(
    service: Service, key: str, method: str, path: str, content: str | bytes = b""
) -> bytes:
    """Returns the body of a response that is no error."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with closing(HTTPConnection(service.http, timeout=TIMEOUT)) as connection:
        connection.request(method, path, content or None, headers)
        response = connection.getresponse()
        body = response.read()
    assert response.status < 300, body
    return body
