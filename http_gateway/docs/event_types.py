"""The event types that webhooks receive, with an example of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from .literals import JSON, formatted
from .parameters import Parameter


@dataclass(frozen=True)
class EventType:
    """An event type: its name, when it occurs, and an example."""

    name: str
    about: str
    example: dict[str, Any]

    @property
    def text(self) -> str:
        """The formatted example."""
        return formatted(self.example, JSON)

    @property
    def changed(self) -> tuple[str, ...]:
        """The changed members in the example."""
        return tuple(self.example.get("previous", ()))


@dataclass(frozen=True)
class Group:
    """The event types of a resource."""

    name: str
    anchor: str
    event_types: tuple[EventType, ...]


def groups_of(webhooks: dict[str, Any]) -> Iterator[Group]:
    """Yields the event types of an OpenAPI document's section `webhooks` by resource."""
    by_resource: dict[str, list[EventType]] = {}
    for name, item in webhooks.items():
        operation = item["post"]
        (body,) = operation["requestBody"]["content"].values()
        event_type = EventType(name, operation["description"], body["example"])
        by_resource.setdefault(name.partition(".")[0], []).append(event_type)
    for resource, event_types in by_resource.items():
        name = resource.replace("_", " ").capitalize()
        yield Group(f"{name}s", f"{resource}s", tuple(event_types))


def example_request(headers: Iterable[Parameter], event: Any) -> str:
    """Returns a request byte for byte as it is sent, so that readers can verify it."""
    lines = [f"{header.field.name}: {header.example}" for header in headers]
    body = orjson.dumps(event).decode()
    return "\n".join(["Content-Type: application/json", *lines, "", body])
