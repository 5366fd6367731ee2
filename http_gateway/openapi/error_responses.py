"""Describes error responses: one per status, with its possible codes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson
from google.protobuf.descriptor import MethodDescriptor
from roster.v1 import errors_pb2

from ..errors import error_code_of, http_status
from .comments import comment, sentences
from .schemas import Schemas

_REASON = errors_pb2.Error.Reason
_ERROR_RESPONSE = errors_pb2.ErrorResponse.DESCRIPTOR
# The header that goes with a status besides those of every answer.
_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
_REQUEST_ID = "5a1c9d3e7b20f4680000000001c3"


class Sent(NamedTuple):
    """Errors as the service sends them: by reason, and those that an rpc has of its own.

    They are in `errors.json`, which is recorded from a running service; an rpc goes by its full
    name.
    """

    by_reason: dict[str, dict[str, Any]]
    by_rpc: dict[str, dict[str, dict[str, Any]]]

    def has_own(self, rpc: MethodDescriptor, reason: str) -> bool:
        """Whether an rpc sends another text or other details for a reason than the others do."""
        return reason in self.by_rpc.get(rpc.full_name, ())

    def error(self, rpc: MethodDescriptor, reason: str) -> dict[str, Any]:
        """Returns what an rpc sends for a reason; for one that is not recorded, its comment."""
        own = self.by_rpc.get(rpc.full_name, {})
        return own.get(reason) or self.by_reason.get(reason) or _unrecorded(reason)


@cache
def sent() -> Sent:
    """Returns what the file says."""
    return Sent(**orjson.loads((files(__package__) / "errors.json").read_bytes()))


class ErrorResponses:
    """The responses of a document that are errors; operations that fail alike share them."""

    def __init__(self, schemas: Schemas) -> None:
        self.components: dict[str, Any] = {}
        self._schemas = schemas

    def of(self, rpc: MethodDescriptor, reasons: Iterable[str]) -> dict[str, Any]:
        """Returns a response of an rpc for each status that the reasons have, in rising order."""
        statuses: dict[int, list[str]] = {}
        for reason in reasons:
            statuses.setdefault(http_status(_REASON.Value(reason)), []).append(reason)
        return {
            str(status): self._refer(rpc, status, statuses[status]) for status in sorted(statuses)
        }

    def _refer(self, rpc: MethodDescriptor, status: int, reasons: list[str]) -> dict[str, str]:
        owner = rpc.name if any(sent().has_own(rpc, reason) for reason in reasons) else ""
        name = owner + "Or".join(map(error_code_of, reasons))
        if name not in self.components:
            self.components[name] = self._response(rpc, status, reasons)
        return {"$ref": f"#/components/responses/{name}"}

    def _response(self, rpc: MethodDescriptor, status: int, reasons: list[str]) -> dict[str, Any]:
        names = ["X-Request-Id", *([_HEADERS[status]] if status in _HEADERS else [])]
        return {
            "description": _description(reasons),
            "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
            "content": {
                "application/json": {
                    "schema": self._schemas.given(_ERROR_RESPONSE),
                    "examples": {
                        error_code_of(reason): {"value": _example(rpc, reason)}
                        for reason in reasons
                    },
                }
            },
        }


def _description(reasons: list[str]) -> str:
    if len(reasons) == 1:
        return _says(reasons[0])
    return "\n".join(f"- `{error_code_of(reason)}`: {_says(reason)}" for reason in reasons)


def _example(rpc: MethodDescriptor, reason: str) -> dict[str, Any]:
    error = {"code": error_code_of(reason), **sent().error(rpc, reason), "requestId": _REQUEST_ID}
    return {"error": error}


def _unrecorded(reason: str) -> dict[str, Any]:
    return {"message": sentences(_says(reason))[0], "details": []}


def _says(reason: str) -> str:
    return comment(_REASON.DESCRIPTOR.values_by_name[reason])
