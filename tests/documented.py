"""The document of /openapi.json, and whether it declares every error of an operation in a test."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from rosterd.http_gateway.openapi.document import document
from rosterd.http_gateway.routing.routes import Routes
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import POLICY

_ROUTES = Routes(SERVICES, POLICY.annotations)


def check_http(method: str, path: str, status: int, text: bytes) -> None:
    """Raises AssertionError if an operation returns an error that it does not declare."""
    match = _ROUTES.match("GET" if method == "HEAD" else method, path.partition("?")[0])
    is_page = text.startswith(b"<!doctype html>")
    if status >= 400 and match is not None and text and not is_page:
        check(match.binding.rpc.rpartition("/")[2], status, json.loads(text)["error"]["code"])


def check(rpc: str, status: int, code: str) -> None:
    """Raises AssertionError if an rpc does not declare this error."""
    assert status < 400 or (status, code) in _declared_errors()[rpc], (
        f"{rpc} does not declare {code}"
    )


@cache
def openapi() -> dict[str, Any]:
    """Returns the document, which no test changes: each would take a quarter of a second."""
    return document(SERVICES, POLICY)


@cache
def _declared_errors() -> dict[str, set[tuple[int, str]]]:
    """Returns the declared statuses and error codes of each operation."""
    described = openapi()
    responses = described["components"]["responses"]
    found: dict[str, set[tuple[int, str]]] = {}
    for path in described["paths"].values():
        for operation in path.values():
            found[operation["operationId"]] = {
                (int(status), code)
                for status, response in operation["responses"].items()
                if "$ref" in response
                for code in _codes(responses[response["$ref"].rpartition("/")[2]])
            }
    return found


def _codes(response: dict[str, Any]) -> list[str]:
    return list(response["content"]["application/json"]["examples"])
