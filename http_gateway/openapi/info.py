"""Name, version and summary of an API."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ApiInfo:
    """The `info` object of an OpenAPI document, without its description."""

    title: str = "API"
    version: str = "1"
    summary: str = ""
