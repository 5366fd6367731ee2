"""The errors that calls can end with: their codes, statuses and meanings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from roster.v1 import errors_pb2

from ..errors import error_code_of, http_status
from ..openapi.comments import comment
from .document import Document

_REASONS = errors_pb2.Error.Reason.DESCRIPTOR


@dataclass(frozen=True)
class Refusal:
    """An error: its code, the status that it comes with, and why it comes."""

    code: str
    status: int
    about: str


def all_refusals() -> list[Refusal]:
    """Returns every error that there is, by status."""
    known = [
        Refusal(error_code_of(value.name), http_status(value.number), comment(value))
        for value in _REASONS.values
        if value.number
    ]
    return sorted(known, key=lambda error_response: error_response.status)


def codes_of(document: Document, operation: dict[str, Any]) -> Iterator[str]:
    """Yields the codes of the errors that an operation can end with."""
    for response in operation["responses"].values():
        for content in document.resolved(response).get("content", {}).values():
            yield from content.get("examples", ())


def common_codes(document: Document) -> set[str]:
    """Returns the codes of the errors that every operation can end with; none without any."""
    codes = [set(codes_of(document, each)) for each in document.operations()]
    return set.intersection(*codes) if codes else set()
