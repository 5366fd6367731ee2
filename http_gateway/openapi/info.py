"""Name, version and texts of an API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ApiInfo:
    """The title, version and summary in OpenAPI documents.

    `event_descriptions` describe when an event occurs, by its type.
    """

    title: str = "API"
    version: str = "1"
    summary: str = ""
    event_descriptions: Mapping[str, str] = field(default_factory=dict)
