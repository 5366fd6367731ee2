"""Answers that are errors: one for each status, with the codes that it can have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from roster.v1 import errors_pb2

from ..errors import http_status, pascal
from .comments import comment, sentences
from .schemas import Schemas

_REASON = errors_pb2.Error.Reason
_ERROR_RESPONSE = errors_pb2.ErrorResponse.DESCRIPTOR
# The header that goes with a status besides those of every answer.
_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
_REQUEST_ID = "5a1c9d3e7b20f4680000000001c3"
_DETAILS: dict[str, list[dict[str, str]]] = {
    "VALIDATION_ERROR": [{"field": "email", "code": "REQUIRED", "message": "is required"}]
}


class Refusals:
    """The responses of a document that are errors; operations that fail alike share them."""

    def __init__(self, schemas: Schemas) -> None:
        self.components: dict[str, Any] = {}
        self._schemas = schemas

    def of(self, reasons: Iterable[str]) -> dict[str, Any]:
        """Returns a response for each status that the reasons have, in rising order."""
        statuses: dict[int, list[str]] = {}
        for reason in reasons:
            statuses.setdefault(http_status(_REASON.Value(reason)), []).append(reason)
        return {str(status): self._refer(status, statuses[status]) for status in sorted(statuses)}

    def _refer(self, status: int, reasons: list[str]) -> dict[str, str]:
        name = "Or".join(map(pascal, reasons))
        if name not in self.components:
            self.components[name] = self._response(status, reasons)
        return {"$ref": f"#/components/responses/{name}"}

    def _response(self, status: int, reasons: list[str]) -> dict[str, Any]:
        names = ["X-Request-Id", *([_HEADERS[status]] if status in _HEADERS else [])]
        return {
            "description": _description(reasons),
            "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
            "content": {
                "application/json": {
                    "schema": self._schemas.given(_ERROR_RESPONSE),
                    "examples": {pascal(reason): {"value": _example(reason)} for reason in reasons},
                }
            },
        }


def _description(reasons: list[str]) -> str:
    if len(reasons) == 1:
        return _says(reasons[0])
    return "\n".join(f"- `{pascal(reason)}`: {_says(reason)}" for reason in reasons)


def _example(reason: str) -> dict[str, Any]:
    error = {
        "code": pascal(reason),
        "message": sentences(_says(reason))[0],
        "details": _DETAILS.get(reason, []),
        "requestId": _REQUEST_ID,
    }
    return {"error": error}


def _says(reason: str) -> str:
    return comment(_REASON.DESCRIPTOR.values_by_name[reason])
