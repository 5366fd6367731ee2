"""The tags and custom fields that a filter names."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....values.texts import caseless_key
from .normal_form import quoted
from .operands import custom_key, fields_of, is_tag_count
from .syntax import Comparison, parse
from .tree import comparisons


class Uses(NamedTuple):
    """The keys of the tags and custom fields that a filter names, sorted."""

    tags: list[str]
    custom_fields: list[str]

    def names_any(self, others: Uses) -> bool:
        """Whether one of the other tags or custom fields is among these."""
        return any(not set(own).isdisjoint(other) for own, other in zip(self, others, strict=True))


def uses_of(tree: Any) -> Uses:
    """Returns what a parsed filter names. A prefix names no tag."""
    tags = {key for each in comparisons(tree) if (key := _tag_key(each)) is not None}
    keys = {
        key for each in comparisons(tree) for field in fields_of(each) if (key := custom_key(field))
    }
    return Uses(sorted(tags), sorted(keys))


def names_tag(comparison: Comparison, key: str) -> bool:
    """Whether a comparison names the tag of this key, by its name, a prefix or its presence.

    The number of tags names all of them.
    """
    if any(map(is_tag_count, fields_of(comparison))):
        return True
    if comparison.field != "tags":
        return False
    value = caseless_key(comparison.value)
    return key.startswith(value) if comparison.is_prefix else key == value


def with_renamed_tag(text: str, key: str, name: str) -> str:
    """Returns a filter with another name for the tag of this key."""
    new_value = quoted(name)
    renamed = [each for each in comparisons(parse(text)) if _tag_key(each) == key]
    # From the end, so that the columns stay valid.
    for each in sorted(renamed, key=lambda each: each.value_column, reverse=True):
        start = each.value_column - 1
        text = f"{text[:start]}{new_value}{text[start + each.value_length :]}"
    return text


def _tag_key(comparison: Comparison) -> str | None:
    if comparison.field != "tags" or comparison.is_prefix:
        return None
    return caseless_key(comparison.value)
