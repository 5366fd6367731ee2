"""Converts FieldMask between JSON and protobuf: comma-separated paths in lowerCamelCase."""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import Any

from .scalars import InvalidValue, NoJsonForm

_SNAKE_CASE = str.maketrans({capital: f"_{capital.lower()}" for capital in ascii_uppercase})
_UNDERSCORE_LETTER = re.compile("_([a-z])")
# Path characters that would not survive a round trip: capitals, commas, and an underscore
# that is not followed by a lower-case letter.
_NOT_REVERSIBLE = re.compile("[A-Z,]|_(?![a-z])")


def fill_mask(value: Any, target: Any) -> None:
    """Reads comma-separated field paths in lowerCamelCase. Raises InvalidValue."""
    if type(value) is not str:
        raise InvalidValue("must be a string of comma-separated field names")
    paths = value.split(",") if value else []
    if "_" in value or not all(paths):
        message = "must be comma-separated field names in lowerCamelCase"
        raise InvalidValue(message, "INVALID_FORMAT")
    target.SetInParent()
    target.paths.extend([path.translate(_SNAKE_CASE) for path in paths])


def write_mask(mask: Any) -> str:
    """Writes the paths in lowerCamelCase. Raises NoJsonForm if a path is not reversible."""
    for path in mask.paths:
        if not path or _NOT_REVERSIBLE.search(path):
            raise NoJsonForm(f"the google.protobuf.FieldMask path {path!r} has no JSON form")
    return ",".join(
        [_UNDERSCORE_LETTER.sub(lambda letter: letter[1].upper(), path) for path in mask.paths]
    )
