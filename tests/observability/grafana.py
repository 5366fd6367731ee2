"""Grafana's own models of a dashboard: which keys they know, and which values."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any, get_type_hints

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from pydantic import ConfigDict, TypeAdapter, ValidationError

with warnings.catch_warnings():
    # There is a newer form, which only the newest Grafana imports. All import this one.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.models.dashboard import Dashboard

# Without these, panels and queries are kept as they are, whatever they hold.
register_default_plugins()
_ANY_CLASS = ConfigDict(arbitrary_types_allowed=True)


def unknown_keys(dashboard: dict[str, Any]) -> list[str]:
    """Returns where a dashboard has something that is lost when Grafana's models read it."""
    kept = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    return list(_lost(dashboard, kept, ""))


def _lost(given: Any, kept: Any, place: str) -> Iterator[str]:
    if isinstance(given, dict) and isinstance(kept, dict):
        for name, value in given.items():
            if name in kept:
                yield from _lost(value, kept[name], f"{place}.{name}")
            else:
                yield f"{place}.{name}"
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for number, value in enumerate(given):
            yield from _lost(value, kept[number], f"{place}[{number}]")
    elif given != kept:
        yield place


def strange_values(dashboard: dict[str, Any]) -> list[str]:
    """Returns where a dashboard has a value that is not one of those that Grafana knows."""
    return list(_strange(Dashboard.from_json(dashboard), Dashboard, ""))


def _strange(value: Any, kind: Any, place: str) -> Iterator[str]:
    """Models read any value: it is their types that say which there are."""
    if isinstance(value, list) and all(_is_model(each) for each in value):
        for number, each in enumerate(value):
            yield from _strange(each, kind, f"{place}[{number}]")
    elif _is_model(value):
        for name, hint in get_type_hints(type(value)).items():
            yield from _strange(getattr(value, name), hint, f"{place}.{name}")
    else:
        try:
            TypeAdapter(kind, config=_ANY_CLASS).validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            yield f"{place}: {error}"


def _is_model(value: Any) -> bool:
    return hasattr(value, "to_json")
