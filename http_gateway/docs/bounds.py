"""Keywords of JSON Schema as words: `maxLength: 100` is "at most 100 characters"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

# Where a number ends because its type does: that says nothing of what it is for.
_EDGES = {sign * ((1 << bits) - (sign > 0)) for bits in (31, 63) for sign in (-1, 1)}


def bounds_of(schema: Schema) -> tuple[str, ...]:
    """Returns what is said of a value besides its type."""
    return tuple(_bounds(schema))


def _bounds(schema: Schema) -> Iterator[str]:
    yield from _range(schema, "minItems", "maxItems", " item")
    yield from _range(schema, "minLength", "maxLength", " character")
    if "boolean" not in schema.get("type", ()):  # what else stands for true and false has no range
        yield from _range(schema, "minimum", "maximum", "")
    if "exclusiveMinimum" in schema:
        yield f"more than {schema['exclusiveMinimum']:,}"
    if "exclusiveMaximum" in schema:
        yield f"less than {schema['exclusiveMaximum']:,}"
    if schema.get("uniqueItems"):
        yield "no item twice"
    if "const" in schema:
        yield f"always {schema['const']}"
    if "default" in schema:
        yield f"default {schema['default']}"
    if "items" in schema:
        yield from (f"each {text}" for text in _bounds(schema["items"]))


def _range(schema: Schema, least: str, most: str, unit: str) -> Iterator[str]:
    low, high = (_telling(schema.get(keyword)) for keyword in (least, most))
    if low is None and high is None:
        return
    last = low if high is None else high
    units = f"{unit}s" if unit and last != 1 else unit
    if low is None:
        yield f"at most {high:,}{units}"
    elif high is None:
        yield f"at least {low:,}{units}"
    else:
        yield f"{low:,} to {high:,}{units}"


def _telling(bound: int | float | None) -> int | float | None:
    return None if bound in _EDGES else bound
