"""Calls the API of a service that is killed between calls."""

from __future__ import annotations

import json
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

from ...processes import Service

TIMEOUT = 120.0


def call(
    service: Service, key: str, method: str, path: str, body: Any = None, *, raw: bytes = b""
) -> Any:
    """Returns the JSON of a response that is no error."""
    return json.loads(
        download(service, key, method, path, raw or (json.dumps(body) if body is not None else b""))
    )


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
