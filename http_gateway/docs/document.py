"""Access to an OpenAPI document and its components."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Document:
    """An OpenAPI document with references only to its own components."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.components: dict[str, Any] = content["components"]

    def resolved(self, item: dict[str, Any]) -> dict[str, Any]:
        """Returns an object, or the component that it refers to."""
        if "$ref" not in item:
            return item
        _, _, kind, name = item["$ref"].split("/")
        component: dict[str, Any] = self.components[kind][name]
        return component

    def operations(self) -> Iterator[dict[str, Any]]:
        """Yields every operation."""
        for item in self.content["paths"].values():
            yield from item.values()
