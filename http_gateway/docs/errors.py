"""The errors of calls: code, status and description."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from roster.v1 import errors_pb2

from ..errors import error_code_of, errors_without_reason, http_status
from ..openapi.comments import comment
from .document import Document

_REASONS = errors_pb2.Error.Reason.DESCRIPTOR


@dataclass(frozen=True)
class ErrorCode:
    """An error code with its HTTP status and description."""

    code: str
    status: int
    about: str


def all_errors() -> list[ErrorCode]:
    """Returns all error codes, sorted by status."""
    errors = [
        ErrorCode(error_code_of(value.name), http_status(value.number), comment(value))
        for value in _REASONS.values
        if value.number
    ]
    errors += [ErrorCode(e.code, e.status, e.message) for e in errors_without_reason()]
    return sorted(errors, key=lambda error: error.status)


def is_public(operation: dict[str, Any]) -> bool:
    """Whether an operation needs no API key."""
    return operation.get("security") == []


def codes_of(document: Document, operation: dict[str, Any]) -> Iterator[str]:
    """Yields the error codes of an operation."""
    for response in operation["responses"].values():
        for content in document.resolved(response).get("content", {}).values():
            yield from content.get("examples", ())


def common_codes(document: Document) -> set[str]:
    """Returns the error codes that all operations with an API key have."""
    codes = [
        set(codes_of(document, operation))
        for operation in document.operations()
        if not is_public(operation)
    ]
    return set.intersection(*codes) if codes else set()
