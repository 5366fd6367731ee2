"""The errors of calls, and those of an operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import errors_without_reason
from ..openapi.comments import comment
from ..policy import Policy
from ..request_errors import HttpError
from ..streams import ndjson
from .document import Document


def all_errors(policy: Policy) -> list[HttpError]:
    """Returns an error of each code with its description as the message, sorted by status."""
    reasons, statuses = policy.errors.reasons, policy.errors.statuses
    errors = [
        HttpError(statuses[value.name], value.name, comment(value, policy))
        for value in (reasons.values if reasons is not None else ())
        if value.number
    ]
    errors += errors_without_reason(policy.errors)
    return sorted(errors, key=lambda error: error.status)


def is_public(operation: dict[str, Any]) -> bool:
    """Whether an operation needs no API key."""
    return not operation.get("security")


def codes_of(document: Document, operation: dict[str, Any]) -> Iterator[str]:
    """Yields the error codes of an operation."""
    for response in operation["responses"].values():
        for content in document.resolved(response).get("content", {}).values():
            yield from content.get("examples", ())


def common_codes(document: Document) -> set[str]:
    """Returns the error codes of all operations that need an API key and read no stream."""
    codes = [
        set(codes_of(document, operation))
        for operation in document.operations()
        if not is_public(operation)
        and ndjson.CONTENT_TYPE not in operation.get("requestBody", {}).get("content", ())
    ]
    return set.intersection(*codes) if codes else set()
