"""Describes error responses: one per status, with its possible codes.

If the service does not declare its reasons, one response describes all errors. An rpc that returns
google.api.HttpBody can also fail with a body of its media type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import MethodDescriptor

from ..errors import INTERNAL
from ..policy import ErrorExamples
from ..request_errors import error_code_of
from .comments import comment, sentences
from .schemas import Schemas

# The additional response header of a status.
_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
_REQUEST_ID = "5a1c9d3e7b20f4680000000001c3"


class ErrorResponses:
    """The error responses of a document, which operations with the same errors share."""

    def __init__(self, schemas: Schemas) -> None:
        self.components: dict[str, Any] = {}
        self._schemas = schemas
        self._policy = schemas.policy
        self._examples: ErrorExamples = schemas.policy.errors.examples()

    def of(
        self, rpc: MethodDescriptor, reasons: Iterable[str], other_media_type: str = ""
    ) -> dict[str, Any]:
        """Returns the error responses of an rpc by status, in ascending order.

        Unless it is empty, `other_media_type` is an alternative to JSON.
        """
        if self._policy.errors.reasons is None:
            error = {"code": INTERNAL.code, "message": INTERNAL.message, "details": []}
            response = self._response("The call failed.", 0, {INTERNAL.code: error})
            return {"default": self._refer("Error", response, other_media_type)}
        statuses: dict[int, list[str]] = {}
        for reason in reasons:
            statuses.setdefault(self._policy.errors.statuses[reason], []).append(reason)
        return {
            str(status): self._of_status(rpc, status, statuses[status], other_media_type)
            for status in sorted(statuses)
        }

    def _of_status(
        self, rpc: MethodDescriptor, status: int, reasons: list[str], other_media_type: str
    ) -> dict[str, str]:
        specific = self._examples.by_rpc.get(rpc.full_name, {})
        owner = "" if specific.keys().isdisjoint(reasons) else rpc.name
        texts = {error_code_of(reason): self._text(reason) for reason in reasons}
        lines = [f"- `{code}`: {text}" for code, text in texts.items()]
        examples = {
            error_code_of(reason): {
                "code": error_code_of(reason),
                **(
                    specific.get(reason)
                    or self._examples.by_reason.get(reason)
                    or {"message": sentences(self._text(reason))[0], "details": []}
                ),
            }
            for reason in reasons
        }
        description = "\n".join(lines) if len(lines) > 1 else self._text(reasons[0])
        response = self._response(description, status, examples)
        return self._refer(owner, response, other_media_type, "Or".join(texts))

    def _refer(
        self, owner: str, response: dict[str, Any], other_media_type: str, codes: str = ""
    ) -> dict[str, str]:
        """Returns a reference to a response, which becomes a component."""
        prefix = "".join(map(str.capitalize, re.findall(r"\w+|\*", other_media_type)))
        name = owner + prefix.replace("*", "Any") + codes
        if other_media_type:
            response["content"][other_media_type] = {"schema": {"type": "string"}}
        self.components.setdefault(name, response)
        return {"$ref": f"#/components/responses/{name}"}

    def _response(
        self, description: str, status: int, examples: dict[str, dict[str, Any]]
    ) -> dict[str, Any]:
        names = ["X-Request-Id", *([_HEADERS[status]] if status in _HEADERS else [])]
        return {
            "description": description,
            "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
            "content": {
                "application/json": {
                    "schema": self._schemas.error_reference(),
                    "examples": {
                        code: {"value": {"error": {**error, "requestId": _REQUEST_ID}}}
                        for code, error in examples.items()
                    },
                }
            },
        }

    def _text(self, reason: str) -> str:
        """Returns the comment of a reason."""
        reasons = self._policy.errors.reasons
        assert reasons is not None
        return comment(reasons.values_by_name[reason], self._policy)
