"""Validates and compares tag names."""

from __future__ import annotations

from ...values.texts import caseless_key, has_control_characters, trim

MAX_NAME_LENGTH = 100


def parse_name(text: str) -> str | None:
    """Returns the trimmed name, or None if it is not valid.

    A name has 1 to 100 characters, at least one of them visible, and no control characters.
    """
    name = trim(text)
    if has_control_characters(text, multiline=True) or has_control_characters(name):
        return None
    return name if 0 < len(name) <= MAX_NAME_LENGTH else None


def distinct(names: list[str]) -> dict[str, str]:
    """Returns the names by key. Of names with the same key, the first one is kept."""
    by_key: dict[str, str] = {}
    for name in names:
        by_key.setdefault(caseless_key(name), name)
    return by_key
