"""JSON Schema bounds in words: `maxLength: 100` is "at most 100 characters"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

# The limits of int32 and int64: they follow from the type.
_TYPE_LIMITS = {sign * ((1 << bits) - (sign > 0)) for bits in (31, 63) for sign in (-1, 1)}


def bounds_of(schema: Schema) -> Iterator[str]:
    """Yields the bounds of a value."""
    yield from _range(schema, "minItems", "maxItems", " item")
    yield from _range(schema, "minLength", "maxLength", " character")
    if "boolean" not in schema.get("type", ()):  # 0 and 1 as boolean values are no range
        yield from _range(schema, "minimum", "maximum", "")
    if "exclusiveMinimum" in schema:
        yield f"more than {schema['exclusiveMinimum']:,}"
    if "exclusiveMaximum" in schema:
        yield f"less than {schema['exclusiveMaximum']:,}"
    if schema.get("uniqueItems"):
        yield "no duplicates"
    if "const" in schema:
        yield f"always {schema['const']}"
    if "default" in schema:
        yield f"default {schema['default']}"
    if "items" in schema:
        yield from (f"each {text}" for text in bounds_of(schema["items"]))


def _range(schema: Schema, minimum: str, maximum: str, unit: str) -> Iterator[str]:
    low, high = (_relevant(schema.get(keyword)) for keyword in (minimum, maximum))
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


def _relevant(bound: int | float | None) -> int | float | None:
    return None if bound in _TYPE_LIMITS else bound
