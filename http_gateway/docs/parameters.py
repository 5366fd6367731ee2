"""Parameters of an operation: values outside of its body."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .document import Document
from .fields import Field, Fields


@dataclass(frozen=True)
class Parameter:
    """A parameter: its field, its location (path, query or header) and an example."""

    field: Field
    location: str
    example: str


def parameters_of(
    document: Document, fields: Fields, operation: dict[str, Any]
) -> Iterator[Parameter]:
    """Yields the parameters of an operation."""
    for reference in operation.get("parameters", ()):
        content = document.resolved(reference)
        field = _field(fields, content["name"], content)
        example = content.get("example", "")
        text = example if isinstance(example, str) else json.dumps(example)
        yield Parameter(field, content["in"], text)


def shared_headers(document: Document) -> tuple[list[Field], list[Field]]:
    """Returns the request headers and the response headers of all operations."""
    fields = Fields(document)
    requests = [
        _field(fields, content["name"], content)
        for content in document.components["parameters"].values()
        if content["in"] == "header"
    ]
    headers = document.components["headers"].items()
    return requests, [_field(fields, name, content) for name, content in headers]


def _field(fields: Fields, name: str, content: dict[str, Any]) -> Field:
    outside = {"description": "", "deprecated": False, **content}
    schema = {**content["schema"], **{key: outside[key] for key in ("description", "deprecated")}}
    return fields.one(name, schema, required=content.get("required", False))
