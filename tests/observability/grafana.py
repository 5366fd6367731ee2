"""Compares a dashboard with the models of Grafana's SDK."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any, get_type_hints

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from pydantic import ConfigDict, TypeAdapter, ValidationError

with warnings.catch_warnings():
    # Only the newest Grafana can import the newer form; every version can import this one.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.models.dashboard import Dashboard

# Without these, panels and queries are not parsed.
register_default_plugins()
_ANY_CLASS = ConfigDict(arbitrary_types_allowed=True)


def unknown_keys(dashboard: dict[str, Any]) -> list[str]:
    """Returns the paths of values that are lost when Grafana's models parse a dashboard."""
    parsed = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    return list(_lost(dashboard, parsed, ""))


def _lost(source: Any, parsed: Any, path: str) -> Iterator[str]:
    if isinstance(source, dict) and isinstance(parsed, dict):
        for name, value in source.items():
            if name in parsed:
                yield from _lost(value, parsed[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(source, list) and isinstance(parsed, list) and len(source) == len(parsed):
        for number, value in enumerate(source):
            yield from _lost(value, parsed[number], f"{path}[{number}]")
    elif source != parsed:
        yield path


def invalid_values(dashboard: dict[str, Any]) -> list[str]:
    """Returns the paths of values that the types of Grafana's models do not allow."""
    return list(_invalid(Dashboard.from_json(dashboard), Dashboard, ""))


def _invalid(value: Any, kind: Any, path: str) -> Iterator[str]:
    """Checks values against type hints, because the models accept any value."""
    if isinstance(value, list) and all(_is_model(item) for item in value):
        for number, item in enumerate(value):
            yield from _invalid(item, kind, f"{path}[{number}]")
    elif _is_model(value):
        for name, hint in get_type_hints(type(value)).items():
            yield from _invalid(getattr(value, name), hint, f"{path}.{name}")
    else:
        try:
            TypeAdapter(kind, config=_ANY_CLASS).validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            yield f"{path}: {error}"


def _is_model(value: Any) -> bool:
    return hasattr(value, "to_json")
