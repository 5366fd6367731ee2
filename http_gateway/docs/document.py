"""A document, with what its parts refer to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Document:
    """An OpenAPI document whose references are all to its own components."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.components: dict[str, Any] = content["components"]

    def resolved(self, part: dict[str, Any]) -> dict[str, Any]:
        """Returns a part, or the component that it refers to."""
        if "$ref" not in part:
            return part
        _, _, kind, name = part["$ref"].split("/")
        component: dict[str, Any] = self.components[kind][name]
        return component

    def operations(self) -> Iterator[dict[str, Any]]:
        """Yields every operation."""
        for item in self.content["paths"].values():
            yield from item.values()
