"""Describes error responses: one per status, with its possible codes.

An rpc that returns google.api.HttpBody can also fail with a body of its media type.
"""

from __future__ import annotations

import re
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
# The additional response header of a status.
_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
_REQUEST_ID = "5a1c9d3e7b20f4680000000001c3"


class ErrorExamples(NamedTuple):
    """The errors in `errors.json`, which are recorded from a running service.

    `by_rpc` has those that differ for an rpc, by its full name.
    """

    by_reason: dict[str, dict[str, Any]]
    by_rpc: dict[str, dict[str, dict[str, Any]]]

    def is_specific(self, rpc: MethodDescriptor, reason: str) -> bool:
        """Whether an rpc has a different message or details for a reason."""
        return reason in self.by_rpc.get(rpc.full_name, ())

    def error(self, rpc: MethodDescriptor, reason: str) -> dict[str, Any]:
        """Returns the error of an rpc for a reason, derived from its comment if not recorded."""
        specific = self.by_rpc.get(rpc.full_name, {})
        return specific.get(reason) or self.by_reason.get(reason) or _unrecorded(reason)


@cache
def error_examples() -> ErrorExamples:
    return ErrorExamples(**orjson.loads((files(__package__) / "errors.json").read_bytes()))


class ErrorResponses:
    """The error responses of a document, which operations with the same errors share."""

    def __init__(self, schemas: Schemas) -> None:
        self.components: dict[str, Any] = {}
        self._schemas = schemas

    def of(
        self, rpc: MethodDescriptor, reasons: Iterable[str], other_media_type: str = ""
    ) -> dict[str, Any]:
        """Returns the error responses of an rpc by status, in ascending order.

        Unless it is empty, `other_media_type` is an alternative to JSON.
        """
        statuses: dict[int, list[str]] = {}
        for reason in reasons:
            statuses.setdefault(http_status(_REASON.Value(reason)), []).append(reason)
        return {
            str(status): self._refer(rpc, status, statuses[status], other_media_type)
            for status in sorted(statuses)
        }

    def _refer(
        self, rpc: MethodDescriptor, status: int, reasons: list[str], other_media_type: str
    ) -> dict[str, str]:
        owner = (
            rpc.name if any(error_examples().is_specific(rpc, reason) for reason in reasons) else ""
        )
        prefix = "".join(map(str.capitalize, re.findall(r"\w+|\*", other_media_type)))
        prefix = prefix.replace("*", "Any")
        name = owner + prefix + "Or".join(map(error_code_of, reasons))
        if name not in self.components:
            response = self._response(rpc, status, reasons)
            if other_media_type:
                response["content"][other_media_type] = {"schema": {"type": "string"}}
            self.components[name] = response
        return {"$ref": f"#/components/responses/{name}"}

    def _response(self, rpc: MethodDescriptor, status: int, reasons: list[str]) -> dict[str, Any]:
        names = ["X-Request-Id", *([_HEADERS[status]] if status in _HEADERS else [])]
        return {
            "description": _description(reasons),
            "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
            "content": {
                "application/json": {
                    "schema": self._schemas.output_reference(_ERROR_RESPONSE),
                    "examples": {
                        error_code_of(reason): {"value": _example(rpc, reason)}
                        for reason in reasons
                    },
                }
            },
        }


def _description(reasons: list[str]) -> str:
    if len(reasons) == 1:
        return _reason_text(reasons[0])
    return "\n".join(f"- `{error_code_of(reason)}`: {_reason_text(reason)}" for reason in reasons)


def _example(rpc: MethodDescriptor, reason: str) -> dict[str, Any]:
    error = {
        "code": error_code_of(reason),
        **error_examples().error(rpc, reason),
        "requestId": _REQUEST_ID,
    }
    return {"error": error}


def _unrecorded(reason: str) -> dict[str, Any]:
    return {"message": sentences(_reason_text(reason))[0], "details": []}


def _reason_text(reason: str) -> str:
    return comment(_REASON.DESCRIPTOR.values_by_name[reason])
