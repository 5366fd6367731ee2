"""What a tag's name may be, and when two names are the same."""

from __future__ import annotations

import unicodedata

MAX_NAME_LENGTH = 100


def name_key(name: str) -> str:
    """Returns the name as it is compared and sorted: Unicode NFC, without regard to case."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_name(name: str) -> bool:
    """Whether a trimmed text can name a tag: 1 to 100 characters, no NUL."""
    return 0 < len(name) <= MAX_NAME_LENGTH and "\0" not in name


def distinct(names: list[str]) -> dict[str, str]:
    """Returns the names by key; of those that differ only in case the first one stays."""
    by_key: dict[str, str] = {}
    for name in names:
        by_key.setdefault(name_key(name), name)
    return by_key
